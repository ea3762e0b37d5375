/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file select_registers.cu
 * @brief The selection for rows that fit the registers of one block. One block a row.
 *
 * 1. Load the row, and of a page table that is simple (params.h) what belongs to it; the length
 *    arrives meanwhile. A window of at most k scores is written whole.
 * 2. Select (held_row.cuh).
 * 3. If the spec is sorted, sort. Write every output (write_selected.cuh).
 *
 * Synchronisation: block barriers only. Blocks share nothing and leave nothing behind.
 */
#define TKJ_UNIT_STRIDE 1
#define TKJ_SLOTS_APART (!TKJ_SORTED) /* a sort leaves no registers for a call */

#include "held_row.cuh"
#include "write_selected.cuh"

/* Entries of the page table that a thread loads, of those that shared memory has room for. */
#define PAGES_EACH (TKJ_STAGED_PAGES / TKJ_THREADS)

/** Shared memory. */
typedef struct tkj_registers_shared {
    union {                   /* one phase at a time */
        tkj_held_shared held; /* step 2 */
        tkj_sort_shared sort; /* step 3 */
    };
#if TKJ_STAGED_PAGES
    tkj_i32 pages[TKJ_STAGED_PAGES]; /* of a simple table, for all positions of a row */
#endif
} tkj_registers_shared;

#if TKJ_STAGED_PAGES
/** This thread's entries of a simple page table. */
TKJ_DEVICE void load_pages(const tkj_select_params *p, tkj_i64 row, tkj_i32 pages[PAGES_EACH])
{
    const tkj_i32 *table = p->page_table + row * p->page_table_stride;
    TKJ_UNROLL
    for (tkj_u32 i = 0; i < PAGES_EACH; i++) {
        tkj_u32 entry = i * TKJ_THREADS + tkj_thread();
        bool exists = (tkj_i64)entry << TKJ_PAGE_SHIFT < p->width;
        pages[i] = tkj_load_if(exists && (p->simple & TKJ_SIMPLE_TABLE), table + entry, -1);
    }
}

/** Stores them for all threads, of which those that select have them after the next barrier. */
TKJ_DEVICE void share_pages(const tkj_select_params *p, const tkj_i32 pages[PAGES_EACH],
                            tkj_window *window, tkj_registers_shared *shared)
{
    TKJ_UNROLL
    for (tkj_u32 i = 0; i < PAGES_EACH; i++)
        shared->pages[i * TKJ_THREADS + tkj_thread()] = pages[i];
    if ((p->simple & TKJ_SIMPLE_TABLE) && window->length > TKJ_TOPK)
        window->pages = shared->pages;
}
#endif

/** All steps for one row of the batch. */
TKJ_DEVICE void select_row(const tkj_select_params *p, tkj_i64 row, tkj_registers_shared *shared)
{
    tkj_quad quads[TKJ_GROUPS];
    float x[TKJ_ITEMS];
    tkj_i32 given;
    tkj_window window = tkj_window_start(p, row, &given);
    tkj_held_row held = hold(p, row, window.start);
    load_groups(&held, quads);
#if TKJ_STAGED_PAGES
    tkj_i32 pages[PAGES_EACH];
    load_pages(p, row, pages);
#endif
    unpack_groups(quads, x);
    tkj_prefetch_parameters(p);
    tkj_window_finish(p, row, given, &window);
#if TKJ_STAGED_PAGES
    share_pages(p, pages, &window, shared);
#endif
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
