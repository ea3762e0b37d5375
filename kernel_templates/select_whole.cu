/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file select_whole.cu
 * @brief The selection among at most k columns: every position of the window. One block a row.
 *
 * 1. Find the window of the row.
 * 2. Write every output (write_selected.cuh).
 *
 * Exact, because no window has more than k scores. No shared memory, no synchronisation.
 */
#define TKJ_UNIT_STRIDE 1

#include "write_selected.cuh"

TKJ_KERNEL(tkj_select_params, p)
{
    tkj_wait_for_dependencies();
    tkj_release_dependents();
    for (tkj_i64 row = tkj_block(); row < tkj_rows_to_write(&p); row += tkj_block_count()) {
        if (row < p.rows) {
            tkj_i32 given;
            tkj_window window = tkj_window_start(&p, row, &given);
            tkj_prefetch_parameters(&p);
            tkj_window_finish(&p, row, given, &window);
            const tkj_selection selection = {window.length, 0, 0};
            tkj_write_selection(&p, row, &window, &selection, 0);
        } else {
            tkj_write_padding(&p, row, 0);
        }
    }
}
