/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <topk_jit/topk_jit.h>

#include "params.h"
#include "text.h"

#define CHECKS 8

static const struct {
    const char *one, *many, *fault;
} checks[CHECKS] = {
    [TKJ_CHECK_ROW_STARTS] = {"row", "rows", "with row_starts out of range"},
    [TKJ_CHECK_LENGTHS] = {"row", "rows", "with a length or row_ends out of range"},
    [TKJ_CHECK_CU_SEQLENS_Q] = {"row", "rows", "outside cu_seqlens_q"},
    [TKJ_CHECK_ROW_TO_BATCH] = {"row", "rows", "with row_to_batch out of range"},
    [TKJ_CHECK_PAGE_ENTRY] = {"slot", "slots", "outside the page table"},
    [TKJ_CHECK_UNMAPPED_PAGE] = {"slot", "slots", "in an unmapped page"},
    [TKJ_CHECK_VALUE] = {"slot", "slots", "with a value that does not fit the index dtype"},
};

size_t topk_jit_check_counts_format(const uint32_t counts[8], char *text, size_t capacity)
{
    char whole[CHECKS * 80];
    size_t length = 0;
    for (int i = 0; i < CHECKS; i++) {
        if (counts[i] == 0 || checks[i].fault == NULL)
            continue;
        length += (size_t)snprintf(
            whole + length, sizeof whole - length, "%s%" PRIu32 " %s %s", length > 0 ? ", " : "",
            counts[i], tkj_plural(counts[i], checks[i].one, checks[i].many), checks[i].fault);
    }
    return (size_t)snprintf(text, capacity, "%s", length > 0 ? whole : "no bad input");
}
