/* SPDX-License-Identifier: Apache-2.0 */
#include "problem.h"
#include "problem_reader.h"
#include "spec.h"

/** True if the score rows start at multiples of 16 bytes. */
static bool rows_aligned(const tkj_reader *r)
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
static bool has_simple_table(const tkj_reader *r)
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
static void set_simple(const tkj_reader *r)
{
    const int32_t stride = stride_of_lengths(r->params);
    const bool started = r->params->row_starts.data != NULL;
    r->params->simple_stride = started ? 0 : stride;
    r->params->simple = (started ? (uint32_t)stride * TKJ_STARTED : 0) |
                        (has_simple_table(r) ? TKJ_SIMPLE_TABLE : 0);
}

/** Bytes of workspace; none for padding alone, which is one launch. */
static size_t usable_workspace(const tkj_reader *r)
{
    return r->args->workspace != NULL && r->rows > 0 ? r->args->workspace_size : 0;
}

/** Fills and checks the spec where it stays: a copy of what was just written would wait for it. */
static topk_jit_status read_spec(const tkj_reader *r, topk_jit_spec *out)
{
    const topk_jit_select_args *args = r->args;
    out->operation = TOPK_JIT_OPERATION_SELECT;
    out->layout = args->layout;
    out->topk = args->topk;
    out->dtype = r->views[0].dtype;
    out->index_dtype = r->views[r->first_output].dtype;
    out->page_size = args->page_size;
    out->tie_break = args->tie_break;
    out->sorted = args->sorted;
    out->deterministic = args->deterministic;
    out->nan_last = args->nan_last;
    out->check = args->check_counts != NULL;
    tkj_spec_make_canonical(out);
    return tkj_spec_validate(out);
}

static topk_jit_status read_all(tkj_reader *r)
{
    topk_jit_status status = tkj_read_score(r);
    if (status == TOPK_JIT_OK)
        status = tkj_read_numbers(r);
    if (status == TOPK_JIT_OK)
        status = tkj_read_window(r);
    if (status == TOPK_JIT_OK)
        status = tkj_read_layout(r);
    return status != TOPK_JIT_OK ? status : tkj_read_outputs(r);
}

topk_jit_status tkj_problem_select(const topk_jit_select_args *args, tkj_select_problem *out)
{
    tkj_reader r;
    r.args = args;
    r.params = &out->params;
    r.count = 0;
    tkj_select_params_clear(&out->params);
    topk_jit_status status = read_all(&r);
    if (status == TOPK_JIT_OK)
        status = read_spec(&r, &out->spec);
    if (status != TOPK_JIT_OK)
        return status;
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
