/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "problem_reader.h"

static topk_jit_status reject_lengths_shape(const tkj_view *view, int64_t batch, int64_t next_n)
{
    char given[64];
    char expected[96];
    snprintf(given, sizeof given, "(%" PRId64 ", %" PRId64 ")", view->shape[0], view->shape[1]);
    if (next_n == 1)
        snprintf(expected, sizeof expected, "(%" PRId64 ", 1)", batch);
    else
        snprintf(expected, sizeof expected, "(%" PRId64 ", %" PRId64 ") or (%" PRId64 ", 1)", batch,
                 next_n, batch * next_n);
    return tkj_reject(view->name, "shape", given, expected);
}

static topk_jit_status reject_lengths_size(const tkj_view *view, int64_t batch, int64_t rows)
{
    char expected[96];
    snprintf(expected, sizeof expected, "one a request, %" PRId64 ", or one a row, ", batch);
    return tkj_reject_size(view->name, "size", view->shape[0], expected, rows);
}

/** lengths (batch, next_n) or (B, 1): one value a row, any strides. */
static topk_jit_status read_lengths_2d(tkj_reader *r, const tkj_view *view)
{
    int64_t batch = r->rows / r->next_n;
    bool by_batch = view->shape[0] == batch && view->shape[1] == r->next_n;
    bool by_row = view->shape[0] == r->rows && view->shape[1] == 1;
    if (!by_batch && !by_row)
        return reject_lengths_shape(view, batch, r->next_n);
    topk_jit_status status = tkj_reader_check_stride(view, 0, 0);
    if (status == TOPK_JIT_OK)
        status = tkj_reader_check_stride(view, 1, 0);
    r->params->lengths_stride_b = by_batch ? view->stride[0] : view->stride[0] * r->next_n;
    r->params->lengths_stride_j = by_batch ? view->stride[1] : view->stride[0];
    return status;
}

/** One-dimensional lengths: one a row, or with next_n > 1 also one a request. */
static topk_jit_status read_lengths_1d(tkj_reader *r, const tkj_view *view)
{
    int64_t batch = r->rows / r->next_n;
    bool by_request = r->next_n > 1 && view->shape[0] == batch;
    if (r->next_n == 1 && view->shape[0] < r->rows)
        return tkj_reject_size(view->name, "size", view->shape[0], "at least ", r->rows);
    if (r->next_n > 1 && !by_request && view->shape[0] != r->rows)
        return reject_lengths_size(view, batch, r->rows);
    r->params->lengths_stride_b = by_request ? view->stride[0] : view->stride[0] * r->next_n;
    r->params->lengths_stride_j = by_request ? 0 : view->stride[0];
    r->params->lengths_step = by_request;
    return tkj_reader_check_stride(view, 0, 0);
}

static topk_jit_status take_lengths(tkj_reader *r)
{
    static const tkj_tensor_rule rule = {"lengths", 1, 2, TKJ_INT32_ONLY};
    const tkj_view *view;
    const DLTensor *lengths = r->args->lengths;
    if (lengths == NULL)
        return TOPK_JIT_OK;
    if (r->args->row_ends != NULL)
        return tkj_reject("row_ends", NULL, "given beside lengths", "one of the two");
    topk_jit_status status = tkj_reader_take(r, &rule, lengths, &view);
    if (status != TOPK_JIT_OK)
        return status;
    r->params->lengths = view->data;
    return lengths->ndim == 2 ? read_lengths_2d(r, view) : read_lengths_1d(r, view);
}

topk_jit_status tkj_read_window(tkj_reader *r)
{
    topk_jit_status status = take_lengths(r);
    if (status == TOPK_JIT_OK)
        status = tkj_reader_take_optional(r, "row_starts", r->args->row_starts, r->rows,
                                          &r->params->row_starts);
    if (status == TOPK_JIT_OK)
        status = tkj_reader_take_optional(r, "row_ends", r->args->row_ends, r->rows,
                                          &r->params->row_ends);
    return status;
}
