/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file select_stream.cu
 * @brief The selection for rows longer than a block holds: a pivot from a sample leaves few scores,
 *        of which listed_row.cuh takes the k largest. One block a row, or with TKJ_CLUSTERS the
 * blocks of one cluster, as many as the launch says.
 *
 * 1. A window that one block holds is selected by the first block alone (held_row.cuh).
 * 2. Every block draws the same sample, evenly spread over the row, and finds the same pivot in it
 *    (sampled_pivot.cuh).
 * 3. Every block reads its share of the row once and lists what is not below the pivot; the lists
 *    come to the first block (gather.cuh). Where the sample shows that too many would pass, a
 *    plateau of equal scores lies across the k-th place: see plateau.cuh for steps 3 and 4 then.
 * 4. If at least k scores passed and the lists held them, the first block selects from them
 *    (listed_row.cuh). Otherwise it takes the row digit by digit (radix.cuh): slower, but rare and
 *    exact.
 *
 * Exact: every score that is not below the pivot is listed, whatever the sample was; if they are at
 * least k, the k largest are among them. Deterministic with TKJ_ORDERED: the selection does not
 * depend on the order of the lists.
 *
 * Synchronisation: block barriers; where it has a cluster, see gather.cuh. Shared memory:
 * tkj_stream_shared; other blocks write to the list and the counts of the first, and read the
 * counts of a plateau.
 */
#define TKJ_UNIT_STRIDE 1
#define TKJ_COLLECTED 4 /* the way out is to cost no registers */

#define TKJ_SAMPLE_GROUPS 1

#include "long_row.cuh"

/* ---- step 3 ---- */

/** Requests a round of all blocks: each a part of it that is contiguous. */
TKJ_DEVICE void prefetch_round(const tkj_held_row *held, tkj_u32 round)
{
    tkj_i64 part = (tkj_i64)round * cluster_size() + cluster_rank();
    tkj_i64 begin = held->first + part * TKJ_CAPACITY;
    tkj_i64 end = begin + TKJ_CAPACITY < held->end ? begin + TKJ_CAPACITY : held->end;
    begin += begin < held->begin ? TKJ_GROUP : 0;
    if (tkj_thread() == 0 && begin + TKJ_GROUP <= end)
        tkj_prefetch(held->row + begin, (tkj_u32)(end - begin) / TKJ_GROUP * 16);
}

/** Lists this warp's scores that passed; those that do not fit are only counted. */
TKJ_DEVICE void list_round(const tkj_held_row *held, tkj_u32 passed,
                           const tkj_quad quads[TKJ_GROUPS], tkj_listing *listing)
{
    tkj_u32 count = tkj_count_bits(passed);
    if (tkj_ballot(count != 0) == 0)
        return;
    tkj_u32 place = tkj_warp_slots(count, &listing->counts[1]);
    if (place + count > region_size())
        return;
    append_survivors(held, passed, quads, listing->passed.survivors + place);
}

/** Step 3 in one block. */
TKJ_DEVICE void list_share(const tkj_held_row *held, float pivot, tkj_listing *listing)
{
    tkj_u32 rounds = rounds_of(held);
    TKJ_NO_UNROLL
    for (tkj_u32 round = 0; round < rounds; round++) {
        const tkj_held_row moved = round_of(held, round);
        tkj_quad quads[TKJ_GROUPS];
        load_groups(&moved, quads);
        if (round + 1 < rounds)
            prefetch_round(held, round + 1);
        list_round(&moved, ~scores_below(pivot, quads) & window_mask(&moved), quads, listing);
    }
    tkj_block_barrier();
}

/* ---- steps 3 and 4 on a plateau ---- */

#include "plateau.cuh"

/* ---- step 4 ---- */

/** Step 3. @return false in blocks that have no more to do; in the first, the list and how many it
 * should hold */
TKJ_DEVICE bool list_row(const tkj_held_row *held, float pivot, tkj_stream_shared *shared,
                         tkj_list *list, tkj_u32 *count)
{
    tkj_listing *listing = &shared->listing;
    tkj_survivor *survivors = listing->passed.survivors;
    tkj_u32 positions = (tkj_u32)(held->end - held->begin);
    tkj_histogram_clear(&listing->held.histogram);
    list_share(held, pivot, listing);
    *count = listing->counts[1];
#if TKJ_CLUSTERS
    if (cluster_rank() != 0) {
        if (tkj_thread() == 0)
            send_list(survivors, *count, &shared->gather);
        return false;
    }
    tkj_u32 own = *count;
    *count = receive_lists(own, &shared->gather);
    *list = gathered(survivors, own, positions, &shared->gather);
#else
    const tkj_list whole = {survivors, tkj_thread(), TKJ_THREADS, *count, positions};
    *list = whole;
#endif
    return true;
}

/** Steps 2 to 4 for a window that no block holds. @return true if the row is written, or another
 * block's; else the selection is in `listed` */
TKJ_DEVICE bool select_long(const tkj_select_params *p, tkj_i64 row, const tkj_held_row *held,
                            bool *started, tkj_stream_shared *shared)
{
    tkj_listing *listing = &shared->listing;
    float sample[TKJ_SAMPLED];
    tkj_load_sample(held, 0, 1, sample);
#if TKJ_CLUSTERS
    if (!*started)
        gather_start(&shared->gather);
    *started = true;
#endif
    tkj_list list;
    tkj_u32 count = 0;
    if (tkj_thread() == 0)
        listing->counts[1] = 0;
    tkj_listed_clear(&listing->listed);
    if (!TKJ_CLUSTERS) /* a row at a time is mostly nearby */
        prefetch_round(held, 0);
    tkj_histogram_clear(&listing->held.histogram);
    tkj_pivot pivot;
    if (!tkj_find_pivot(held, sample, &pivot, &listing->held.histogram))
        pivot = tkj_find_pivot_in_range(held, &listing->held);
#if TKJ_CLUSTERS
    gather_await();
#endif
    if (pivot.on_plateau) {
        if (select_on_plateau(p, row, held, pivot.plateau, shared) || cluster_rank() != 0)
            return true;
    } else {
#if TKJ_CLUSTERS
        if (tkj_thread() == 0 && cluster_rank() == 0)
            expect_counts(&shared->gather);
#endif
        if (!list_row(held, pivot.low, shared, &list, &count))
            return true;
    }
    if (count < TKJ_TOPK || count > TKJ_LIST) {
        select_by_digits(p, row, shared);
        return true;
    }
    const tkj_value_map map = tkj_value_map_of(pivot.high, pivot.low);
    tkj_select_listed(&list, &map, TKJ_TOPK, &listing->held.histogram, &listing->listed);
    return false;
}

/** All steps for one row of the batch. */
TKJ_DEVICE void select_row(const tkj_select_params *p, tkj_i64 row, bool *started,
                           tkj_stream_shared *shared)
{
    tkj_listing *listing = &shared->listing;
    tkj_i32 given;
    tkj_window window = tkj_window_start(p, row, &given);
    tkj_held_row held = hold(p, row, window.start);
    tkj_prefetch_parameter(p->indices);
    tkj_window_finish(p, row, given, &window);
    held.end = held.begin + (tkj_i32)window.length;
    tkj_selection selection = {window.length, 0, 0};
    if (window.length > TKJ_TOPK) {
        if (tkj_thread() == 0)
            listing->held.window = window;
        selection.count = TKJ_TOPK;
    }
    if (is_long(&held)) {
        if (select_long(p, row, &held, started, shared))
            return;
        selection.positions = listing->listed.selected;
        window = listing->held.window;
    } else {
#if TKJ_CLUSTERS
        if (*started)
            gather_await();
        if (cluster_rank() != 0)
            return;
#endif
        if (window.length > TKJ_TOPK) {
            tkj_quad quads[TKJ_GROUPS];
            float x[TKJ_ITEMS];
            load_groups(&held, quads);
            unpack_groups(quads, x);
            select_held(&held, x, &listing->held);
            selection.selected = listing->held.selected;
            window = listing->held.window;
        }
    }
    tkj_write_selection(p, row, &window, &selection, &shared->sort);
}

/** A row of padding. */
TKJ_DEVICE void pad_row(const tkj_select_params *p, tkj_i64 row, const bool *started)
{
#if TKJ_CLUSTERS
    if (*started)
        gather_await();
#endif
    if (cluster_rank() == 0)
        tkj_write_padding(p, row, 0);
}

TKJ_KERNEL(tkj_select_params, p)
{
    TKJ_SHARED(tkj_stream_shared, shared);
    bool started = false; /* gathering: the same in all blocks of the cluster */
    tkj_wait_for_dependencies();
    tkj_release_dependents();
    for (tkj_i64 row = first_row();;) {
        if (row < p.rows)
            select_row(&p, row, &started, shared);
        else
            pad_row(&p, row, &started);
        row += rows_at_once();
        if (row >= tkj_rows_to_write(&p))
            break;
        tkj_block_barrier(); /* the next row uses the same shared memory */
#if TKJ_CLUSTERS
        if (started)
            gather_next();
#endif
    }
#if TKJ_CLUSTERS
    if (started)
        gather_end();
#endif
}
