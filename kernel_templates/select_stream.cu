/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file select_stream.cu
 * @brief The selection for rows longer than a block holds, one block a row: a pivot from a sample
 *        leaves few scores, of which listed_row.cuh takes the k largest.
 *
 * 1. A window that the block holds is selected at once (held_row.cuh).
 * 2. A pivot is found in a sample that is evenly spread over the row (sampled_pivot.cuh).
 * 3. The row is read once, and what is not below the pivot is listed. Where the sample shows that
 *    too many would pass, a plateau of equal scores lies across the k-th place: see plateau.cuh for
 *    steps 3 and 4 then.
 * 4. If at least k scores passed and the list held them, the k largest are selected from them
 *    (listed_row.cuh). Otherwise the row is taken digit by digit (radix.cuh): slower, but rare and
 *    exact.
 *
 * Exact: every score that is not below the pivot is listed, whatever the sample was; if they are at
 * least k, the k largest are among them. Deterministic with TKJ_ORDERED: the selection does not
 * depend on the order of the list.
 *
 * Synchronisation: block barriers only. Shared memory: tkj_stream_shared.
 */
#define TKJ_UNIT_STRIDE 1
#define TKJ_COLLECTED 4 /* the way out is to cost no registers */

#include "filtered_row.cuh"

TKJ_DEVICE bool select_long(const tkj_select_params *p, tkj_i64 row, const tkj_held_row *held,
                            tkj_stream_shared *shared)
{
    return select_filtered(p, row, held, shared);
}

TKJ_KERNEL(tkj_select_params, p)
{
    TKJ_SHARED(tkj_stream_shared, shared);
    tkj_wait_for_dependencies();
    tkj_release_dependents();
    select_rows(&p, shared);
}
