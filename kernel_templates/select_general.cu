/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file select_general.cu
 * @brief The selection for every legal call: any k, any length, any architecture. One block a row.
 *
 * 1. Find the window of the row.
 * 2. A window of at most k scores is selected whole: its positions go to the output slots in order.
 * 3. Otherwise find the k-th largest key digit by digit (radix.cuh), then collect the positions
 *    above it and as many that equal it as are wanted, in ascending position.
 * 4. If the spec is sorted, sort the slots (sort.cuh).
 * 5. Replace each position by what the layout writes, fill raw_indices and values, pad with -1.
 *
 * Exact, because the threshold is found by counting all keys of the window, and the collection
 * takes k of them whatever the number of equals. Always deterministic: the slots follow from counts
 * and prefix sums, not from the order in which threads run.
 *
 * Shared memory: tkj_general_shared. Blocks share nothing and leave nothing behind. The output
 * slots hold positions between steps 2 and 5; positions fit, since L - 1 fits the index dtype.
 */
#define TKJ_UNIT_STRIDE 1

#include "emit.cuh"
#include "radix.cuh"
#include "sort.cuh"
#include "window.cuh"

/** One phase at a time. */
typedef union tkj_general_shared {
    tkj_histogram histogram; /* step 3 */
    tkj_sort_shared sort;    /* step 4 */
} tkj_general_shared;

/** Steps 2 and 3: fills slots 0 .. k-1 with the selected positions. */
TKJ_DEVICE void select_positions(const tkj_elements *elements, tkj_i64 length, tkj_i64 k,
                                 const tkj_slots *slots, tkj_histogram *histogram)
{
    if (k == length) {
        for (tkj_i64 s = tkj_thread(); s < k; s += TKJ_THREADS)
            *tkj_slot(slots, s) = (tkj_index)s;
        tkj_block_barrier();
        return;
    }
    tkj_threshold threshold = tkj_find_threshold(elements, length, (tkj_count)k, histogram);
    tkj_collect(elements, length, &threshold, (tkj_count)k, slots, &histogram->scan);
    tkj_block_barrier();
}

/** All steps for one row of the batch. */
TKJ_DEVICE void select_row(const tkj_select_params *p, tkj_i64 row, tkj_general_shared *shared)
{
    tkj_window window = tkj_window_of(p, row);
    tkj_elements elements = {(const tkj_element *)p->score + row * p->score_stride + window.start,
                             1};
    tkj_slots slots = {(tkj_index *)p->indices + row * p->indices_stride, 1};
    tkj_i64 k = window.length < TKJ_TOPK ? window.length : TKJ_TOPK;

    select_positions(&elements, window.length, k, &slots, &shared->histogram);
#if TKJ_SORTED
    tkj_sort(&elements, &slots, k, &shared->sort);
#endif
    for (tkj_i64 s = tkj_thread(); s < k; s += TKJ_THREADS)
        tkj_emit(p, row, &window, &elements, s, *tkj_slot(&slots, s));
    for (tkj_i64 s = k + tkj_thread(); s < TKJ_TOPK; s += TKJ_THREADS)
        tkj_emit_padding(p, row, s);
}

TKJ_KERNEL(tkj_select_params, p)
{
    TKJ_SHARED(tkj_general_shared, shared);
    tkj_wait_for_dependencies();
    tkj_release_dependents();
    for (tkj_i64 row = tkj_block(); row < p.out_rows; row += tkj_block_count()) {
        if (row < p.rows) {
            select_row(&p, row, shared);
            continue;
        }
        for (tkj_i64 s = tkj_thread(); s < TKJ_TOPK; s += TKJ_THREADS)
            tkj_emit_padding(&p, row, s);
    }
}
