/* SPDX-License-Identifier: Apache-2.0 */
#include "problem_reader.h"

#define INDEX_DTYPES (1u << TOPK_JIT_INT32 | 1u << TOPK_JIT_INT64)

static topk_jit_status take_output(tkj_reader *r, const char *name, const DLTensor *tensor,
                                   unsigned dtypes, void **data, int64_t *stride)
{
    const tkj_tensor_rule rule = {name, 2, 2, dtypes};
    const tkj_view *view;
    topk_jit_status status = tkj_reader_take(r, &rule, tensor, &view);
    if (status != TOPK_JIT_OK)
        return status;
    bool first = r->count - 1 == r->first_output;
    if (first && view->shape[0] < r->rows)
        return tkj_reject_size(name, "size(0)", view->shape[0], "at least ", r->rows);
    if (!first && view->shape[0] != r->params->out_rows)
        return tkj_reject_size(name, "size(0)", view->shape[0], "that of indices, ",
                               r->params->out_rows);
    if (view->shape[1] != r->args->topk)
        return tkj_reject_size(name, "size(1)", view->shape[1], "topk = ", r->args->topk);
    r->params->out_rows = view->shape[0];
    *data = view->data;
    *stride = view->stride[0];
    return tkj_reader_check_rows(view, r->args->topk);
}

/** Memory that is no tensor: check_counts and the workspace. */
static topk_jit_status take_bytes(tkj_reader *r, const char *name, void *data, size_t size,
                                  uintptr_t alignment)
{
    if ((uintptr_t)data % alignment != 0)
        return tkj_reject_size(name, "the address modulo its alignment",
                               (int64_t)((uintptr_t)data % alignment), "", 0);
    if (size > UINTPTR_MAX - (uintptr_t)data)
        return tkj_reject(name, "the extent in bytes", "beyond the address space",
                          "a smaller size");
    r->views[r->count++] = tkj_view_of_bytes(name, data, size, r->views[0].device);
    return TOPK_JIT_OK;
}

static topk_jit_status take_outputs(tkj_reader *r)
{
    const topk_jit_select_args *args = r->args;
    tkj_select_params *p = r->params;
    void *raw_indices = NULL;
    r->first_output = r->count;
    topk_jit_status status =
        take_output(r, "indices", args->indices, INDEX_DTYPES, &p->indices, &p->indices_stride);
    if (status == TOPK_JIT_OK && args->raw_indices != NULL)
        status = take_output(r, "raw_indices", args->raw_indices, TKJ_INT32_ONLY, &raw_indices,
                             &p->raw_indices_stride);
    p->raw_indices = raw_indices;
    if (status == TOPK_JIT_OK && args->values != NULL)
        status = take_output(r, "values", args->values, 1u << r->views[0].dtype, &p->values,
                             &p->values_stride);
    if (status == TOPK_JIT_OK && args->check_counts != NULL)
        status = take_bytes(r, "check_counts", args->check_counts, 8 * sizeof(uint32_t),
                            sizeof(uint32_t));
    if (status == TOPK_JIT_OK && args->workspace != NULL)
        status = take_bytes(r, "workspace", args->workspace, args->workspace_size, 256);
    p->check_counts = args->check_counts;
    p->workspace = args->workspace;
    return status;
}

/** Positions go up to L - 1. */
static topk_jit_status check_index_range(const tkj_reader *r)
{
    bool narrow = r->views[r->first_output].dtype == TOPK_JIT_INT32 || r->args->raw_indices;
    if (narrow && r->width - 1 > INT32_MAX)
        return tkj_reject_size("score", "size(1)", r->width, "with int32 indices at most ",
                               (int64_t)INT32_MAX + 1);
    return TOPK_JIT_OK;
}

static topk_jit_status check_overlaps(const tkj_reader *r)
{
    for (size_t out = r->first_output; out < r->count; out++)
        for (size_t other = 0; other < out; other++) {
            topk_jit_status status = TOPK_JIT_OK;
            if (tkj_view_ranges_meet(&r->views[out], &r->views[other]))
                status = tkj_view_check_overlap(&r->views[out], &r->views[other]);
            if (status != TOPK_JIT_OK)
                return status;
        }
    return TOPK_JIT_OK;
}

topk_jit_status tkj_read_outputs(tkj_reader *r)
{
    topk_jit_status status = take_outputs(r);
    if (status == TOPK_JIT_OK)
        status = check_index_range(r);
    return status != TOPK_JIT_OK ? status : check_overlaps(r);
}
