/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file select_split.cu
 * @brief The selection for few rows longer than a block holds, where there are no clusters: two
 *        launches, between which lists are in the caller's workspace.
 *
 * In the first launch several blocks share each row:
 *
 * 1. Rows that one block holds, and padding, are left alone.
 * 2. Every block finds the same pivot in the same sample (sampled_pivot.cuh).
 * 3. It reads its part of the row once and lists what is not below the pivot, in its region of the
 *    row's list, if it fits; and says how much that is. Of a plateau nothing is listed.
 *
 * In the second launch one block takes each row:
 *
 * 4. If the lists of all parts fitted, and together have at least k scores, the k largest are
 *    selected from them (listed_row.cuh).
 * 5. All other rows are selected as in select_stream.cu.
 *
 * Exact: every score that is not below the pivot is listed, or the count says that it is not; if
 * they are at least k, the k largest are among them. Deterministic with TKJ_ORDERED: the selection
 * does not depend on the order of the lists.
 *
 * Synchronisation: block barriers; the launches are ordered by the stream. The second one reads of
 * the workspace only what the first one wrote: both tell long rows alike. Shared memory:
 * tkj_stream_shared.
 */
#define TKJ_UNIT_STRIDE 1
#define TKJ_COLLECTED 4 /* the way out is to cost no registers */
#define TKJ_SPLIT 1

#include "filtered_row.cuh"

/** A row in the workspace. */
typedef struct tkj_split_row {
    tkj_quad parts[TKJ_SPLIT_PARTS_MAX]; /* of each: its count of survivors, the two pivots */
    tkj_survivor survivors[TKJ_LIST];    /* a region for each part */
} tkj_split_row;

TKJ_STATIC_ASSERT(sizeof(tkj_split_row) == TKJ_SPLIT_ROW_BYTES, "the host asks for as much");
TKJ_STATIC_ASSERT(TKJ_LIST % TKJ_SPLIT_PARTS_MAX == 0 && TKJ_WARPS % TKJ_SPLIT_PARTS_MAX == 0,
                  "regions, and warps that read them, are shared out evenly");
TKJ_STATIC_ASSERT(TKJ_SPLIT_PARTS_MAX *TKJ_WARP *TKJ_GROUP <= TKJ_CAPACITY,
                  "each part of a long row has scores");

TKJ_DEVICE tkj_split_row *row_in_workspace(const tkj_select_params *p, tkj_i64 row)
{
    return (tkj_split_row *)p->workspace + row;
}

/** Binary logarithm of the parts. */
TKJ_DEVICE tkj_u32 parts_shift(const tkj_select_params *p)
{
    return tkj_bit_width(p->parts) - 1;
}

/** Survivors that a region holds. */
TKJ_DEVICE tkj_u32 capacity_of_part(const tkj_select_params *p)
{
    return TKJ_LIST >> parts_shift(p);
}

/* ---- steps 1 to 3 ---- */

/** Part `part` of a row: its warps' groups are all parts' warps apart. */
TKJ_DEVICE tkj_held_row part_of(const tkj_held_row *held, tkj_u32 part, tkj_u32 parts)
{
    tkj_held_row own = *held;
    own.first += (tkj_i32)part * TKJ_WARP * TKJ_GROUP;
    own.blocks = (tkj_i32)parts;
    return own;
}

/** Writes this block's list, if it fits, and what there is to know of it. */
TKJ_DEVICE void publish_part(const tkj_pivot *pivot, tkj_u32 part, tkj_u32 capacity, tkj_u32 count,
                             const tkj_listing *listing, tkj_split_row *out)
{
    const tkj_quad known = {
        {count, tkj_bits_from_float(pivot->low), tkj_bits_from_float(pivot->high), 0}};
    if (tkj_thread() == 0)
        out->parts[part] = known;
    if (count > capacity)
        return;
    TKJ_NO_UNROLL
    for (tkj_u32 i = tkj_thread(); i < count; i += TKJ_THREADS)
        out->survivors[part * capacity + i] = listing->passed.survivors[i];
}

/** Steps 1 to 3 for one part of a row. */
TKJ_DEVICE void list_part(const tkj_select_params *p, tkj_i64 row, tkj_u32 part,
                          tkj_listing *listing)
{
    const tkj_window window = tkj_window_of(p, row);
    tkj_held_row held = hold(p, row, window.start);
    held.end = held.begin + (tkj_i32)window.length;
    if (!is_long(&held))
        return;
    tkj_u32 count = 0; /* of all parts: too little */
    const tkj_pivot pivot = find_pivot(&held, listing);
    if (!pivot.on_plateau) {
        const tkj_held_row own = part_of(&held, part, p->parts);
        list_row(&own, pivot.low, listing);
        count = listing->held.counts[1];
    }
    publish_part(&pivot, part, capacity_of_part(p), count, listing, row_in_workspace(p, row));
}

/** Steps 1 to 3 for the parts of this block: one, unless the grid is smaller than they are many. */
TKJ_DEVICE void list_parts(const tkj_select_params *p, tkj_listing *listing)
{
    tkj_u32 shift = parts_shift(p);
    for (tkj_i64 turn = tkj_block(); turn < p->rows << shift; turn += tkj_block_count()) {
        list_part(p, turn >> shift, (tkj_u32)turn & (p->parts - 1), listing);
        tkj_block_barrier(); /* the next part uses the same shared memory */
    }
}

/* ---- steps 4 and 5 ---- */

/** The lists of all parts, for this thread, which copies what is its own: each warp takes a part of
 * one region. `count`: of this lane's part. */
TKJ_DEVICE tkj_list list_of_parts(const tkj_split_row *from, tkj_u32 shift, tkj_u32 count,
                                  tkj_u32 positions, tkj_survivor survivors[TKJ_LIST])
{
    tkj_u32 warps = TKJ_WARPS >> shift; /* of a region */
    tkj_u32 region = (tkj_warp() << shift) / TKJ_WARPS;
    tkj_u32 begin = region * (TKJ_LIST >> shift);
    tkj_list list = {survivors, begin + (tkj_warp() & (warps - 1)) * TKJ_WARP + tkj_lane(),
                     warps * TKJ_WARP, begin + tkj_shuffle(count, region), positions};
    TKJ_UNROLL
    for (tkj_u32 i = 0; i < TKJ_LISTED; i++)
        if (tkj_has_survivor(&list, i))
            survivors[list.first + i * list.step] = from->survivors[list.first + i * list.step];
    return list;
}

/** Step 4. @return false if a list did not fit, or all are too short; else the selection is in
 * `listed` */
TKJ_DEVICE bool select_from_lists(const tkj_select_params *p, tkj_i64 row, const tkj_held_row *held,
                                  tkj_listing *listing)
{
    const tkj_split_row *from = row_in_workspace(p, row);
    tkj_u32 shift = parts_shift(p);
    tkj_quad of_lane = {{0, 0, 0, 0}};
    if (tkj_lane() < p->parts)
        of_lane = from->parts[tkj_lane()];
    tkj_histogram_clear(&listing->held.histogram);
    tkj_listed_clear(&listing->listed);
    clear_counts(listing);
    if (tkj_warp_max(of_lane.words[0]) > capacity_of_part(p) ||
        tkj_warp_sum(of_lane.words[0]) < TKJ_TOPK)
        return false;
    tkj_block_barrier();
    const tkj_list list =
        list_of_parts(from, shift, of_lane.words[0], (tkj_u32)(held->end - held->begin),
                      listing->passed.survivors);
    const tkj_pivot pivot = {tkj_float_from_bits(tkj_shuffle(of_lane.words[1], 0)),
                             tkj_float_from_bits(tkj_shuffle(of_lane.words[2], 0)), false, 0};
    select_listed(&list, &pivot, TKJ_TOPK, listing);
    return true;
}

TKJ_DEVICE bool select_long(const tkj_select_params *p, tkj_i64 row, const tkj_held_row *held,
                            tkj_stream_shared *shared)
{
    return select_from_lists(p, row, held, &shared->listing) ||
           select_filtered(p, row, held, shared);
}

TKJ_KERNEL(tkj_select_params, p)
{
    TKJ_SHARED(tkj_stream_shared, shared);
    tkj_wait_for_dependencies();
    tkj_release_dependents();
    if (p.launch == 0)
        list_parts(&p, &shared->listing);
    else
        select_rows(&p, shared);
}
