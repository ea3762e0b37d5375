/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fast_topk_general.cu
 * @brief The n-dimensional fast_topk for every legal call. One block for each line along the
 *        searched dimension.
 *
 * 1. Find where the line starts in each tensor. A short one is copied to shared memory first.
 * 2. Find the k-th largest key and collect k positions (radix.cuh); a line of k elements is taken
 *    whole. Equal keys at the k-th place: the smallest indices.
 * 3. Sort them by descending key, equal keys by ascending index (sort.cuh), in the indices output.
 * 4. Copy the values bit for bit.
 *
 * Shared memory: tkj_fast_topk_shared. Blocks share nothing and leave nothing behind.
 */
#define TKJ_UNIT_STRIDE 0

#include "lines.cuh"
#include "radix.cuh"
#include "sort.cuh"

/* Elements of a short line. */
#define STAGED (TKJ_STAGED_BYTES / sizeof(tkj_element))

/** One phase at a time. */
typedef union tkj_fast_topk_shared {
    struct {
        tkj_histogram histogram; /* step 2 */
        tkj_element line[STAGED];
    };
    tkj_sort_shared sort; /* step 3: it reads the line before it writes here */
} tkj_fast_topk_shared;

/** A line's elements, from shared memory if they fit. Ends with a barrier then. */
TKJ_DEVICE tkj_elements stage(const tkj_elements *elements, tkj_i64 size,
                              tkj_element staged[STAGED])
{
    const tkj_elements there = {staged, 1};
    if (size > (tkj_i64)STAGED)
        return *elements;
    for (tkj_i64 i = tkj_thread(); i < size; i += TKJ_THREADS)
        staged[i] = tkj_element_at(elements, i);
    tkj_block_barrier();
    return there;
}

/** Step 2: fills slots 0 .. k-1. */
TKJ_DEVICE void collect_line(const tkj_elements *elements, tkj_i64 size, const tkj_slots *slots,
                             tkj_histogram *histogram)
{
    if (size <= TKJ_TOPK) {
        for (tkj_i64 s = tkj_thread(); s < TKJ_TOPK; s += TKJ_THREADS)
            *tkj_slot(slots, s) = s;
    } else {
        tkj_threshold threshold = tkj_find_threshold(elements, size, TKJ_TOPK, histogram);
        tkj_collect(elements, size, &threshold, TKJ_TOPK, slots, &histogram->scan);
    }
    tkj_block_barrier();
}

TKJ_KERNEL(tkj_fast_topk_params, p)
{
    TKJ_SHARED(tkj_fast_topk_shared, shared);
    tkj_wait_for_dependencies();
    tkj_release_dependents();
    for (tkj_i64 row = tkj_block(); row < p.rows; row += tkj_block_count()) {
        tkj_line line = tkj_line_of(&p, row);
        tkj_elements elements = {(const tkj_element *)p.in + line.in, p.in_stride};
        tkj_slots slots = {p.indices + line.indices, p.indices_stride};
        tkj_element *values = (tkj_element *)p.values + line.values;

        const tkj_elements staged = stage(&elements, p.size, shared->line);
        collect_line(&staged, p.size, &slots, &shared->histogram);
        const tkj_selection selection = {TKJ_TOPK, 0, 0, slots};
        const tkj_selection sorted = tkj_sort(&staged, &selection, p.size, &slots, &shared->sort);
        for (tkj_i64 s = tkj_thread(); s < TKJ_TOPK; s += TKJ_THREADS) {
            tkj_i64 position = tkj_selected_at(&sorted, s);
            *tkj_slot(&slots, s) = position;
            values[s * p.values_stride] = tkj_element_at(&elements, position);
        }
        tkj_block_barrier(); /* the next line uses the same shared memory */
    }
}
