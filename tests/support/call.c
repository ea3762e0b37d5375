/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"

#include <stdio.h>
#include <string.h>

#include "judge.h"
#include "ordered_key.h"
#include "problem.h"
#include "testing.h"

void tkj_call_init(tkj_call *call, const topk_jit_spec *spec)
{
    memset(call, 0, sizeof *call);
    call->spec = *spec;
    call->args = (topk_jit_select_args){
        .struct_size = sizeof call->args,
        .layout = spec->layout,
        .page_size = spec->page_size,
        .topk = spec->topk,
        .tie_break = spec->tie_break,
        .sorted = spec->sorted,
        .deterministic = spec->deterministic,
        .nan_last = spec->nan_last,
        .check_counts = spec->check ? call->check_counts : NULL,
    };
}

void tkj_call_release(tkj_call *call)
{
    for (int slot = 0; slot < TKJ_CALL_TENSORS; slot++)
        tkj_guarded_destroy(&call->tensors[slot].memory);
}

DLDataType tkj_dlpack_dtype(topk_jit_dtype dtype)
{
    static const DLDataType types[] = {{kDLFloat, 32, 1}, {kDLFloat, 16, 1}, {kDLBfloat, 16, 1},
                                       {kDLFloat, 64, 1}, {kDLInt, 32, 1},   {kDLInt, 64, 1}};
    return types[dtype];
}

void *tkj_call_add(tkj_call *call, tkj_call_slot slot, topk_jit_dtype dtype, int rank, int64_t rows,
                   int64_t columns, int64_t stride, size_t shift)
{
    tkj_call_tensor *added = &call->tensors[slot];
    int64_t stored_rows = stride == 0 && rows > 1 ? 1 : rows;
    int64_t pitch = stride < columns ? columns : stride;
    assert_true(tkj_guarded_create(&added->memory, stored_rows, columns, pitch,
                                   tkj_dtype_size(dtype), shift));
    added->shape[0] = rows;
    added->shape[1] = columns;
    added->strides[0] = stride;
    added->strides[1] = 1;
    added->tensor = (DLTensor){
        .data = tkj_guarded_data(&added->memory),
        .device = {kDLCPU, 0},
        .ndim = rank,
        .dtype = tkj_dlpack_dtype(dtype),
        .shape = added->shape,
        .strides = added->strides,
    };
    return added->tensor.data;
}

static const DLTensor *given(const tkj_call *call, tkj_call_slot slot)
{
    const tkj_call_tensor *tensor = &call->tensors[slot];
    return tensor->memory.block != NULL ? &tensor->tensor : NULL;
}

topk_jit_select_args tkj_call_args(tkj_call *call)
{
    topk_jit_select_args args = call->args;
    args.score = given(call, TKJ_CALL_SCORE);
    args.lengths = given(call, TKJ_CALL_LENGTHS);
    args.row_starts = given(call, TKJ_CALL_ROW_STARTS);
    args.row_ends = given(call, TKJ_CALL_ROW_ENDS);
    args.page_table = given(call, TKJ_CALL_PAGE_TABLE);
    args.page_table_row_starts = given(call, TKJ_CALL_PAGE_TABLE_ROW_STARTS);
    args.cu_seqlens_q = given(call, TKJ_CALL_CU_SEQLENS_Q);
    args.row_to_batch = given(call, TKJ_CALL_ROW_TO_BATCH);
    args.topk_indices_offset = given(call, TKJ_CALL_OFFSET);
    args.indices = given(call, TKJ_CALL_INDICES);
    args.raw_indices = given(call, TKJ_CALL_RAW_INDICES);
    args.values = given(call, TKJ_CALL_VALUES);
    return args;
}

void tkj_call_poison(tkj_call *call)
{
    for (int slot = TKJ_CALL_INDICES; slot < TKJ_CALL_TENSORS; slot++)
        if (call->tensors[slot].memory.block != NULL)
            tkj_guarded_poison(&call->tensors[slot].memory);
    memset(call->check_counts, 0, sizeof call->check_counts);
}

static bool judge_guards(const tkj_call *call, char *message)
{
    for (int slot = TKJ_CALL_INDICES; slot < TKJ_CALL_TENSORS; slot++)
        if (call->tensors[slot].memory.block != NULL &&
            !tkj_guarded_verify(&call->tensors[slot].memory, message, TKJ_JUDGE_MESSAGE_SIZE))
            return false;
    return true;
}

static bool judge_counts(const tkj_call *call, const tkj_select_params *params, char *message)
{
    uint32_t expected[8];
    if (!call->spec.check)
        return true;
    tkj_judge_counts(&call->spec, params, expected);
    for (int i = 0; i < 8; i++)
        if (call->check_counts[i] != expected[i]) {
            snprintf(message, TKJ_JUDGE_MESSAGE_SIZE, "check_counts[%d] is %u, expected %u", i,
                     call->check_counts[i], expected[i]);
            return false;
        }
    return true;
}

bool tkj_call_judge(tkj_call *call, char *message)
{
    tkj_select_problem problem;
    topk_jit_select_args args = tkj_call_args(call);
    if (tkj_problem_select(&args, &problem) != TOPK_JIT_OK) {
        snprintf(message, TKJ_JUDGE_MESSAGE_SIZE, "%.200s", topk_jit_last_error()->message);
        return false;
    }
    return judge_guards(call, message) &&
           tkj_judge_select(&problem.spec, &problem.params, message) &&
           judge_counts(call, &problem.params, message);
}

bool tkj_call_same_outputs(const tkj_call *a, const tkj_call *b)
{
    for (int slot = TKJ_CALL_INDICES; slot < TKJ_CALL_TENSORS; slot++) {
        const tkj_guarded *x = &a->tensors[slot].memory;
        const tkj_guarded *y = &b->tensors[slot].memory;
        if (x->block_size != y->block_size ||
            (x->block_size > 0 && memcmp(x->block, y->block, x->block_size) != 0))
            return false;
    }
    return true;
}
