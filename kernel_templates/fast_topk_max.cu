/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fast_topk_max.cu
 * @brief fast_topk for k = 1: the first maximum of each line. A block takes p.lines lines, each
 *        warp p.lanes of them together: 1 where a line's elements are neighbours, more where lines
 *        are.
 *
 * 1. Each thread finds the best of its elements of one line, in ascending index, a batch at a time:
 *    the maximum of the batch first, and where it is only if it exceeds what was best before.
 * 2. Lanes of the same line compare what they found, then warps of the same lines.
 * 3. One thread for each line writes it.
 *
 * Exact: the greatest value wins, of equal ones the smallest index, in whatever order they are
 * compared. Synchronisation: block barriers. Blocks share nothing and leave nothing behind.
 */
#define TKJ_UNIT_STRIDE 0

#include "lines.cuh"

#define WARPS (TKJ_THREADS / TKJ_WARP)

/* Elements as values that compare in few instructions: floats, or keys. */
#if TKJ_KEY_BITS <= 32 && defined(TKJ_INFINITY)
typedef float tkj_value;

TKJ_DEVICE tkj_value value_of(tkj_element element)
{
    return tkj_float_of(element);
}

TKJ_DEVICE bool exceeds(tkj_value a, tkj_value b)
{
    return a > b || (a != a && b == b);
}

TKJ_DEVICE tkj_value larger_of(tkj_value a, tkj_value b)
{
    return tkj_larger_or_nan(a, b);
}
#else
typedef tkj_key tkj_value;

TKJ_DEVICE tkj_value value_of(tkj_element element)
{
    return tkj_ordered_key(element);
}

TKJ_DEVICE bool exceeds(tkj_value a, tkj_value b)
{
    return a > b;
}

TKJ_DEVICE tkj_value larger_of(tkj_value a, tkj_value b)
{
    return a > b ? a : b;
}
#endif

#ifdef TKJ_INFINITY
#define LOWEST ((tkj_element)(TKJ_SIGN | TKJ_INFINITY))
#else
#define LOWEST ((tkj_element)TKJ_SIGN)
#endif

/** An element and its index; LOWEST and NONE stand for none. */
typedef struct tkj_best {
    tkj_element element;
    tkj_i64 index;
} tkj_best;
#define NONE 0x7fffffffffffffffll

/** Shared memory: what the lanes of each warp found. */
typedef struct tkj_max_shared {
    tkj_i64 indices[WARPS][TKJ_WARP];
    tkj_element elements[WARPS][TKJ_WARP];
} tkj_max_shared;

TKJ_DEVICE tkj_best better_of(tkj_best a, tkj_best b)
{
    tkj_value x = value_of(a.element);
    tkj_value y = value_of(b.element);
    bool second = exceeds(y, x) || (!exceeds(x, y) && b.index < a.index);
    return second ? b : a;
}

/* ---- step 1 ---- */

/** A thread's elements of a line: batches of TKJ_ITEMS, `along` indices from one to the next. */
typedef struct tkj_own {
    const tkj_element *data; /* index 0 */
    tkj_i64 stride;
    tkj_i64 size;
    tkj_u32 along;
    tkj_u32 first; /* index */
    tkj_u32 step;  /* from batch to batch */
} tkj_own;

/** The better of the best so far and of `count` elements from an index on, of which the last ones
 * need not exist unless `all`. */
TKJ_DEVICE tkj_best take(tkj_best best, const tkj_own *own, tkj_i64 index, tkj_u32 count, bool all)
{
    const tkj_element *data = own->data + index * own->stride;
    const tkj_i64 apart = own->along * own->stride;
    tkj_element elements[TKJ_ITEMS];
    TKJ_UNROLL
    for (tkj_u32 e = 0; e < count; e++)
        elements[e] = data[all || index + e * own->along < own->size ? e * apart : 0];
    tkj_value most = value_of(elements[0]);
    TKJ_UNROLL
    for (tkj_u32 e = 1; e < count; e++)
        most = larger_of(most, value_of(elements[e]));
    if (!exceeds(most, value_of(best.element)) && best.index != NONE)
        return best;
    TKJ_UNROLL
    for (tkj_u32 e = count; e-- > 0;) {
        bool is_first = !exceeds(most, value_of(elements[e]));
        best.element = is_first ? elements[e] : best.element;
        best.index = is_first ? index + e * own->along : best.index;
    }
    return best;
}

TKJ_DEVICE tkj_best best_of(const tkj_own *own)
{
    const tkj_i64 last = own->size - (tkj_i64)(TKJ_ITEMS - 1) * own->along; /* whole batch, + 1 */
    tkj_best best = {LOWEST, NONE};
    tkj_i64 i = own->first;
    TKJ_NO_UNROLL
    for (; i < last; i += own->step)
        best = take(best, own, i, TKJ_ITEMS, true);
    const tkj_i64 end = i + (tkj_i64)TKJ_ITEMS * own->along;
    TKJ_NO_UNROLL
    for (; i < own->size && i < end; i += 4 * own->along)
        best = take(best, own, i, 4, false);
    return best;
}
TKJ_STATIC_ASSERT(TKJ_ITEMS % 4 == 0, "the last batch is taken by fours");

/* ---- step 2 ---- */

TKJ_DEVICE tkj_u64 shuffle_xor(tkj_u64 value, tkj_u32 mask)
{
    tkj_u64 upper = tkj_shuffle_xor((tkj_u32)(value >> 32), mask);
    return upper << 32 | tkj_shuffle_xor((tkj_u32)value, mask);
}

/** What lanes that are `lanes` apart found. */
TKJ_DEVICE tkj_best best_of_warp(tkj_best best, tkj_u32 lanes)
{
    TKJ_NO_UNROLL
    for (tkj_u32 mask = TKJ_WARP / 2; mask >= lanes; mask /= 2) {
        tkj_best other;
#if TKJ_KEY_BITS == 64
        other.element = shuffle_xor(best.element, mask);
#else
        other.element = (tkj_element)tkj_shuffle_xor((tkj_u32)best.element, mask);
#endif
        other.index = (tkj_i64)shuffle_xor((tkj_u64)best.index, mask);
        best = better_of(best, other);
    }
    return best;
}

/* ---- step 3 ---- */

TKJ_DEVICE void write_best(const tkj_fast_topk_params *p, tkj_i64 row, const tkj_best *best)
{
    tkj_line line = tkj_line_of(p, row);
    ((tkj_element *)p->values)[line.values] = best->element;
    p->indices[line.indices] = best->index;
}

/** How the block shares out its lines: all are powers of two, given as logarithms. */
typedef struct tkj_shifts {
    tkj_u32 lanes; /* lines of a warp */
    tkj_u32 warps; /* of the same lines */
} tkj_shifts;

/** Steps 2 and 3 for lines that several warps share. */
TKJ_DEVICE void write_lines(const tkj_fast_topk_params *p, tkj_i64 first, tkj_shifts shifts,
                            tkj_best best, tkj_max_shared *shared)
{
    tkj_i64 row = first + tkj_thread();
    shared->indices[tkj_warp()][tkj_lane()] = best.index;
    shared->elements[tkj_warp()][tkj_lane()] = best.element;
    tkj_block_barrier();
    if (tkj_thread() < p->lines && row < p->rows) {
        tkj_u32 warp = tkj_thread() >> shifts.lanes << shifts.warps;
        tkj_u32 lane = tkj_thread() & ((1u << shifts.lanes) - 1);
        tkj_best all = {LOWEST, NONE};
        for (tkj_u32 w = 0; w < 1u << shifts.warps; w++) {
            const tkj_best other = {shared->elements[warp + w][lane],
                                    shared->indices[warp + w][lane]};
            all = better_of(all, other);
        }
        write_best(p, row, &all);
    }
    tkj_block_barrier(); /* the next lines use the same shared memory */
}

/** All steps for the lines from `first` on. */
TKJ_DEVICE void select_lines(const tkj_fast_topk_params *p, tkj_i64 first, tkj_shifts shifts,
                             tkj_max_shared *shared)
{
    tkj_u32 lanes = 1u << shifts.lanes;
    tkj_i64 row = first + (tkj_warp() >> shifts.warps << shifts.lanes) + (tkj_lane() & (lanes - 1));
    tkj_best best = {LOWEST, NONE};
    if (row < p->rows) {
        tkj_u32 along = TKJ_WARP >> shifts.lanes;
        tkj_u32 turn = tkj_warp() & ((1u << shifts.warps) - 1);
        tkj_own own = {(const tkj_element *)p->in + tkj_line_of(p, row).in,
                       p->in_stride,
                       p->size,
                       along,
                       turn * along * TKJ_ITEMS + (tkj_lane() >> shifts.lanes),
                       along * TKJ_ITEMS << shifts.warps};
        if (own.stride == 1 && lanes == 1) {
            own.stride = 1; /* known now, so that addresses are */
            own.along = TKJ_WARP;
            best = best_of(&own);
        } else {
            best = best_of(&own);
        }
    }
    best = best_of_warp(best, lanes);
    if (shifts.warps > 0)
        write_lines(p, first, shifts, best, shared);
    else if (tkj_lane() < lanes && row < p->rows)
        write_best(p, row, &best);
}

TKJ_KERNEL(tkj_fast_topk_params, p)
{
    TKJ_SHARED(tkj_max_shared, shared);
    tkj_wait_for_dependencies();
    tkj_release_dependents();
    tkj_shifts shifts;
    shifts.lanes = tkj_bit_width(p.lanes) - 1;
    shifts.warps = tkj_bit_width(WARPS * p.lanes) - tkj_bit_width(p.lines);
    for (tkj_i64 first = (tkj_i64)tkj_block() * p.lines; first < p.rows;
         first += (tkj_i64)tkj_block_count() * p.lines)
        select_lines(&p, first, shifts, shared);
}
