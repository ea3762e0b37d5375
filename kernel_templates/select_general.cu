/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file select_general.cu
 * @brief The selection for every legal call: any k, any length, any architecture. One block a row.
 *
 * 1. Find the window of the row.
 * 2. A window of at most k scores is selected whole.
 * 3. Otherwise find the k-th largest key digit by digit (radix.cuh), then collect the positions
 *    above it and as many that equal it as are wanted, in ascending position.
 * 4. If the spec is sorted, sort (sort.cuh).
 * 5. Write every output (write_selected.cuh).
 *
 * Exact, because the threshold is found by counting all keys of the window, and the collection
 * takes k of them whatever the number of equals. Always deterministic: the slots follow from counts
 * and prefix sums, not from the order in which threads run.
 *
 * Shared memory: tkj_general_shared. Blocks share nothing and leave nothing behind. The output
 * slots hold positions between steps 3 and 5; positions fit, since L - 1 fits the index dtype.
 */
#define TKJ_UNIT_STRIDE 1

#include "radix.cuh"
#include "write_selected.cuh"

/** One phase at a time. */
typedef union tkj_general_shared {
    tkj_histogram histogram; /* step 3 */
    tkj_sort_shared sort;    /* step 4 */
} tkj_general_shared;

/** All steps for one row of the batch. */
TKJ_DEVICE void select_row(const tkj_select_params *p, tkj_i64 row, tkj_general_shared *shared)
{
    tkj_window window = tkj_window_of(p, row);
    tkj_elements elements = {(const tkj_element *)p->score + row * p->score_stride + window.start,
                             1};
    tkj_selection selection = {window.length, 0, 0};
    if (window.length > TKJ_TOPK) {
        tkj_slots slots = {(tkj_index *)p->indices + row * p->indices_stride, 1};
        tkj_threshold threshold =
            tkj_find_threshold(&elements, window.length, TKJ_TOPK, &shared->histogram);
        tkj_collect(&elements, window.length, &threshold, TKJ_TOPK, &slots,
                    &shared->histogram.scan);
        tkj_block_barrier();
        selection.count = TKJ_TOPK;
        selection.slots = slots;
    }
    tkj_write_selection(p, row, &window, &selection, &shared->sort);
}

TKJ_KERNEL(tkj_select_params, p)
{
    TKJ_SHARED(tkj_general_shared, shared);
    tkj_wait_for_dependencies();
    tkj_release_dependents();
    for (tkj_i64 row = tkj_block(); row < p.out_rows; row += tkj_block_count()) {
        if (row < p.rows)
            select_row(&p, row, shared);
        else
            tkj_write_padding(&p, row, 0);
        tkj_block_barrier(); /* the next row uses the same shared memory */
    }
}
