/* SPDX-License-Identifier: Apache-2.0 */
#include "problem_reader.h"

#define SCORE_DTYPES (1u << TOPK_JIT_FLOAT32 | 1u << TOPK_JIT_FLOAT16 | 1u << TOPK_JIT_BFLOAT16)

topk_jit_status tkj_read_score(tkj_reader *r)
{
    static const tkj_tensor_rule rule = {"score", 2, 2, SCORE_DTYPES};
    const tkj_view *view;
    topk_jit_status status = tkj_reader_take(r, &rule, r->args->score, &view);
    if (status == TOPK_JIT_OK)
        status = tkj_reader_check_rows(view, 0);
    if (status != TOPK_JIT_OK)
        return status;
    r->rows = r->params->rows = view->shape[0];
    r->width = r->params->width = view->shape[1];
    r->params->score = view->data;
    r->params->score_stride = tkj_reader_stride_of_rows(view);
    return TOPK_JIT_OK;
}

topk_jit_status tkj_read_numbers(tkj_reader *r)
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
