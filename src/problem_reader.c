/* SPDX-License-Identifier: Apache-2.0 */
#include "problem_reader.h"

topk_jit_status tkj_reader_check_stride(const tkj_view *view, int dimension, int64_t least)
{
    static const char *const names[] = {"stride(0)", "stride(1)"};
    if (view->shape[dimension] > 1 && view->stride[dimension] < least)
        return tkj_reject_size(view->name, names[dimension], view->stride[dimension], "at least ",
                               least);
    return TOPK_JIT_OK;
}

topk_jit_status tkj_reader_check_rows(const tkj_view *view, int64_t least)
{
    if (view->shape[1] > 1 && view->stride[1] != 1)
        return tkj_reject_number(view->name, "stride(1)", view->stride[1], "1");
    return tkj_reader_check_stride(view, 0, least);
}

topk_jit_status tkj_reader_take_vector(tkj_reader *r, const char *name, const DLTensor *tensor,
                                       int64_t size, tkj_vector *out)
{
    const tkj_view *view;
    const tkj_tensor_rule rule = {name, 1, 1, TKJ_INT32_ONLY};
    topk_jit_status status = tkj_reader_take(r, &rule, tensor, &view);
    if (status != TOPK_JIT_OK)
        return status;
    if (view->shape[0] < size)
        return tkj_reject_size(name, "size", view->shape[0], "at least ", size);
    /* An empty input is given all the same: its data may be NULL, which means absent. */
    static const tkj_i32 empty = 0;
    *out = (tkj_vector){view->data != NULL ? view->data : &empty, view->stride[0]};
    return tkj_reader_check_stride(view, 0, 0);
}

int64_t tkj_reader_stride_of_rows(const tkj_view *view)
{
    return view->shape[1] > 0 ? view->stride[0] : 0;
}
