/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "problem_reader.h"
#include "spec.h"

/** Table rows that the call is certain to use. */
static int64_t table_rows_needed(const tkj_reader *r)
{
    if (r->args->row_to_batch != NULL)
        return 0;
    if (r->args->cu_seqlens_q != NULL)
        return r->params->cu_batch;
    return r->rows / r->next_n;
}

static topk_jit_status take_table_rows(tkj_reader *r)
{
    const topk_jit_select_args *args = r->args;
    if (args->cu_seqlens_q != NULL && args->row_to_batch != NULL)
        return tkj_reject("row_to_batch", NULL, "given beside cu_seqlens_q", "one of the two");
    if (args->cu_seqlens_q != NULL && r->next_n > 1)
        return tkj_reject_number("next_n", NULL, r->next_n, "1 beside cu_seqlens_q");
    topk_jit_status status = tkj_reader_take_optional(r, "cu_seqlens_q", args->cu_seqlens_q, 1,
                                                      &r->params->cu_seqlens_q);
    if (status == TOPK_JIT_OK && args->cu_seqlens_q != NULL)
        r->params->cu_batch = args->cu_seqlens_q->shape[0] - 1;
    if (status == TOPK_JIT_OK)
        status = tkj_reader_take_optional(r, "row_to_batch", args->row_to_batch, r->rows,
                                          &r->params->row_to_batch);
    if (status == TOPK_JIT_OK)
        status = tkj_reader_take_optional(r, "page_table_row_starts", args->page_table_row_starts,
                                          r->rows, &r->params->page_table_row_starts);
    return status;
}

static topk_jit_status take_paged(tkj_reader *r)
{
    static const tkj_tensor_rule rule = {"page_table", 2, 2, TKJ_INT32_ONLY};
    const tkj_view *view;
    topk_jit_status status = take_table_rows(r);
    if (status == TOPK_JIT_OK)
        status = tkj_reader_take(r, &rule, r->args->page_table, &view);
    if (status == TOPK_JIT_OK)
        status = tkj_reader_check_rows(view, 0);
    if (status != TOPK_JIT_OK)
        return status;
    if (view->shape[0] < table_rows_needed(r))
        return tkj_reject_size("page_table", "size(0)", view->shape[0], "at least ",
                               table_rows_needed(r));
    r->params->page_table = view->data;
    r->params->page_table_rows = view->shape[0];
    r->params->page_table_width = view->shape[1];
    r->params->page_table_stride = tkj_reader_stride_of_rows(view);
    return TOPK_JIT_OK;
}

/** An input that only another layout has. */
static topk_jit_status check_absent(const tkj_reader *r, const char *name, const void *given)
{
    char expected[32];
    if (given == NULL)
        return TOPK_JIT_OK;
    snprintf(expected, sizeof expected, "NULL with layout %s", tkj_layout_name(r->args->layout));
    return tkj_reject(name, NULL, "given", expected);
}

static topk_jit_status check_not_paged(const tkj_reader *r)
{
    const topk_jit_select_args *args = r->args;
    topk_jit_status status = check_absent(r, "page_table", args->page_table);
    if (status == TOPK_JIT_OK)
        status = check_absent(r, "page_table_row_starts", args->page_table_row_starts);
    if (status == TOPK_JIT_OK)
        status = check_absent(r, "cu_seqlens_q", args->cu_seqlens_q);
    if (status == TOPK_JIT_OK)
        status = check_absent(r, "row_to_batch", args->row_to_batch);
    return status;
}

topk_jit_status tkj_read_layout(tkj_reader *r)
{
    const topk_jit_select_args *args = r->args;
    topk_jit_status status = TOPK_JIT_OK;
    if (args->layout != TOPK_JIT_LAYOUT_PAGED)
        status = check_not_paged(r);
    if (status == TOPK_JIT_OK && args->layout != TOPK_JIT_LAYOUT_RAGGED)
        status = check_absent(r, "topk_indices_offset", args->topk_indices_offset);
    if (status != TOPK_JIT_OK)
        return status;
    if (args->layout == TOPK_JIT_LAYOUT_PAGED)
        return take_paged(r);
    if (args->layout != TOPK_JIT_LAYOUT_RAGGED)
        return TOPK_JIT_OK;
    if (args->topk_indices_offset == NULL)
        return tkj_reject("topk_indices_offset", NULL, "NULL", "a tensor with layout ragged");
    return tkj_reader_take_optional(r, "topk_indices_offset", args->topk_indices_offset, r->rows,
                                    &r->params->offsets);
}
