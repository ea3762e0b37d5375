/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file filtered_row.cuh
 * @brief The selection of rows by one block each, for select_stream.cu and select_split.cu: those
 *        longer than the block holds are filtered by a pivot. Their steps 2 to 4, and the rows.
 *
 * Synchronisation: block barriers only.
 */
#ifndef TKJ_FILTERED_ROW_CUH
#define TKJ_FILTERED_ROW_CUH

/* Groups of 16 bytes that a thread samples. */
#define TKJ_SAMPLE_GROUPS 1

#include "long_row.cuh"

/* ---- step 3 ---- */

/** Requests a round; not for a split: GPUs without clusters cannot. */
TKJ_DEVICE void prefetch_round(const tkj_held_row *held)
{
    if (TKJ_SPLIT)
        return;
    tkj_i32 begin = held->first;
    tkj_i32 end = begin + TKJ_CAPACITY < held->end ? begin + TKJ_CAPACITY : held->end;
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
    tkj_u32 place = tkj_warp_slots(count, &listing->held.counts[1]);
    if (place + count > region_size())
        return;
    append_survivors(held, passed, quads, listing->passed.survivors + place);
}

/** Step 3, of a row or of a part of one. */
TKJ_DEVICE void list_row(const tkj_held_row *held, float pivot, tkj_listing *listing)
{
    tkj_held_row moved = round_of(held, 0);
    const tkj_i32 round = TKJ_CAPACITY * moved.blocks;
    TKJ_NO_UNROLL
    while (moved.first < moved.end) {
        const tkj_held_row own = moved;
        tkj_quad quads[TKJ_GROUPS];
        load_groups(&own, quads);
        moved.first += round;
        if (moved.first < moved.end)
            prefetch_round(&moved);
        list_round(&own, ~scores_below(pivot, quads) & window_mask(&own), quads, listing);
    }
    tkj_block_barrier();
}

/* ---- steps 2 to 4 ---- */

/** Step 2. */
TKJ_DEVICE tkj_pivot find_pivot(const tkj_held_row *held, tkj_listing *listing)
{
    tkj_histogram *histogram = &listing->held.histogram;
    float sample[TKJ_SAMPLED];
    tkj_load_sample(held, 0, 1, sample);
    clear_counts(listing);
    tkj_listed_clear(&listing->listed);
    prefetch_round(held);
    tkj_histogram_clear(histogram);
    tkj_block_barrier();
    tkj_count_sample(sample, histogram);
    tkj_pivot pivot;
    if (!tkj_find_pivot(held, &pivot, histogram))
        pivot =
            tkj_find_pivot_in_range(held->row, held->first, held->width, held->begin, held->end);
    return pivot;
}

/** Steps 3 and 4. @return false if the pivot misled; else the selection is in `listed` */
TKJ_DEVICE bool select_survivors(const tkj_held_row *held, const tkj_pivot *pivot,
                                 tkj_listing *listing)
{
    tkj_histogram_clear(&listing->held.histogram);
    list_row(held, pivot->low, listing);
    const tkj_list list = {listing->passed.survivors, tkj_thread(), TKJ_THREADS,
                           listing->held.counts[1], (tkj_u32)(held->end - held->begin)};
    if (list.end < TKJ_TOPK || list.end > TKJ_LIST)
        return false;
    select_listed(&list, pivot, TKJ_TOPK, listing);
    return true;
}

/** Steps 2 to 4 of a window that no block holds. @return false if its row is written already; else
 * the selection is in `listed` */
TKJ_DEVICE bool select_filtered(const tkj_select_params *p, tkj_i64 row, const tkj_held_row *held,
                                tkj_stream_shared *shared)
{
    const tkj_pivot pivot = find_pivot(held, &shared->listing);
    bool exact = !pivot.on_plateau && select_survivors(held, &pivot, &shared->listing);
    if (!exact)
        select_unusual(p, row, pivot.on_plateau, pivot.plateau, 0);
    return exact;
}

/** What the kernel does with a window that no block holds: select_filtered, or something before. */
TKJ_DEVICE bool select_long(const tkj_select_params *p, tkj_i64 row, const tkj_held_row *held,
                            tkj_stream_shared *shared);

/** All steps for one row of the batch. */
TKJ_DEVICE void select_row(const tkj_select_params *p, tkj_i64 row, tkj_stream_shared *shared)
{
    tkj_listing *listing = &shared->listing;
    tkj_i32 given;
    tkj_window window = tkj_window_start(p, row, &given);
    tkj_held_row held = hold(p, row, window.start);
    tkj_prefetch_parameters(p);
    tkj_window_finish(p, row, given, &window);
    held.end = held.begin + (tkj_i32)window.length;
    tkj_selection selection = {window.length, 0, 0};
    if (tkj_thread() == 0 && (TKJ_SORTED || window.length > TKJ_TOPK))
        listing->held.window = window;
    if (window.length > TKJ_TOPK)
        selection.count = TKJ_TOPK;
    if (is_long(&held)) {
        if (!select_long(p, row, &held, shared))
            return;
        selection.positions = listing->listed.selected;
        window = listing->held.window;
    } else if (window.length > TKJ_TOPK) {
        tkj_quad quads[TKJ_GROUPS];
        float x[TKJ_ITEMS];
        load_groups(&held, quads);
        unpack_groups(quads, x);
        select_held(&held, x, &listing->held);
        selection.selected = listing->held.selected;
        window = listing->held.window;
    }
    write_row(p, row, &window, &selection, shared);
}

/** All rows of this block, padding included: one, if TKJ_ONE_ROW says so. */
TKJ_DEVICE void select_rows(const tkj_select_params *p, tkj_stream_shared *shared)
{
    for (tkj_i64 row = first_row();;) {
        if (row < p->rows)
            select_row(p, row, shared);
        else
            tkj_write_padding(p, row, 0);
        row += rows_at_once();
        if (TKJ_ONE_ROW || row >= tkj_rows_to_write(p))
            break;
        tkj_block_barrier(); /* the next row uses the same shared memory */
    }
}

#endif /* TKJ_FILTERED_ROW_CUH */
