/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fast_topk_short.cu
 * @brief fast_topk for short lines of any strides and a small k: a block takes p.lines lines, a
 *        power of two up to 32, and each of its warps some of them.
 *
 * 1. Load the lines as keys into shared memory, in the order in which they are in global memory.
 * 2. A warp finds the k-th largest key of its line bit by bit, by counting; early if exactly k keys
 *    are as large as what is known of it.
 * 3. It lists what is above it, and of what equals it the first ones, in ascending position.
 * 4. The rank of each is the number of those listed that come before it.
 * 5. Write the lines, in the order in which they are in the outputs.
 *
 * Exact: all keys are counted, and ranks are those of distinct pairs of key and position.
 * Synchronisation: block and warp barriers. Blocks share nothing and leave nothing behind.
 */
#define TKJ_UNIT_STRIDE 0

#include "lines.cuh"
#include "slots.cuh"

#define WARPS (TKJ_THREADS / TKJ_WARP)
#define LINES_MAX TKJ_WARP
/* Elements that a thread loads at once. */
#define LOADED 8
/* Slots of a lane. */
#define OWN ((TKJ_TOPK + TKJ_WARP - 1) / TKJ_WARP)

/** Shared memory. */
typedef struct tkj_short_shared {
    tkj_key keys[TKJ_THREADS * TKJ_ITEMS + TKJ_WARP]; /* of all lines: see pitch_of */
    tkj_key listed[WARPS][TKJ_TOPK];                  /* of each warp's line, */
    tkj_u16 places[WARPS][TKJ_TOPK];                  /* with their positions */
    tkj_u16 positions[LINES_MAX * TKJ_TOPK];          /* the results */
} tkj_short_shared;

/** Keys from line to line: odd, so that neighbouring lines are in different banks. */
TKJ_DEVICE tkj_u32 pitch_of(const tkj_fast_topk_params *p)
{
    return (tkj_u32)p->size | 1;
}

/** A thread's share of the block's lines: lines first, first + step, ... and of each of them
 * elements begin, begin + stride, ... */
typedef struct tkj_thread_share {
    tkj_u32 first;
    tkj_u32 step;
    tkj_u32 begin;
    tkj_u32 stride;
} tkj_thread_share;

/** Neighbouring threads take what is near in memory: elements of a line, or of all lines. */
TKJ_DEVICE tkj_thread_share share_of(const tkj_fast_topk_params *p, tkj_i64 along, tkj_i64 between)
{
    tkj_u32 lines = p->lines;
    bool across = p->outer_dims > 0 && tkj_absolute(along) > tkj_absolute(between);
    const tkj_thread_share lanes = {tkj_warp(), WARPS, tkj_lane(), TKJ_WARP};
    const tkj_thread_share threads = {tkj_thread() % lines, lines, tkj_thread() / lines,
                                      TKJ_THREADS / lines};
    return across ? threads : lanes;
}

/** Step 1, for the lines from `row` on. */
TKJ_DEVICE void load_lines(const tkj_fast_topk_params *p, tkj_i64 row, tkj_key *keys)
{
    const tkj_outer_dim *last = &p->outer[p->outer_dims > 0 ? p->outer_dims - 1 : 0];
    const tkj_thread_share share = share_of(p, p->in_stride, last->in_stride);
    const tkj_u32 size = (tkj_u32)p->size;
    TKJ_NO_UNROLL
    for (tkj_u32 l = share.first; l < p->lines && row + l < p->rows; l += share.step) {
        const tkj_line line = tkj_line_of(p, row + l);
        const tkj_element *data = (const tkj_element *)p->in + line.in;
        tkj_key *out = keys + l * pitch_of(p);
        TKJ_NO_UNROLL
        for (tkj_u32 i = share.begin; i < size; i += LOADED * share.stride) {
            tkj_element elements[LOADED];
            TKJ_UNROLL
            for (tkj_u32 e = 0; e < LOADED; e++) {
                tkj_u32 at = i + e * share.stride;
                elements[e] = data[(at < size ? at : i) * p->in_stride];
            }
            TKJ_UNROLL
            for (tkj_u32 e = 0; e < LOADED; e++) {
                tkj_u32 at = i + e * share.stride;
                out[at < size ? at : i] = tkj_ordered_key(elements[e]);
            }
        }
    }
}

/** How many of a line's keys are at least so large: the same in all lanes. */
TKJ_DEVICE tkj_u32 count_from(const tkj_key *keys, tkj_u32 size, tkj_key least)
{
    tkj_u32 count = 0;
    for (tkj_u32 i = tkj_lane(); i < size; i += TKJ_WARP)
        count += keys[i] >= least;
    return tkj_warp_sum(count);
}

/** The keys that are taken: those from `key` on, but only `wanted` of those that equal it. */
typedef struct tkj_cut {
    tkj_key key;
    tkj_u32 wanted;
} tkj_cut;

/** Step 2, of a line with more than k elements. */
TKJ_DEVICE tkj_cut find_cut(const tkj_key *keys, tkj_u32 size)
{
    tkj_cut cut = {0, size};
    TKJ_NO_UNROLL
    for (tkj_key bit = TKJ_SIGN; bit > 0; bit >>= 1) {
        tkj_u32 count = count_from(keys, size, cut.key | bit);
        if (count >= TKJ_TOPK)
            cut.key |= bit;
        if (count == TKJ_TOPK)
            return cut;
    }
    if (cut.key != TKJ_ALL_ONES)
        cut.wanted = TKJ_TOPK - count_from(keys, size, cut.key + 1);
    else
        cut.wanted = TKJ_TOPK;
    return cut;
}

/** Step 3. */
TKJ_DEVICE void list_line(const tkj_key *keys, tkj_u32 size, tkj_cut cut, tkj_key *listed,
                          tkj_u16 *places)
{
    tkj_u32 lower_lanes = (1u << tkj_lane()) - 1;
    tkj_u32 slot = 0;
    tkj_u32 wanted = cut.wanted;
    TKJ_NO_UNROLL
    for (tkj_u32 i = tkj_lane(); i < size + tkj_lane(); i += TKJ_WARP) {
        tkj_key key = keys[i < size ? i : 0];
        tkj_u32 equal = tkj_ballot(i < size && key == cut.key);
        tkj_u32 above = tkj_ballot(i < size && key > cut.key);
        bool is_wanted = equal >> tkj_lane() & 1 && tkj_count_bits(equal & lower_lanes) < wanted;
        tkj_u32 taken = above | tkj_ballot(is_wanted);
        tkj_u32 count = tkj_count_bits(equal);
        wanted -= count < wanted ? count : wanted;
        if (taken >> tkj_lane() & 1) {
            tkj_u32 own = slot + tkj_count_bits(taken & lower_lanes);
            listed[own] = key;
            places[own] = (tkj_u16)i;
        }
        slot += tkj_count_bits(taken);
    }
    tkj_warp_barrier();
}

/** Step 4. */
TKJ_DEVICE void rank_line(const tkj_key *listed, const tkj_u16 *places, tkj_u16 *positions)
{
    tkj_key keys[OWN];
    tkj_u32 ranks[OWN];
    TKJ_UNROLL
    for (tkj_u32 e = 0; e < OWN; e++) {
        tkj_u32 s = tkj_lane() + e * TKJ_WARP;
        keys[e] = listed[s < TKJ_TOPK ? s : 0];
        ranks[e] = 0;
    }
    for (tkj_u32 s = 0; s < TKJ_TOPK; s++) {
        tkj_key key = listed[s];
        TKJ_UNROLL
        for (tkj_u32 e = 0; e < OWN; e++) {
            bool earlier = s < tkj_lane() + e * TKJ_WARP;
            ranks[e] += key > keys[e] || (earlier && key == keys[e]);
        }
    }
    TKJ_UNROLL
    for (tkj_u32 e = 0; e < OWN; e++) {
        tkj_u32 s = tkj_lane() + e * TKJ_WARP;
        if (s < TKJ_TOPK)
            positions[ranks[e]] = places[s];
    }
    tkj_warp_barrier(); /* the next line uses the same lists */
}

/** Steps 2 to 4 for this warp's lines. */
TKJ_DEVICE void select_lines(const tkj_fast_topk_params *p, tkj_i64 row, tkj_short_shared *shared)
{
    tkj_key *listed = shared->listed[tkj_warp()];
    tkj_u16 *places = shared->places[tkj_warp()];
    tkj_u32 size = (tkj_u32)p->size;
    TKJ_NO_UNROLL
    for (tkj_u32 l = tkj_warp(); l < p->lines && row + l < p->rows; l += WARPS) {
        const tkj_key *keys = shared->keys + l * pitch_of(p);
        tkj_cut cut = {0, size};
        if (size > TKJ_TOPK)
            cut = find_cut(keys, size);
        list_line(keys, size, cut, listed, places);
        rank_line(listed, places, shared->positions + l * TKJ_TOPK);
    }
}

/** Step 5. */
TKJ_DEVICE void write_lines(const tkj_fast_topk_params *p, tkj_i64 row,
                            const tkj_short_shared *shared)
{
    const tkj_outer_dim *last = &p->outer[p->outer_dims > 0 ? p->outer_dims - 1 : 0];
    const tkj_thread_share share = share_of(p, p->indices_stride, last->indices_stride);
    TKJ_NO_UNROLL
    for (tkj_u32 l = share.first; l < p->lines && row + l < p->rows; l += share.step) {
        const tkj_line line = tkj_line_of(p, row + l);
        const tkj_key *keys = shared->keys + l * pitch_of(p);
        TKJ_UNROLL_TWICE
        for (tkj_u32 s = share.begin; s < TKJ_TOPK; s += share.stride) {
            tkj_u32 position = shared->positions[l * TKJ_TOPK + s];
            tkj_write_slot(p, &line, s, position, keys[position]);
        }
    }
}

TKJ_KERNEL(tkj_fast_topk_params, p)
{
    TKJ_SHARED(tkj_short_shared, shared);
    tkj_wait_for_dependencies();
    tkj_release_dependents();
    for (tkj_i64 row = (tkj_i64)tkj_block() * p.lines; row < p.rows;
         row += (tkj_i64)tkj_block_count() * p.lines) {
        load_lines(&p, row, shared->keys);
        tkj_block_barrier();
        select_lines(&p, row, shared);
        tkj_block_barrier();
        write_lines(&p, row, shared);
        tkj_block_barrier(); /* the next lines use the same shared memory */
    }
}
