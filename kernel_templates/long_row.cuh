/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file long_row.cuh
 * @brief What select_stream.cu, select_split.cu and select_cluster.cu share: rows longer than a
 * block holds, read in rounds; the memory of their lists, and, out of the way of other rows, what
 * rows rarely need.
 */
#ifndef TKJ_LONG_ROW_CUH
#define TKJ_LONG_ROW_CUH

#include "gather.cuh"
#include "listed_row.cuh"
#include "radix.cuh"
#include "sampled_range.cuh"
#include "write_selected.cuh"

TKJ_STATIC_ASSERT(TKJ_TOPK <= TKJ_LIST * 2 / 3, "enough more than k scores may pass");
TKJ_STATIC_ASSERT(TKJ_TOPK < TKJ_CAPACITY - TKJ_GROUP, "long windows have more than k scores");

/** What passed; on a plateau, positions alone. */
typedef union tkj_passed {
    tkj_quad aligned;
    tkj_survivor survivors[TKJ_LIST];
    struct {
        tkj_u32 above[TKJ_LIST];
        tkj_u32 equal[TKJ_TOPK];
    } positions;
} tkj_passed;

/** Shared memory of the steps before the output is written. */
typedef struct tkj_listing {
    tkj_held_shared held;
    tkj_passed passed;
    tkj_listed_shared listed;
    tkj_u32 warp_counts[2][TKJ_WARPS]; /* of one turn, on a plateau; turns alternate */
} tkj_listing;

/** Shared memory: one phase at a time. */
typedef struct tkj_stream_shared {
    union {
        tkj_listing listing;
        tkj_sort_shared sort; /* once the selected positions are in the output slots */
    };
#if TKJ_CLUSTERS
    tkj_gather gather;
#endif
} tkj_stream_shared;

/** Before a row; a barrier must follow. Counts are of what this block lists: certain scores, or
 * those above a plateau; others; TKJ_DISTINCT. */
TKJ_DEVICE void clear_counts(tkj_listing *listing)
{
    if (tkj_thread() < 3)
        listing->held.counts[tkj_thread()] = 0;
}

/* Blocks that share a row, and the binary logarithm of them: those of the cluster, or of a split as
   many as the row says. */
#if TKJ_SPLIT
#define BLOCKS_OF(held) ((tkj_u32)(held)->blocks)
#define BLOCKS_SHIFT(held) (tkj_bit_width(BLOCKS_OF(held)) - 1)
#else
#define BLOCKS_OF(held) cluster_size()
#define BLOCKS_SHIFT(held) cluster_shift()
#endif

/** The row as it is in round r of this block. */
TKJ_DEVICE tkj_held_row round_of(const tkj_held_row *held, tkj_u32 round)
{
    tkj_held_row moved = *held;
    moved.blocks = (tkj_i32)BLOCKS_OF(held);
    moved.first += (tkj_i32)(round * BLOCKS_OF(held)) * TKJ_CAPACITY +
                   (tkj_i32)cluster_rank() * TKJ_WARP * TKJ_GROUP;
    return moved;
}

/** True if no block holds the window; then it has more than k scores. */
TKJ_DEVICE bool is_long(const tkj_held_row *held)
{
    return held->end - held->first > TKJ_CAPACITY;
}

/** Rounds of each block. */
TKJ_DEVICE tkj_u32 rounds_of(const tkj_held_row *held)
{
    return ((tkj_u32)(held->end - held->first - 1) >> BLOCKS_SHIFT(held)) / TKJ_CAPACITY + 1;
}

/** Bits of this thread's scores that are below a pivot; others are undefined. */
TKJ_DEVICE tkj_u32 scores_below(float pivot, const tkj_quad quads[TKJ_GROUPS])
{
    tkj_u32 below = 0;
    TKJ_UNROLL
    for (tkj_i32 e = TKJ_ITEMS - 1; e >= 0; e--) {
        float x = score_of(quads, (tkj_u32)e);
#if TKJ_NAN_LAST
        x = x != x ? -TKJ_FLOAT_INFINITY : x; /* compilers fold fmaxf */
#endif
        below = tkj_push_sign(below, tkj_sign_if_below(x, pivot));
    }
    return below;
}

/** Stores this thread's scores that passed, from a slot on. */
TKJ_DEVICE void append_survivors(const tkj_held_row *held, tkj_u32 passed,
                                 const tkj_quad quads[TKJ_GROUPS], tkj_survivor *slot)
{
    tkj_cursor cursor = tkj_cursor_at(slot);
    TKJ_UNROLL
    for (tkj_u32 e = 0; e < TKJ_ITEMS; e++) {
        const tkj_survivor survivor = {
            {tkj_bits_from_float(score_of(quads, e)), position_of(held, e)}};
        cursor = tkj_append(cursor, survivor, passed, e);
    }
}

/** Makes crowded candidates of a list fewer. */
TKJ_OUT_OF_LINE tkj_listed_choice refine_crowded(tkj_u32 first, tkj_u32 step,
                                                 tkj_listed_choice choice)
{
    TKJ_SHARED(tkj_stream_shared, shared);
    tkj_listing *listing = &shared->listing;
    const tkj_list list = {listing->passed.survivors, first, step, 0, 0};
    const tkj_u32 bin = listing->held.histogram.bin;
    if (!TKJ_ORDERED && listing->held.counts[TKJ_DISTINCT] != 0 && bin > 0 && bin < TKJ_BINS - 1)
        tkj_settle_equal(&choice, &listing->listed);
    else
        tkj_refine_listed(&list, &choice, &listing->held.histogram, &listing->listed);
    return choice;
}

/** True if scores of 16 bits that lie between two pivots have a bin each, less than half as wide as
 * their least distance: 2^-8 or 2^-11 of a score. */
TKJ_DEVICE bool has_bin_each(const tkj_pivot *pivot)
{
    const float distance = TKJ_DTYPE == TKJ_BFLOAT16 ? 0x1p-8f : 0x1p-11f;
    const float least = fminf(fmaxf(pivot->low, -pivot->high), TKJ_FLOAT_MAX); /* of one sign */
    return pivot->high - pivot->low < TKJ_BINS / 2 * distance * least;
}

/** The `wanted` largest, at least 1, of the survivors, which are at least as many, into `listed`.
 * Histogram and scratch are clear, and a barrier has come since. Ends with a barrier. */
TKJ_DEVICE void select_listed(const tkj_list *list, const tkj_pivot *pivot, tkj_u32 wanted,
                              tkj_listing *listing)
{
    const tkj_value_map map = tkj_value_map_of_pivots(pivot->high, pivot->low);
    tkj_listed_choice choice = tkj_choose_listed(list, &map, wanted, &listing->held.histogram);
    if (TKJ_KEY_BITS == 16 && !TKJ_ORDERED && listing->held.histogram.bin > 0 &&
        has_bin_each(pivot))
        tkj_settle_equal(&choice, &listing->listed);
    else if (choice.count > TKJ_COMPARED)
        choice = refine_crowded(list->first, list->step, choice);
    tkj_list_taken(list, &choice, wanted, &listing->held.histogram, &listing->listed);
}

#if TKJ_SORTED
/** Where a selection is. */
typedef enum tkj_selection_place {
    IS_WHOLE, /* the window's positions */
    IS_HELD,
    IS_LISTED,
    IS_IN_SLOTS
} tkj_selection_place;

/** Sorts and writes; once, because of its size. The window is in the listing. */
TKJ_OUT_OF_LINE void write_sorted(const tkj_select_params *p, tkj_i64 row,
                                  tkj_selection_place place)
{
    TKJ_SHARED(tkj_stream_shared, shared);
    tkj_block_barrier();
    const tkj_window window = shared->listing.held.window;
    tkj_selection selection = {TKJ_TOPK, 0, 0};
    if (place == IS_WHOLE)
        selection.count = window.length;
    else if (place == IS_HELD)
        selection.selected = shared->listing.held.selected;
    else if (place == IS_LISTED)
        selection.positions = shared->listing.listed.selected;
    else
        selection.slots.data = (tkj_index *)p->indices + row * p->indices_stride;
    tkj_write_selection(p, row, &window, &selection, &shared->sort);
}
#endif

/** Writes a selection of the row whose window it is, sorted if the spec is. */
TKJ_DEVICE void write_row(const tkj_select_params *p, tkj_i64 row, const tkj_window *window,
                          const tkj_selection *selection, tkj_stream_shared *shared)
{
#if TKJ_SORTED
    write_sorted(p, row,
                 selection->positions    ? IS_LISTED
                 : selection->selected   ? IS_HELD
                 : selection->slots.data ? IS_IN_SLOTS
                                         : IS_WHOLE);
#else
    tkj_write_selection(p, row, window, selection, &shared->sort);
#endif
}

#include "plateau.cuh"

/** The way out where the sample misled: exact on any data. */
TKJ_DEVICE void select_by_digits(const tkj_select_params *p, tkj_i64 row, tkj_stream_shared *shared)
{
    tkj_note_slow_path();
    const tkj_window window = shared->listing.held.window;
    tkj_histogram *histogram = &shared->listing.held.histogram;
    tkj_elements elements = {(const tkj_element *)p->score + row * p->score_stride + window.start,
                             1};
    tkj_slots slots = {(tkj_index *)p->indices + row * p->indices_stride, 1};
    tkj_threshold threshold = tkj_find_threshold(&elements, window.length, TKJ_TOPK, histogram);
    tkj_collect(&elements, window.length, &threshold, TKJ_TOPK, &slots, &histogram->scan);
    tkj_block_barrier();
    const tkj_selection selection = {TKJ_TOPK, 0, 0, slots};
    write_row(p, row, &window, &selection, shared);
}

/** Before a plateau is tried in a row whose lists were of no use. All blocks call. */
TKJ_DEVICE void forget_lists(tkj_listing *listing)
{
#if TKJ_CLUSTERS
    tkj_cluster_barrier(); /* counts and lists of this row are read */
#else
    tkj_block_barrier();
#endif
    clear_counts(listing);
    tkj_block_barrier();
}

/** A row with a plateau, or whose sample misled: then there may be one all the same, if its key is
 * not 0. All blocks call. */
TKJ_OUT_OF_LINE void select_unusual(const tkj_select_params *p, tkj_i64 row, bool on_plateau,
                                    tkj_u32 plateau, tkj_u32 parity)
{
    TKJ_SHARED(tkj_stream_shared, shared);
    const tkj_held_row *held = &shared->listing.held.row;
    bool again = tkj_retries_plateau(on_plateau, plateau);
    if (again)
        forget_lists(&shared->listing);
    bool exact = (on_plateau || again) && select_on_plateau(p, row, held, plateau, parity, shared);
    if (!exact && cluster_rank() == 0)
        select_by_digits(p, row, shared);
}

#endif /* TKJ_LONG_ROW_CUH */
