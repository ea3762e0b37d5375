/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file select_cluster.cu
 * @brief The selection for rows longer than a block holds, by the blocks of one cluster, as many as
 *        the launch says.
 *
 * 1. Before a row's length is known, each block loads a sample of all columns.
 * 2. A window that one block holds is selected by the first block alone (held_row.cuh).
 * 3. Every block finds the same two pivots in the sample (sampled_pivot.cuh) while the first round
 *    of its share of the row arrives. It reads its share once and lists what is not below the
 *    higher one, which is certain to be taken, and what is between them.
 * 4. Once the blocks know each other's counts, each writes what is certain. The scores in between
 *    come to the first block (gather.cuh), which selects what is wanted of them (listed_row.cuh).
 * 5. Where the sample shows that too many would pass, a plateau of equal scores lies across the
 *    k-th place: see plateau.cuh. If the counts show that the pivots misled, the first block takes
 *    the row digit by digit (radix.cuh): slower, but rare and exact.
 *
 * Exact: the counts say that at most k scores are not below the higher pivot, so they are taken,
 * and at least k not below the lower one. Deterministic with TKJ_ORDERED: nothing is certain then,
 * and the selection does not depend on the order of the lists.
 *
 * Synchronisation: block barriers, and gather.cuh. Shared memory: tkj_stream_shared; other blocks
 * write to the list of the first and to the counts.
 */
#define TKJ_UNIT_STRIDE 1
#define TKJ_COLLECTED 4 /* the way out is to cost no registers */

/* Groups of 16 bytes that a thread samples. */
#define TKJ_SAMPLE_GROUPS ((TKJ_GROUPS + 1) / 2)

#include "long_row.cuh"

/* Are there scores that are written before the others are selected? Of fewer no sample says that
 * they are at most k: it sees one of hundreds. */
#define TKJ_CERTAIN (!TKJ_ORDERED && !TKJ_SORTED && TKJ_TOPK >= 1024)

/* ---- step 3 ---- */

/** Lists this warp's scores that passed; those that do not fit are only counted. */
TKJ_DEVICE void list_round(const tkj_held_row *held, const tkj_pivot *pivot,
                           const tkj_quad quads[TKJ_GROUPS], tkj_listing *listing)
{
    tkj_u32 inside = window_mask(held);
    tkj_u32 passed = ~scores_below(pivot->low, quads) & inside;
    tkj_u32 certain = TKJ_CERTAIN ? ~scores_below(pivot->high, quads) & inside : 0;
    passed &= ~certain;
    tkj_places places =
        tkj_warp_places(tkj_count_bits(certain), tkj_count_bits(passed), listing->held.counts);
    if (TKJ_CERTAIN && places.first + tkj_count_bits(certain) <= TKJ_TOPK) {
        tkj_cursor cursor = tkj_cursor_at(listing->listed.selected + places.first);
        TKJ_UNROLL
        for (tkj_u32 e = 0; e < TKJ_ITEMS; e++)
            cursor = tkj_append(cursor, position_of(held, e), certain, e);
    }
    if (places.second + tkj_count_bits(passed) <= region_size())
        append_survivors(held, passed, quads, listing->passed.survivors + places.second);
}

/** Lists this block's share, of which the first round is loaded. */
TKJ_DEVICE void list_share(const tkj_held_row *held, const tkj_pivot *pivot,
                           tkj_quad quads[TKJ_GROUPS], tkj_listing *listing)
{
    tkj_u32 last = rounds_of(held) - 1;
    tkj_held_row moved = round_of(held, 0);
    TKJ_NO_UNROLL
    for (tkj_u32 round = 0; round < last; round++) {
        tkj_quad next[TKJ_GROUPS];
        const tkj_held_row after = round_of(held, round + 1);
        load_groups(&after, next);
        list_round(&moved, pivot, quads, listing);
        moved = after;
        TKJ_UNROLL
        for (tkj_u32 g = 0; g < TKJ_GROUPS; g++)
            quads[g] = next[g];
    }
    list_round(&moved, pivot, quads, listing);
    tkj_block_barrier();
}

/* ---- step 4 ---- */

/** Writes positions into the slots from `first` on. */
TKJ_DEVICE void write_positions(const tkj_select_params *p, tkj_i64 row, const tkj_window *window,
                                tkj_u32 first, const tkj_u32 *positions, tkj_u32 count)
{
    tkj_elements elements = {(const tkj_element *)p->score + row * p->score_stride + window->start,
                             1};
    TKJ_NO_UNROLL
    for (tkj_u32 i = tkj_thread(); i < count; i += TKJ_THREADS)
        tkj_emit(p, row, window, &elements, first + i, positions[i]);
}

/** The pivots. `sample`: part 0 of 1. */
TKJ_DEVICE tkj_pivot find_pivots(const tkj_held_row *held, const float sample[TKJ_SAMPLED],
                                 tkj_histogram *histogram)
{
    tkj_pivot pivot;
    tkj_block_barrier();
    tkj_count_sample(sample, histogram);
    if (!tkj_find_pivot(held, &pivot, histogram))
        pivot =
            tkj_find_pivot_in_range(held->row, held->first, held->width, held->begin, held->end);
    return pivot;
}

/** Steps 3 and 4 of a window that no block holds. `quads`: the first round. @return false if the
 * pivots misled: nothing is written then */
TKJ_DEVICE bool select_long(const tkj_select_params *p, tkj_i64 row, const tkj_held_row *held,
                            const tkj_pivot *pivot, tkj_quad quads[TKJ_GROUPS],
                            tkj_gathering *gathering, tkj_stream_shared *shared)
{
    tkj_listing *listing = &shared->listing;
    tkj_histogram_clear(&listing->held.histogram);
    /* A first list may be filled while other blocks have yet to start. */
    if (gathering->listed)
        gather_await();
    list_share(held, pivot, quads, listing);
    if (!gathering->listed)
        gather_await();
    gathering->listed = true;
    send_counts(listing->held.counts, &shared->gather);
    if (tkj_thread() == 0 && cluster_rank() != 0)
        send_list(listing->passed.survivors, listing->held.counts[1], &shared->gather);
    const tkj_share share = receive_counts(gathering, &shared->gather);
    tkj_window window = listing->held.window;
    if (TKJ_CERTAIN && share.exact)
        write_positions(p, row, &window, share.slot, listing->listed.selected,
                        listing->held.counts[0]);
    if (cluster_rank() == 0)
        receive_lists(gathering, &shared->gather);
    tkj_u32 wanted = TKJ_TOPK - share.certain;
    if (cluster_rank() != 0 || !share.exact || wanted == 0)
        return share.exact;
    const tkj_list list =
        gathered(listing->passed.survivors, (tkj_u32)(held->end - held->begin), &shared->gather);
    select_listed(&list, pivot, wanted, listing);
    window = listing->held.window;
#if TKJ_CERTAIN
    write_positions(p, row, &window, share.certain, listing->listed.selected, wanted);
#else
    const tkj_selection selection = {TKJ_TOPK, 0, listing->listed.selected};
    write_row(p, row, &window, &selection, shared);
#endif
    return true;
}

/** Step 2, in the first block. */
TKJ_DEVICE void select_short(const tkj_select_params *p, tkj_i64 row, const tkj_held_row *held,
                             tkj_window *window, tkj_stream_shared *shared)
{
    tkj_selection selection = {window->length, 0, 0};
    if (window->length > TKJ_TOPK) {
        tkj_quad quads[TKJ_GROUPS];
        float x[TKJ_ITEMS];
        load_groups(held, quads);
        unpack_groups(quads, x);
        select_held(held, x, &shared->listing.held);
        selection.selected = shared->listing.held.selected;
        selection.count = TKJ_TOPK;
        *window = shared->listing.held.window;
    }
    write_row(p, row, window, &selection, shared);
}

/** All steps for one row of the batch. */
TKJ_DEVICE void select_row(const tkj_select_params *p, tkj_i64 row, tkj_gathering *gathering,
                           tkj_stream_shared *shared)
{
    tkj_listing *listing = &shared->listing;
    tkj_i32 given;
    tkj_window window = tkj_window_start(p, row, &given);
    tkj_held_row held = hold(p, row, window.start);
    held.end = held.width;
    float sample[TKJ_SAMPLED] = {};
    if (is_long(&held))
        tkj_load_sample(&held, 0, 1, sample);
    if (row == first_row())
        gather_init(&shared->gather);
    tkj_prefetch_parameters(p);
    tkj_histogram_clear(&listing->held.histogram);
    tkj_listed_clear(&listing->listed);
    clear_counts(listing);
    tkj_window_finish(p, row, given, &window);
    held.end = held.begin + (tkj_i32)window.length;
    if (tkj_thread() == 0 && (TKJ_SORTED || window.length > TKJ_TOPK))
        listing->held.window = window;
    if (is_long(&held)) {
        tkj_quad quads[TKJ_GROUPS];
        const tkj_held_row moved = round_of(&held, 0);
        load_groups(&moved, quads);
        if (held.end < held.width) /* the sample reached beyond the window */
            tkj_load_sample(&held, 0, 1, sample);
        if (!gathering->started)
            gather_start();
        gathering->started = true;
        const tkj_pivot pivot = find_pivots(&held, sample, &listing->held.histogram);
        if (pivot.on_plateau)
            gather_await();
        if (pivot.on_plateau || !select_long(p, row, &held, &pivot, quads, gathering, shared)) {
            if (tkj_retries_plateau(pivot.on_plateau, pivot.plateau)) /* counts once more */
                gathering->parity ^= 1;
            select_unusual(p, row, pivot.on_plateau, pivot.plateau, gathering->parity);
        }
        gathering->parity ^= 1;
    } else {
        if (gathering->started)
            gather_await();
        if (cluster_rank() == 0)
            select_short(p, row, &held, &window, shared);
    }
}

/** A row of padding. */
TKJ_DEVICE void pad_row(const tkj_select_params *p, tkj_i64 row, const tkj_gathering *gathering)
{
    if (gathering->started)
        gather_await();
    if (cluster_rank() == 0)
        tkj_write_padding(p, row, 0);
}

TKJ_KERNEL(tkj_select_params, p)
{
    TKJ_SHARED(tkj_stream_shared, shared);
    tkj_gathering gathering = {false, false, 0};
    tkj_wait_for_dependencies();
    tkj_release_dependents();
    for (tkj_i64 row = first_row();;) {
        if (row < p.rows)
            select_row(&p, row, &gathering, shared);
        else
            pad_row(&p, row, &gathering);
        row += rows_at_once();
        if (row >= tkj_rows_to_write(&p))
            break;
        tkj_block_barrier(); /* the next row uses the same shared memory */
        gather_next();       /* also after a row that was not gathered: it used that memory, too */
        gathering.started = true;
    }
    if (gathering.started)
        gather_end();
}
