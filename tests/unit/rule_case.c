/* SPDX-License-Identifier: Apache-2.0 */
#include "rule_case.h"

#include <stdlib.h>
#include <string.h>

#include "judge.h"

static topk_jit_context *context;

int rule_case_setup(void **state)
{
    (void)state;
    return topk_jit_context_create(&context, NULL) != TOPK_JIT_OK;
}

int rule_case_teardown(void **state)
{
    (void)state;
    topk_jit_context_destroy(context);
    context = NULL;
    return 0;
}

topk_jit_context *rule_case_context(void)
{
    return context;
}

void rule_case_add_input(tkj_call *call, tkj_call_slot slot, int rank, int64_t rows,
                         int64_t columns)
{
    rule_case_drop(call, slot);
    int32_t *data = tkj_call_add(call, slot, TOPK_JIT_INT32, rank, rows, columns, columns, 1);
    for (int64_t i = 0; i < rows * columns; i++)
        data[i] = (int32_t)i;
}

static void add_output(tkj_call *call, tkj_call_slot slot, topk_jit_dtype dtype)
{
    tkj_call_add(call, slot, dtype, 2, RULE_OUT_ROWS, RULE_TOPK, RULE_TOPK + 1, 1);
}

static void add_score(tkj_call *call)
{
    const int64_t stride = RULE_WIDTH + 2;
    float *score =
        tkj_call_add(call, TKJ_CALL_SCORE, TOPK_JIT_FLOAT32, 2, RULE_ROWS, RULE_WIDTH, stride, 1);
    for (int64_t row = 0; row < RULE_ROWS; row++)
        for (int64_t column = 0; column < RULE_WIDTH; column++)
            score[row * stride + column] = (float)(column * 7 % 5 + row);
}

void rule_case_open(tkj_call *call, topk_jit_layout layout)
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.layout = layout;
    spec.topk = RULE_TOPK;
    spec.page_size = layout == TOPK_JIT_LAYOUT_PAGED ? 2 : 0;
    tkj_call_init(call, &spec);
    add_score(call);
    rule_case_add_input(call, TKJ_CALL_LENGTHS, 1, RULE_ROWS, 1);
    rule_case_add_input(call, TKJ_CALL_ROW_STARTS, 1, RULE_ROWS, 1);
    if (layout == TOPK_JIT_LAYOUT_PAGED) {
        rule_case_add_input(call, TKJ_CALL_PAGE_TABLE, 2, RULE_BATCH, RULE_PAGES);
        rule_case_add_input(call, TKJ_CALL_PAGE_TABLE_ROW_STARTS, 1, RULE_ROWS, 1);
    }
    if (layout == TOPK_JIT_LAYOUT_RAGGED)
        rule_case_add_input(call, TKJ_CALL_OFFSET, 1, RULE_ROWS, 1);
    add_output(call, TKJ_CALL_INDICES, TOPK_JIT_INT32);
    add_output(call, TKJ_CALL_RAW_INDICES, TOPK_JIT_INT32);
    add_output(call, TKJ_CALL_VALUES, TOPK_JIT_FLOAT32);
}

static topk_jit_layout layout_of(tkj_call_slot slot)
{
    if (slot >= TKJ_CALL_PAGE_TABLE && slot <= TKJ_CALL_ROW_TO_BATCH)
        return TOPK_JIT_LAYOUT_PAGED;
    return slot == TKJ_CALL_OFFSET ? TOPK_JIT_LAYOUT_RAGGED : TOPK_JIT_LAYOUT_PLAIN;
}

void rule_case_open_with(tkj_call *call, tkj_call_slot slot)
{
    rule_case_open(call, layout_of(slot));
    if (slot == TKJ_CALL_ROW_ENDS)
        rule_case_drop(call, TKJ_CALL_LENGTHS);
    if (slot == TKJ_CALL_ROW_ENDS || slot == TKJ_CALL_ROW_TO_BATCH)
        rule_case_add_input(call, slot, 1, RULE_ROWS, 1);
    if (slot == TKJ_CALL_CU_SEQLENS_Q)
        rule_case_add_input(call, slot, 1, RULE_BATCH + 1, 1);
}

void rule_case_drop(tkj_call *call, tkj_call_slot slot)
{
    tkj_guarded_destroy(&call->tensors[slot].memory);
}

void rule_case_set(tkj_call *call, tkj_call_slot slot, rule_part part, int64_t value)
{
    tkj_call_tensor *to = &call->tensors[slot];
    switch (part) {
    case RULE_RANK:
        to->tensor.ndim = (int)value;
        return;
    case RULE_SIZE_0:
    case RULE_SIZE_1:
        to->shape[part - RULE_SIZE_0] = value;
        return;
    case RULE_STRIDE_0:
    case RULE_STRIDE_1:
        to->strides[part - RULE_STRIDE_0] = value;
        return;
    case RULE_DTYPE_CODE:
        to->tensor.dtype.code = (uint8_t)value;
        return;
    case RULE_DTYPE_BITS:
        to->tensor.dtype.bits = (uint8_t)value;
        return;
    case RULE_DATA:
        to->tensor.data = (void *)(uintptr_t)value;
        return;
    case RULE_BYTE_OFFSET:
        to->tensor.byte_offset = (uint64_t)value;
        return;
    case RULE_DEVICE_TYPE:
        to->tensor.device.device_type = (DLDeviceType)value;
        return;
    case RULE_DEVICE_ID:
        to->tensor.device.device_id = (int)value;
        return;
    }
}

/** Copies of all memory of a call, to be compared later. */
typedef struct snapshot {
    void *blocks[TKJ_CALL_TENSORS];
    uint32_t check_counts[8];
} snapshot;

static void take_snapshot(const tkj_call *call, snapshot *out)
{
    memcpy(out->check_counts, call->check_counts, sizeof out->check_counts);
    for (int slot = 0; slot < TKJ_CALL_TENSORS; slot++) {
        const tkj_guarded *memory = &call->tensors[slot].memory;
        out->blocks[slot] = NULL;
        if (memory->block == NULL)
            continue;
        out->blocks[slot] = malloc(memory->block_size);
        assert_non_null(out->blocks[slot]);
        memcpy(out->blocks[slot], memory->block, memory->block_size);
    }
}

static void compare_snapshot(const tkj_call *call, snapshot *before)
{
    assert_memory_equal(call->check_counts, before->check_counts, sizeof before->check_counts);
    for (int slot = 0; slot < TKJ_CALL_TENSORS; slot++) {
        const tkj_guarded *memory = &call->tensors[slot].memory;
        if (memory->block != NULL)
            assert_memory_equal(memory->block, before->blocks[slot], memory->block_size);
        free(before->blocks[slot]);
    }
}

void rule_case_expect_refusal(tkj_call *call, const char *message)
{
    snapshot before;
    tkj_call_poison(call);
    take_snapshot(call, &before);
    topk_jit_select_args args = tkj_call_args(call);
    topk_jit_status status = topk_jit_select(context, &args, NULL);
    if (status != TOPK_JIT_INVALID_ARGUMENT)
        fail_msg("%s, expected a refusal: %s", topk_jit_status_name(status), message);
    assert_string_equal(topk_jit_last_error()->message, message);
    assert_int_equal(topk_jit_last_error()->status, status);
    compare_snapshot(call, &before);
    tkj_call_release(call);
}

void rule_case_expect_success(tkj_call *call)
{
    char message[TKJ_JUDGE_MESSAGE_SIZE];
    tkj_call_poison(call);
    topk_jit_select_args args = tkj_call_args(call);
    if (topk_jit_select(context, &args, NULL) != TOPK_JIT_OK)
        fail_msg("%s", topk_jit_last_error()->message);
    if (!tkj_call_judge(call, message))
        fail_msg("%s", message);
    tkj_call_release(call);
}

static void open_broken(tkj_call *call, const rule *broken)
{
    rule_case_open_with(call, broken->slot);
    rule_case_set(call, broken->slot, broken->part, broken->value);
}

void rule_case_check_refusals(const rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tkj_call call;
        open_broken(&call, &rules[i]);
        rule_case_expect_refusal(&call, rules[i].message);
    }
}

void rule_case_check_successes(const rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tkj_call call;
        open_broken(&call, &rules[i]);
        rule_case_expect_success(&call);
    }
}
