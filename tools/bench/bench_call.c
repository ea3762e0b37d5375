/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_call.h"

static const DLDataType int32 = {kDLInt, 32, 1};
static const DLDataType int64 = {kDLInt, 64, 1};

static void describe(bench_call *call, bench_slot slot, int rank, int64_t rows, int64_t columns,
                     DLDataType dtype)
{
    bench_tensor *out = &call->tensors[slot];
    const DLDevice device = {kDLCUDA, 0};
    out->shape[0] = rows;
    out->shape[1] = columns;
    out->tensor = (DLTensor){NULL, device, rank, dtype, out->shape, NULL, 0};
}

static DLDataType score_dtype(const bench_case *what)
{
    if (what->dtype == TOPK_JIT_BFLOAT16)
        return (DLDataType){kDLBfloat, 16, 1};
    return (DLDataType){kDLFloat, what->dtype == TOPK_JIT_FLOAT32 ? 32 : 16, 1};
}

void bench_call_init(bench_call *call, const bench_case *what)
{
    const bool select = what->operation == TOPK_JIT_OPERATION_SELECT;
    const int64_t rows = what->rows;
    const int64_t page_size = what->page_size > 0 ? what->page_size : 1;
    call->what = *what;
    call->workspace = NULL;
    call->workspace_size = 0;
    describe(call, BENCH_SCORE, 2, rows, what->width, score_dtype(what));
    for (int slot = BENCH_LENGTHS; slot <= BENCH_ROW_TO_BATCH; slot++)
        describe(call, (bench_slot)slot, 1, rows, 1, int32);
    describe(call, BENCH_TABLE, 2, (rows + what->sharing - 1) / what->sharing,
             (what->width + page_size - 1) / page_size, int32);
    describe(call, BENCH_INDICES, 2, rows, what->topk, select ? int32 : int64);
    describe(call, BENCH_RAW_INDICES, 2, rows, what->topk, int32);
    describe(call, BENCH_VALUES, 2, rows, what->topk, score_dtype(what));
}

bool bench_call_has(const bench_call *call, bench_slot slot)
{
    const bench_case *what = &call->what;
    const bool select = what->operation == TOPK_JIT_OPERATION_SELECT;
    switch (slot) {
    case BENCH_LENGTHS:
        return select;
    case BENCH_ROW_STARTS:
        return what->row_starts;
    case BENCH_OFFSETS:
        return what->layout == TOPK_JIT_LAYOUT_RAGGED;
    case BENCH_ROW_TO_BATCH:
        return what->sharing > 1;
    case BENCH_TABLE:
        return what->layout == TOPK_JIT_LAYOUT_PAGED;
    case BENCH_RAW_INDICES:
        return what->raw_indices;
    case BENCH_VALUES:
        return what->values || !select;
    default:
        return true;
    }
}

size_t bench_call_bytes(const bench_call *call, bench_slot slot)
{
    const DLTensor *tensor = &call->tensors[slot].tensor;
    const int64_t columns = tensor->ndim == 2 ? tensor->shape[1] : 1;
    return (size_t)(tensor->shape[0] * columns) * (size_t)(tensor->dtype.bits / 8);
}

static const DLTensor *if_given(const bench_call *call, bench_slot slot)
{
    return bench_call_has(call, slot) ? &call->tensors[slot].tensor : NULL;
}

topk_jit_select_args bench_call_args(const bench_call *call, bool raw)
{
    const bench_case *what = &call->what;
    topk_jit_select_args args = TOPK_JIT_SELECT_ARGS_INIT;
    args.score = if_given(call, BENCH_SCORE);
    args.lengths = if_given(call, BENCH_LENGTHS);
    args.row_starts = if_given(call, BENCH_ROW_STARTS);
    args.layout = what->layout;
    args.page_table = if_given(call, BENCH_TABLE);
    args.page_size = what->page_size;
    args.row_to_batch = if_given(call, BENCH_ROW_TO_BATCH);
    args.topk_indices_offset = if_given(call, BENCH_OFFSETS);
    args.topk = what->topk;
    args.indices = if_given(call, BENCH_INDICES);
    args.raw_indices = if_given(call, BENCH_RAW_INDICES);
    if (raw)
        args.raw_indices = &call->tensors[BENCH_RAW_INDICES].tensor;
    args.values = if_given(call, BENCH_VALUES);
    args.tie_break = what->tie_break;
    args.sorted = what->sorted;
    args.deterministic = what->deterministic;
    args.max_sms = what->max_sms;
    args.workspace = call->workspace;
    args.workspace_size = call->workspace_size;
    return args;
}
