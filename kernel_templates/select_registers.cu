/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file select_registers.cu
 * @brief The selection for rows that fit the registers of one block. One block a row.
 *
 * 1. Load the row; the length arrives meanwhile. A window of at most k scores is written whole.
 * 2. Select (held_row.cuh).
 * 3. If the spec is sorted, sort. Write every output (write_selected.cuh).
 *
 * Synchronisation: block barriers only. Blocks share nothing and leave nothing behind.
 */
#define TKJ_UNIT_STRIDE 1

#include "held_row.cuh"
#include "write_selected.cuh"

/** Shared memory: one phase at a time. */
typedef union tkj_registers_shared {
    tkj_held_shared held; /* step 2 */
    tkj_sort_shared sort; /* step 3 */
} tkj_registers_shared;

/** All steps for one row of the batch. */
TKJ_DEVICE void select_row(const tkj_select_params *p, tkj_i64 row, tkj_registers_shared *shared)
{
    tkj_quad quads[TKJ_GROUPS];
    float x[TKJ_ITEMS];
    tkj_i32 given;
    tkj_window window = tkj_window_start(p, row, &given);
    tkj_held_row held = hold(p, row, window.start);
    load_groups(&held, quads);
    unpack_groups(quads, x);
    tkj_prefetch_parameters(p);
    tkj_window_finish(p, row, given, &window);
    held.end = held.begin + (tkj_i32)window.length;
    tkj_selection selection = {window.length, 0, 0};
    if (window.length > TKJ_TOPK) {
        if (tkj_thread() == 0)
            shared->held.window = window;
        select_held(&held, x, &shared->held);
        window = shared->held.window;
        selection.count = TKJ_TOPK;
        selection.selected = shared->held.selected;
    }
    tkj_write_selection(p, row, &window, &selection, &shared->sort);
}

TKJ_KERNEL(tkj_select_params, p)
{
    TKJ_SHARED(tkj_registers_shared, shared);
    tkj_wait_for_dependencies();
    tkj_release_dependents();
    for (tkj_i64 row = tkj_block();;) {
        if (row < p.rows)
            select_row(&p, row, shared);
        else
            tkj_write_padding(&p, row, 0);
        row += tkj_block_count();
        if (row >= tkj_rows_to_write(&p))
            break;
        tkj_block_barrier(); /* the next row uses the same shared memory */
    }
}
