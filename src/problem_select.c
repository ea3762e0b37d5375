/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "problem.h"
#include "spec.h"
#include "tensor.h"

#define SCORE_DTYPES (1u << TOPK_JIT_FLOAT32 | 1u << TOPK_JIT_FLOAT16 | 1u << TOPK_JIT_BFLOAT16)
#define INDEX_DTYPES (1u << TOPK_JIT_INT32 | 1u << TOPK_JIT_INT64)
#define INT32_ONLY (1u << TOPK_JIT_INT32)

#define VIEWS_MAX 15

/** A call while it is being read. Views: inputs first, then outputs. */
typedef struct reader {
    const topk_jit_select_args *args;
    tkj_select_params *params;
    int64_t next_n;
    int64_t rows;  /* B */
    int64_t width; /* L */
    size_t count;
    size_t first_output;
    tkj_view views[VIEWS_MAX];
} reader;

/** Reads one more tensor and checks its device against the first one's, which is the score. */
static topk_jit_status take(reader *r, const char *name, const DLTensor *tensor, int rank_min,
                            int rank_max, unsigned dtypes, tkj_view **out)
{
    tkj_view *view = &r->views[r->count];
    topk_jit_status status = tkj_view_read(name, tensor, rank_min, rank_max, dtypes, view);
    if (status == TOPK_JIT_OK)
        status = tkj_view_check_device(&r->views[0], view);
    r->count++;
    *out = view;
    return status;
}

static topk_jit_status check_stride_from(const tkj_view *view, int dimension, int64_t least,
                                         const char *what)
{
    if (view->shape[dimension] > 1 && view->stride[dimension] < least)
        return tkj_reject_size(view->name, what, view->stride[dimension], "at least ", least);
    return TOPK_JIT_OK;
}

static topk_jit_status check_unit_stride(const tkj_view *view)
{
    if (view->shape[1] > 1 && view->stride[1] != 1)
        return tkj_reject_number(view->name, "stride(1)", view->stride[1], "1");
    return TOPK_JIT_OK;
}

/** An optional one-dimensional int32 input of at least `size` entries. */
static topk_jit_status take_vector(reader *r, const char *name, const DLTensor *tensor,
                                   int64_t size, tkj_vector *out)
{
    tkj_view *view;
    if (tensor == NULL)
        return TOPK_JIT_OK;
    topk_jit_status status = take(r, name, tensor, 1, 1, INT32_ONLY, &view);
    if (status != TOPK_JIT_OK)
        return status;
    if (view->shape[0] < size)
        return tkj_reject_size(name, "size", view->shape[0], "at least ", size);
    status = check_stride_from(view, 0, 0, "stride(0)");
    /* An empty input is given all the same: its data may be NULL, which means absent. */
    static const tkj_i32 empty = 0;
    *out = (tkj_vector){view->data != NULL ? view->data : &empty, view->stride[0]};
    return status;
}

/** Rows without columns may have any stride: engines are spared multiplying it. */
static int64_t stride_of_rows(const tkj_view *view)
{
    return view->shape[1] > 0 ? view->stride[0] : 0;
}

static topk_jit_status take_score(reader *r)
{
    tkj_view *view = &r->views[r->count++];
    topk_jit_status status = tkj_view_read("score", r->args->score, 2, 2, SCORE_DTYPES, view);
    if (status == TOPK_JIT_OK)
        status = tkj_view_check_device(view, view);
    if (status == TOPK_JIT_OK)
        status = check_unit_stride(view);
    if (status == TOPK_JIT_OK)
        status = check_stride_from(view, 0, 0, "stride(0)");
    if (status != TOPK_JIT_OK)
        return status;
    r->rows = r->params->rows = view->shape[0];
    r->width = r->params->width = view->shape[1];
    r->params->score = view->data;
    r->params->score_stride = stride_of_rows(view);
    return TOPK_JIT_OK;
}

static topk_jit_status read_numbers(reader *r)
{
    const topk_jit_select_args *args = r->args;
    if ((unsigned)args->layout > TOPK_JIT_LAYOUT_RAGGED)
        return tkj_reject_number("layout", NULL, args->layout, "a topk_jit_layout");
    if (args->topk < 1)
        return tkj_reject_number("topk", NULL, args->topk, "at least 1");
    if (args->next_n < 0)
        return tkj_reject_number("next_n", NULL, args->next_n, "at least 1, or 0 for 1");
    if (args->compress_ratio < 0)
        return tkj_reject_number("compress_ratio", NULL, args->compress_ratio,
                                 "at least 1, or 0 for 1");
    if (args->max_sms < 0)
        return tkj_reject_number("max_sms", NULL, args->max_sms, "at least 0");
    r->next_n = args->next_n > 0 ? args->next_n : 1;
    if (r->next_n > 1 && r->rows % r->next_n != 0)
        return tkj_reject_size("score", "size(0)", r->rows, "a multiple of next_n = ", r->next_n);
    r->params->next_n = r->next_n;
    r->params->compress_ratio = args->compress_ratio > 0 ? args->compress_ratio : 1;
    return TOPK_JIT_OK;
}

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
static topk_jit_status read_lengths_2d(reader *r, const tkj_view *view)
{
    int64_t batch = r->rows / r->next_n;
    bool by_batch = view->shape[0] == batch && view->shape[1] == r->next_n;
    bool by_row = view->shape[0] == r->rows && view->shape[1] == 1;
    if (!by_batch && !by_row)
        return reject_lengths_shape(view, batch, r->next_n);
    topk_jit_status status = check_stride_from(view, 0, 0, "stride(0)");
    if (status == TOPK_JIT_OK)
        status = check_stride_from(view, 1, 0, "stride(1)");
    r->params->lengths_stride_b = by_batch ? view->stride[0] : view->stride[0] * r->next_n;
    r->params->lengths_stride_j = by_batch ? view->stride[1] : view->stride[0];
    return status;
}

/** One-dimensional lengths: one a row, or with next_n > 1 also one a request. */
static topk_jit_status read_lengths_1d(reader *r, const tkj_view *view)
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
    return check_stride_from(view, 0, 0, "stride(0)");
}

static topk_jit_status take_lengths(reader *r)
{
    tkj_view *view;
    const DLTensor *lengths = r->args->lengths;
    if (lengths == NULL)
        return TOPK_JIT_OK;
    if (r->args->row_ends != NULL)
        return tkj_reject("row_ends", NULL, "given beside lengths", "one of the two");
    topk_jit_status status = take(r, "lengths", lengths, 1, 2, INT32_ONLY, &view);
    if (status != TOPK_JIT_OK)
        return status;
    r->params->lengths = view->data;
    return lengths->ndim == 2 ? read_lengths_2d(r, view) : read_lengths_1d(r, view);
}

static topk_jit_status take_window(reader *r)
{
    topk_jit_status status = take_lengths(r);
    if (status == TOPK_JIT_OK)
        status = take_vector(r, "row_starts", r->args->row_starts, r->rows, &r->params->row_starts);
    if (status == TOPK_JIT_OK)
        status = take_vector(r, "row_ends", r->args->row_ends, r->rows, &r->params->row_ends);
    return status;
}

/** Table rows that the call is certain to use. */
static int64_t table_rows_needed(const reader *r)
{
    if (r->args->row_to_batch != NULL)
        return 0;
    if (r->args->cu_seqlens_q != NULL)
        return r->params->cu_batch;
    return r->rows / r->next_n;
}

static topk_jit_status take_table_rows(reader *r)
{
    const topk_jit_select_args *args = r->args;
    if (args->cu_seqlens_q != NULL && args->row_to_batch != NULL)
        return tkj_reject("row_to_batch", NULL, "given beside cu_seqlens_q", "one of the two");
    if (args->cu_seqlens_q != NULL && r->next_n > 1)
        return tkj_reject_number("next_n", NULL, r->next_n, "1 beside cu_seqlens_q");
    topk_jit_status status =
        take_vector(r, "cu_seqlens_q", args->cu_seqlens_q, 1, &r->params->cu_seqlens_q);
    if (status == TOPK_JIT_OK && args->cu_seqlens_q != NULL)
        r->params->cu_batch = args->cu_seqlens_q->shape[0] - 1;
    if (status == TOPK_JIT_OK)
        status =
            take_vector(r, "row_to_batch", args->row_to_batch, r->rows, &r->params->row_to_batch);
    if (status == TOPK_JIT_OK)
        status = take_vector(r, "page_table_row_starts", args->page_table_row_starts, r->rows,
                             &r->params->page_table_row_starts);
    return status;
}

static topk_jit_status take_paged(reader *r)
{
    tkj_view *view;
    topk_jit_status status = take_table_rows(r);
    if (status == TOPK_JIT_OK)
        status = take(r, "page_table", r->args->page_table, 2, 2, INT32_ONLY, &view);
    if (status == TOPK_JIT_OK)
        status = check_unit_stride(view);
    if (status == TOPK_JIT_OK)
        status = check_stride_from(view, 0, 0, "stride(0)");
    if (status != TOPK_JIT_OK)
        return status;
    if (view->shape[0] < table_rows_needed(r))
        return tkj_reject_size("page_table", "size(0)", view->shape[0], "at least ",
                               table_rows_needed(r));
    r->params->page_table = view->data;
    r->params->page_table_rows = view->shape[0];
    r->params->page_table_width = view->shape[1];
    r->params->page_table_stride = stride_of_rows(view);
    return TOPK_JIT_OK;
}

/** An input that only another layout has. */
static topk_jit_status check_absent(const reader *r, const char *name, const void *given)
{
    char expected[32];
    if (given == NULL)
        return TOPK_JIT_OK;
    snprintf(expected, sizeof expected, "NULL with layout %s", tkj_layout_name(r->args->layout));
    return tkj_reject(name, NULL, "given", expected);
}

static topk_jit_status check_not_paged(const reader *r)
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

static topk_jit_status take_layout(reader *r)
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
    return take_vector(r, "topk_indices_offset", args->topk_indices_offset, r->rows,
                       &r->params->offsets);
}

static topk_jit_status take_output(reader *r, const char *name, const DLTensor *tensor,
                                   unsigned dtypes, void **data, int64_t *stride)
{
    tkj_view *view;
    topk_jit_status status = take(r, name, tensor, 2, 2, dtypes, &view);
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
    status = check_unit_stride(view);
    if (status == TOPK_JIT_OK)
        status = check_stride_from(view, 0, r->args->topk, "stride(0)");
    r->params->out_rows = view->shape[0];
    *data = view->data;
    *stride = view->stride[0];
    return status;
}

/** Memory that is no tensor: check_counts and the workspace. */
static topk_jit_status take_bytes(reader *r, const char *name, void *data, size_t size,
                                  uintptr_t alignment)
{
    if (data == NULL)
        return TOPK_JIT_OK;
    if ((uintptr_t)data % alignment != 0)
        return tkj_reject_size(name, "the address modulo its alignment",
                               (int64_t)((uintptr_t)data % alignment), "", 0);
    if (size > UINTPTR_MAX - (uintptr_t)data)
        return tkj_reject(name, "the extent in bytes", "beyond the address space",
                          "a smaller size");
    r->views[r->count++] = tkj_view_of_bytes(name, data, size, r->views[0].device);
    return TOPK_JIT_OK;
}

static topk_jit_status take_outputs(reader *r)
{
    const topk_jit_select_args *args = r->args;
    tkj_select_params *p = r->params;
    void *raw_indices = NULL;
    r->first_output = r->count;
    topk_jit_status status =
        take_output(r, "indices", args->indices, INDEX_DTYPES, &p->indices, &p->indices_stride);
    if (status == TOPK_JIT_OK && args->raw_indices != NULL)
        status = take_output(r, "raw_indices", args->raw_indices, INT32_ONLY, &raw_indices,
                             &p->raw_indices_stride);
    p->raw_indices = raw_indices;
    if (status == TOPK_JIT_OK && args->values != NULL)
        status = take_output(r, "values", args->values, 1u << r->views[0].dtype, &p->values,
                             &p->values_stride);
    if (status == TOPK_JIT_OK)
        status = take_bytes(r, "check_counts", args->check_counts, 8 * sizeof(uint32_t),
                            sizeof(uint32_t));
    if (status == TOPK_JIT_OK)
        status = take_bytes(r, "workspace", args->workspace, args->workspace_size, 256);
    p->check_counts = args->check_counts;
    p->workspace = args->workspace;
    return status;
}

/** Positions go up to L - 1. */
static topk_jit_status check_index_range(const reader *r)
{
    bool narrow = r->views[r->first_output].dtype == TOPK_JIT_INT32 || r->args->raw_indices;
    if (narrow && r->width - 1 > INT32_MAX)
        return tkj_reject_size("score", "size(1)", r->width, "with int32 indices at most ",
                               (int64_t)INT32_MAX + 1);
    return TOPK_JIT_OK;
}

static topk_jit_status check_overlaps(const reader *r)
{
    for (size_t out = r->first_output; out < r->count; out++)
        for (size_t other = 0; other < out; other++) {
            topk_jit_status status = tkj_view_check_overlap(&r->views[out], &r->views[other]);
            if (status != TOPK_JIT_OK)
                return status;
        }
    return TOPK_JIT_OK;
}

/** True if the score rows start at multiples of 16 bytes. */
static bool rows_aligned(const reader *r)
{
    const tkj_view *score = &r->views[0];
    return (uintptr_t)score->data % 16 == 0 && r->params->score_stride * score->element % 16 == 0;
}

/** The stride of lengths that are the windows' own, one for each row; else 0. */
static int32_t stride_of_lengths(const tkj_select_params *params)
{
    bool own = params->lengths != NULL && params->next_n == 1 && params->compress_ratio == 1 &&
               params->rows == params->out_rows;
    if (own && params->rows == 1) /* of one row it may be anything */
        return 1;
    return own && params->lengths_stride_b < INT32_MAX ? (int32_t)params->lengths_stride_b : 0;
}

/** True if row i has table row i, with an entry for each of its positions. */
static bool has_simple_table(const reader *r)
{
    const tkj_select_params *params = r->params;
    int64_t positions; /* that a row of the table has; a product too large is enough for any */
    bool enough =
        __builtin_mul_overflow(params->page_table_width, r->args->page_size, &positions) ||
        r->width <= positions;
    return enough && params->page_table != NULL && params->next_n == 1 &&
           params->row_to_batch.data == NULL && params->cu_seqlens_q.data == NULL &&
           params->page_table_row_starts.data == NULL;
}

/** Fills simple_stride and simple. */
static void set_simple(const reader *r)
{
    const int32_t stride = stride_of_lengths(r->params);
    const bool started = r->params->row_starts.data != NULL;
    r->params->simple_stride = started ? 0 : stride;
    r->params->simple = (started ? (uint32_t)stride * TKJ_STARTED : 0) |
                        (has_simple_table(r) ? TKJ_SIMPLE_TABLE : 0);
}

/** Bytes of workspace; none for padding alone, which is one launch. */
static size_t usable_workspace(const reader *r)
{
    return r->args->workspace != NULL && r->rows > 0 ? r->args->workspace_size : 0;
}

static topk_jit_spec spec_of(const reader *r)
{
    const topk_jit_select_args *args = r->args;
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.layout = args->layout;
    spec.topk = args->topk;
    spec.dtype = r->views[0].dtype;
    spec.index_dtype = r->views[r->first_output].dtype;
    spec.page_size = args->page_size;
    spec.tie_break = args->tie_break;
    spec.sorted = args->sorted;
    spec.deterministic = args->deterministic;
    spec.nan_last = args->nan_last;
    spec.check = args->check_counts != NULL;
    return spec;
}

topk_jit_status tkj_problem_select(const topk_jit_select_args *args, tkj_select_problem *out)
{
    topk_jit_status (*const steps[])(reader *) = {take_score, read_numbers, take_window,
                                                  take_layout, take_outputs};
    reader r;
    r.args = args;
    r.params = &out->params;
    r.count = 0;
    memset(&out->params, 0, sizeof out->params);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        topk_jit_status status = steps[i](&r);
        if (status != TOPK_JIT_OK)
            return status;
    }
    topk_jit_status status = check_index_range(&r);
    if (status == TOPK_JIT_OK)
        status = check_overlaps(&r);
    if (status != TOPK_JIT_OK)
        return status;

    topk_jit_spec spec = spec_of(&r);
    status = tkj_spec_validate(&spec);
    if (status != TOPK_JIT_OK)
        return status;
    out->spec = tkj_spec_canonical(&spec);
    out->device = r.views[0].device;
    out->pdl = args->pdl != 0;
    set_simple(&r);
    out->shape = (tkj_call_shape){
        .rows = r.params->out_rows,
        .width = r.width,
        .max_sms = args->max_sms,
        .aligned = rows_aligned(&r),
        .workspace_size = usable_workspace(&r),
    };
    return TOPK_JIT_OK;
}
