/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ordered_key.h"
#include "problem.h"
#include "problem_reader.h"
#include "spec.h"
#include "tensor.h"

#define RANK_MAX 64
#define ALL_DTYPES                                                                                 \
    (1u << TOPK_JIT_FLOAT32 | 1u << TOPK_JIT_FLOAT16 | 1u << TOPK_JIT_BFLOAT16 |                   \
     1u << TOPK_JIT_FLOAT64 | 1u << TOPK_JIT_INT32 | 1u << TOPK_JIT_INT64)

/** Checks `dim` and makes it count from the front; 0 dimensions count as one of size 1. */
static topk_jit_status resolve_dim(const DLTensor *values, int64_t dim, int *out)
{
    int64_t rank = values->ndim > 0 ? values->ndim : 1;
    if (dim < -rank || dim >= rank)
        return tkj_reject_size("dim", NULL, dim, "below the rank and at least minus the rank, ",
                               rank);
    *out = (int)(dim < 0 ? dim + rank : dim);
    return TOPK_JIT_OK;
}

static int64_t size_of_dim(const DLTensor *tensor, int dim)
{
    return tensor->ndim > 0 ? tensor->shape[dim] : 1;
}

/** An output has the shape of the input with topk in place of the searched dimension. */
static topk_jit_status check_shape(const char *name, const DLTensor *output, const DLTensor *values,
                                   int dim, int64_t topk)
{
    if (output->ndim != values->ndim)
        return tkj_reject_size(name, "rank", output->ndim, "that of values, ", values->ndim);
    for (int d = 0; d < values->ndim; d++) {
        int64_t expected = d == dim ? topk : values->shape[d];
        if (output->shape[d] != expected)
            return tkj_reject_size(name, d == dim ? "its size along dim" : "a size off dim",
                                   output->shape[d], "", expected);
    }
    return TOPK_JIT_OK;
}

/** One dimension of a tensor, for ordering by stride. */
typedef struct step {
    int64_t size;
    int64_t stride; /* without its sign */
} step;

/** Enters a dimension behind those of smaller strides. */
static void insert(step *steps, int count, step one)
{
    for (; count > 0 && steps[count - 1].stride > one.stride; count--)
        steps[count] = steps[count - 1];
    steps[count] = one;
}

/** True if no two elements share a place: every stride goes beyond all smaller dimensions. */
static bool is_injective(const DLTensor *tensor)
{
    step steps[RANK_MAX];
    int count = 0;
    for (int d = tensor->ndim - 1; d >= 0; d--) /* the smallest first, as a rule */
        if (tensor->shape[d] > 1)
            insert(steps, count++, (step){tensor->shape[d], llabs(tkj_tensor_stride(tensor, d))});
    int64_t reach = 0; /* offset of the last element of the smaller dimensions */
    for (int i = 0; i < count; i++) {
        if (steps[i].stride <= reach)
            return false;
        reach += (steps[i].size - 1) * steps[i].stride;
    }
    return true;
}

static topk_jit_status read_output(const char *name, const DLTensor *output, const DLTensor *values,
                                   int dim, int64_t topk, unsigned dtypes, const tkj_view *input,
                                   tkj_view *view)
{
    const tkj_tensor_rule rule = {name, 0, RANK_MAX, dtypes};
    topk_jit_status status = tkj_view_read(&rule, output, input, view);
    if (status == TOPK_JIT_OK)
        status = check_shape(name, output, values, dim, topk);
    if (status == TOPK_JIT_OK && view->end > view->begin && !is_injective(output))
        status =
            tkj_reject(name, "strides", "putting two elements in one place", "a place for each");
    if (status == TOPK_JIT_OK)
        status = tkj_view_check_overlap(view, input);
    return status;
}

/** True if dimension `inner` continues `outer` in every tensor, so that both are one. */
static bool continues(const tkj_outer_dim *outer, const tkj_outer_dim *inner)
{
    return outer->in_stride == inner->in_stride * inner->size &&
           outer->values_stride == inner->values_stride * inner->size &&
           outer->indices_stride == inner->indices_stride * inner->size;
}

static bool is_empty(const DLTensor *tensor)
{
    for (int d = 0; d < tensor->ndim; d++)
        if (tensor->shape[d] == 0)
            return true;
    return false;
}

/** The dimensions off `dim`, fewest that walk the same lines. */
static void fill_outer(const DLTensor *values, const DLTensor *out_values,
                       const DLTensor *out_indices, int dim, tkj_fast_topk_params *p)
{
    p->rows = is_empty(values) ? 0 : 1;
    p->outer_dims = 0;
    if (p->rows == 0)
        return; /* the sizes may be too large to multiply */
    for (int d = 0; d < values->ndim; d++) {
        if (d == dim || values->shape[d] == 1)
            continue;
        tkj_outer_dim inner = {values->shape[d], tkj_tensor_stride(values, d),
                               tkj_tensor_stride(out_values, d), tkj_tensor_stride(out_indices, d)};
        p->rows *= inner.size;
        tkj_outer_dim *last = p->outer_dims > 0 ? &p->outer[p->outer_dims - 1] : NULL;
        if (last != NULL && continues(last, &inner)) {
            inner.size *= last->size;
            *last = inner;
        } else {
            p->outer[p->outer_dims++] = inner;
        }
    }
}

static int64_t stride_along(const DLTensor *tensor, int dim)
{
    return tensor->ndim > 0 ? tkj_tensor_stride(tensor, dim) : 0;
}

/** True if elements of a line are neighbours in every tensor, and lines are equally far apart. */
static bool are_rows(const tkj_fast_topk_params *p)
{
    return p->in_stride == 1 && p->values_stride == 1 && p->indices_stride == 1 &&
           p->outer_dims <= 1;
}

/** The call as a selection of whole rows. */
static void fill_selection(const tkj_fast_topk_params *p, tkj_select_params *out)
{
    const bool many = p->outer_dims > 0;
    tkj_select_params_clear(out);
    out->score = p->in;
    out->score_stride = many ? p->outer[0].in_stride : 0;
    out->width = p->size;
    out->rows = p->rows;
    out->out_rows = p->rows;
    out->indices = p->indices;
    out->indices_stride = many ? p->outer[0].indices_stride : 0;
    out->values = p->values;
    out->values_stride = many ? p->outer[0].values_stride : 0;
    out->next_n = 1;
    out->compress_ratio = 1;
}

/** What decides the kernel. */
static tkj_call_shape shape_of(const tkj_fast_topk_params *p, topk_jit_dtype dtype)
{
    const int64_t between = p->outer_dims > 0 ? p->outer[p->outer_dims - 1].in_stride : 0;
    const uintptr_t pitch = (uintptr_t)between * tkj_dtype_size(dtype);
    return (tkj_call_shape){
        .rows = p->rows,
        .width = p->size,
        .aligned = (uintptr_t)p->in % 16 == 0 && pitch % 16 == 0,
        .lines_only = !are_rows(p),
        .across = p->outer_dims > 0 && llabs(between) < llabs(p->in_stride),
    };
}

topk_jit_status tkj_problem_fast_topk(const DLTensor *values, int64_t topk, int64_t dim,
                                      const DLTensor *out_values, const DLTensor *out_indices,
                                      tkj_fast_topk_problem *out)
{
    static const tkj_tensor_rule rule = {"values", 0, RANK_MAX, ALL_DTYPES};
    tkj_view in, view_values, view_indices;
    int searched = 0;
    topk_jit_status status = tkj_view_read(&rule, values, NULL, &in);
    if (status == TOPK_JIT_OK)
        status = resolve_dim(values, dim, &searched);
    if (status != TOPK_JIT_OK)
        return status;
    int64_t size = size_of_dim(values, searched);
    if (topk < 1 || topk > size)
        return tkj_reject_size("topk", NULL, topk, "from 1 to the size of dim, ", size);
    status = read_output("out_values", out_values, values, searched, topk, 1u << in.dtype, &in,
                         &view_values);
    if (status == TOPK_JIT_OK)
        status = read_output("out_indices", out_indices, values, searched, topk,
                             1u << TOPK_JIT_INT64, &in, &view_indices);
    if (status == TOPK_JIT_OK)
        status = tkj_view_check_overlap(&view_indices, &view_values);
    if (status != TOPK_JIT_OK)
        return status;

    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.operation = TOPK_JIT_OPERATION_FAST_TOPK;
    spec.topk = topk;
    spec.dtype = in.dtype;
    spec.index_dtype = TOPK_JIT_INT64;
    out->spec = tkj_spec_canonical(&spec);
    out->device = in.device;
    tkj_fast_topk_params *p = &out->params;
    memset(p, 0, offsetof(tkj_fast_topk_params, outer));
    p->in = in.data;
    p->values = view_values.data;
    p->indices = view_indices.data;
    p->size = size;
    p->in_stride = stride_along(values, searched);
    p->values_stride = stride_along(out_values, searched);
    p->indices_stride = stride_along(out_indices, searched);
    fill_outer(values, out_values, out_indices, searched, p);
    out->shape = shape_of(p, in.dtype);
    fill_selection(p, &out->selection);
    return TOPK_JIT_OK;
}
