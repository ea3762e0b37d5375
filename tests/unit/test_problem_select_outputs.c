/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that a selection writes: it shares no byte with anything else, and what is not a slot
   stays as it is. */
#include "rule_case.h"

#include <stdio.h>
#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const names[TKJ_CALL_TENSORS] = {
    "score",        "lengths",      "row_starts",
    "row_ends",     "page_table",   "page_table_row_starts",
    "cu_seqlens_q", "row_to_batch", "topk_indices_offset",
    "indices",      "raw_indices",  "values"};

static int64_t address_of(const tkj_call *call, tkj_call_slot slot)
{
    return (int64_t)(uintptr_t)call->tensors[slot].tensor.data;
}

static void output_over_any_input_is_refused(void **state)
{
    (void)state;
    for (int input = TKJ_CALL_SCORE; input < TKJ_CALL_INDICES; input++)
        for (int output = TKJ_CALL_INDICES; output < TKJ_CALL_TENSORS; output++) {
            tkj_call call;
            char message[128];
            rule_case_open_with(&call, (tkj_call_slot)input);
            snprintf(message, sizeof message,
                     "%s: memory is overlapping %s, expected memory of its own", names[output],
                     names[input]);
            rule_case_set(&call, (tkj_call_slot)output, RULE_DATA,
                          address_of(&call, (tkj_call_slot)input));
            rule_case_expect_refusal(&call, message);
        }
}

static void output_over_another_output_is_refused(void **state)
{
    (void)state;
    for (int first = TKJ_CALL_INDICES; first < TKJ_CALL_TENSORS; first++)
        for (int second = first + 1; second < TKJ_CALL_TENSORS; second++) {
            tkj_call call;
            char message[128];
            rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
            snprintf(message, sizeof message,
                     "%s: memory is overlapping %s, expected memory of its own", names[second],
                     names[first]);
            rule_case_set(&call, (tkj_call_slot)first, RULE_DATA,
                          address_of(&call, (tkj_call_slot)second));
            rule_case_expect_refusal(&call, message);
        }
}

/* The last slot of an output is at the first byte of an input, or just before it. */
static void outputs_touch_at_one_element_or_not_at_all(void **state)
{
    (void)state;
    const int64_t slots = (RULE_OUT_ROWS - 1) * (RULE_TOPK + 1) + RULE_TOPK;
    for (int64_t shared = 0; shared < 2; shared++) {
        tkj_call call;
        rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
        int64_t lengths = address_of(&call, TKJ_CALL_LENGTHS);
        rule_case_set(&call, TKJ_CALL_INDICES, RULE_DATA, lengths + 4 * (shared - slots));
        if (shared) {
            rule_case_expect_refusal(
                &call, "indices: memory is overlapping lengths, expected memory of its own");
            continue;
        }
        topk_jit_select_args args = tkj_call_args(&call);
        assert_int_equal(topk_jit_select(rule_case_context(), &args, NULL), TOPK_JIT_OK);
        assert_int_equal(*(int32_t *)(uintptr_t)lengths, 0);
        tkj_call_release(&call);
    }
}

/* One buffer of eight columns, both int32 outputs within. */
enum { PITCH = 8, TWICE_PITCH = 16 };

static void open_wide(tkj_call *call, int64_t column_of_indices, int64_t column_of_raw)
{
    rule_case_open(call, TOPK_JIT_LAYOUT_PLAIN);
    rule_case_drop(call, TKJ_CALL_INDICES);
    rule_case_drop(call, TKJ_CALL_RAW_INDICES);
    int32_t *data =
        tkj_call_add(call, TKJ_CALL_INDICES, TOPK_JIT_INT32, 2, RULE_OUT_ROWS, RULE_TOPK, PITCH, 0);
    tkj_call_add(call, TKJ_CALL_RAW_INDICES, TOPK_JIT_INT32, 2, RULE_OUT_ROWS, RULE_TOPK, PITCH, 0);
    rule_case_set(call, TKJ_CALL_RAW_INDICES, RULE_DATA,
                  (int64_t)(uintptr_t)(data + column_of_raw));
    rule_case_set(call, TKJ_CALL_INDICES, RULE_DATA,
                  (int64_t)(uintptr_t)(data + column_of_indices));
}

/* Runs a call of two outputs in one buffer; the bytes of neither must be as they were. */
static void expect_separate_columns(tkj_call *call, int64_t column_of_indices,
                                    int64_t column_of_raw)
{
    const tkj_guarded *memory = &call->tensors[TKJ_CALL_INDICES].memory;
    tkj_call_poison(call);
    topk_jit_select_args args = tkj_call_args(call);
    assert_int_equal(topk_jit_select(rule_case_context(), &args, NULL), TOPK_JIT_OK);
    const int32_t *data = tkj_guarded_data(memory);
    for (int64_t row = 0; row < RULE_OUT_ROWS; row++)
        for (int64_t column = 0; column < PITCH; column++) {
            bool is_slot =
                (column >= column_of_indices && column < column_of_indices + RULE_TOPK) ||
                (column >= column_of_raw && column < column_of_raw + RULE_TOPK);
            bool poisoned = data[row * PITCH + column] == (int32_t)0xA5A5A5A5;
            assert_int_equal(poisoned, !is_slot);
        }
    tkj_call_release(call);
}

static void halves_of_one_wider_buffer_are_legal(void **state)
{
    (void)state;
    static const int64_t columns[][2] = {{0, 3}, {0, 4}, {0, 5}, {5, 0}, {3, 0}, {1, 4}};
    for (size_t i = 0; i < COUNT(columns); i++) {
        tkj_call call;
        open_wide(&call, columns[i][0], columns[i][1]);
        expect_separate_columns(&call, columns[i][0], columns[i][1]);
    }
}

static void halves_that_share_a_column_are_refused(void **state)
{
    (void)state;
    static const int64_t columns[][2] = {{0, 0}, {0, 1}, {0, 2}, {2, 0}, {0, 6}, {0, 7}, {7, 1}};
    for (size_t i = 0; i < COUNT(columns); i++) {
        tkj_call call;
        open_wide(&call, columns[i][0], columns[i][1]); /* column 6 and on run into the next row */
        rule_case_expect_refusal(
            &call, "raw_indices: memory is overlapping indices, expected memory of its own");
    }
}

static void halves_of_another_pitch_are_refused(void **state)
{
    (void)state;
    for (int64_t pitch = PITCH - 1; pitch <= PITCH + 1; pitch += 2) {
        tkj_call call;
        open_wide(&call, 0, 4);
        rule_case_set(&call, TKJ_CALL_RAW_INDICES, RULE_STRIDE_0, pitch);
        rule_case_expect_refusal(
            &call, "raw_indices: memory is overlapping indices, expected memory of its own");
    }
}

/* The pitch counts in bytes: eight int32 columns are four int64 columns. */
static void halves_of_different_element_sizes_are_legal(void **state)
{
    (void)state;
    tkj_call call;
    rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
    rule_case_drop(&call, TKJ_CALL_INDICES);
    int64_t *data = tkj_call_add(&call, TKJ_CALL_INDICES, TOPK_JIT_INT64, 2, RULE_OUT_ROWS,
                                 RULE_TOPK, PITCH, 0);
    rule_case_set(&call, TKJ_CALL_RAW_INDICES, RULE_STRIDE_0, TWICE_PITCH);
    rule_case_set(&call, TKJ_CALL_RAW_INDICES, RULE_DATA, (int64_t)(uintptr_t)(data + RULE_TOPK));
    topk_jit_select_args args = tkj_call_args(&call);
    assert_int_equal(topk_jit_select(rule_case_context(), &args, NULL), TOPK_JIT_OK);
    const int32_t *raw = (const int32_t *)(data + RULE_TOPK);
    const int64_t row = 3; /* has three columns from 3 on */
    for (int64_t slot = 0; slot < RULE_TOPK; slot++)
        assert_int_equal(data[row * PITCH + slot], raw[row * TWICE_PITCH + slot]);
    tkj_call_release(&call);
}

static void outputs_in_the_padding_of_the_score_are_legal(void **state)
{
    (void)state;
    tkj_call call;
    rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
    rule_case_drop(&call, TKJ_CALL_SCORE);
    float *score = tkj_call_add(&call, TKJ_CALL_SCORE, TOPK_JIT_FLOAT32, 2, RULE_ROWS, RULE_WIDTH,
                                TWICE_PITCH, 0);
    rule_case_set(&call, TKJ_CALL_INDICES, RULE_STRIDE_0, TWICE_PITCH);
    rule_case_set(&call, TKJ_CALL_INDICES, RULE_SIZE_0, RULE_ROWS);
    rule_case_set(&call, TKJ_CALL_RAW_INDICES, RULE_SIZE_0, RULE_ROWS);
    rule_case_set(&call, TKJ_CALL_VALUES, RULE_SIZE_0, RULE_ROWS);
    rule_case_set(&call, TKJ_CALL_INDICES, RULE_DATA, (int64_t)(uintptr_t)(score + RULE_WIDTH));
    rule_case_expect_success(&call);
}

static void empty_tensor_inside_an_output_is_legal(void **state)
{
    (void)state;
    tkj_call call;
    rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
    int64_t inside = address_of(&call, TKJ_CALL_INDICES) + 4;
    rule_case_set(&call, TKJ_CALL_SCORE, RULE_SIZE_1, 0);
    rule_case_set(&call, TKJ_CALL_SCORE, RULE_DATA, inside);
    call.args.workspace = (void *)(uintptr_t)((inside + 255) / 256 * 256);
    call.args.workspace_size = 0;
    rule_case_expect_success(&call);
}

static void check_counts_have_memory_of_their_own(void **state)
{
    (void)state;
    static const tkj_call_slot slots[] = {TKJ_CALL_SCORE, TKJ_CALL_LENGTHS, TKJ_CALL_INDICES,
                                          TKJ_CALL_VALUES};
    for (size_t i = 0; i < COUNT(slots); i++) {
        tkj_call call;
        char message[128];
        rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
        call.args.check_counts = call.tensors[slots[i]].tensor.data;
        snprintf(message, sizeof message,
                 "check_counts: memory is overlapping %s, expected memory of its own",
                 names[slots[i]]);
        rule_case_expect_refusal(&call, message);
    }
}

static void check_counts_are_aligned(void **state)
{
    (void)state;
    for (uintptr_t off = 0; off < 4; off++) {
        tkj_call call;
        char message[128];
        rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
        call.args.check_counts = (uint32_t *)((uintptr_t)call.check_counts + off);
        call.spec.check = 1;
        snprintf(message, sizeof message,
                 "check_counts: the address modulo its alignment is %d, expected 0", (int)off);
        if (off > 0)
            rule_case_expect_refusal(&call, message);
        else
            rule_case_expect_success(&call);
    }
}

static void workspace_is_aligned_to_256_bytes(void **state)
{
    (void)state;
    void *memory = aligned_alloc(256, 512);
    assert_non_null(memory);
    static const uintptr_t offsets[] = {0, 1, 128, 255, 256};
    for (size_t i = 0; i < COUNT(offsets); i++) {
        tkj_call call;
        char message[128];
        rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
        call.args.workspace = (void *)((uintptr_t)memory + offsets[i]);
        call.args.workspace_size = 256;
        snprintf(message, sizeof message,
                 "workspace: the address modulo its alignment is %d, expected 0", (int)offsets[i]);
        if (offsets[i] % 256 != 0)
            rule_case_expect_refusal(&call, message);
        else
            rule_case_expect_success(&call);
    }
    free(memory);
}

static void workspace_overlaps_nothing_and_ends_somewhere(void **state)
{
    (void)state;
    tkj_call call;
    rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
    int64_t score = address_of(&call, TKJ_CALL_SCORE);
    call.args.workspace = (void *)(uintptr_t)(score / 256 * 256);
    call.args.workspace_size = 257 + 4 * RULE_WIDTH;
    rule_case_expect_refusal(&call,
                             "workspace: memory is overlapping score, expected memory of its own");
    rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
    call.args.workspace = (void *)(uintptr_t)256;
    call.args.workspace_size = SIZE_MAX - 255;
    rule_case_expect_refusal(&call, "workspace: the extent in bytes is beyond the address space, "
                                    "expected a smaller size");
}

static void absent_workspace_is_legal_whatever_its_size(void **state)
{
    (void)state;
    tkj_call call;
    rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
    call.args.workspace_size = SIZE_MAX;
    rule_case_expect_success(&call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_over_any_input_is_refused),
        cmocka_unit_test(output_over_another_output_is_refused),
        cmocka_unit_test(outputs_touch_at_one_element_or_not_at_all),
        cmocka_unit_test(halves_of_one_wider_buffer_are_legal),
        cmocka_unit_test(halves_that_share_a_column_are_refused),
        cmocka_unit_test(halves_of_another_pitch_are_refused),
        cmocka_unit_test(halves_of_different_element_sizes_are_legal),
        cmocka_unit_test(outputs_in_the_padding_of_the_score_are_legal),
        cmocka_unit_test(empty_tensor_inside_an_output_is_legal),
        cmocka_unit_test(check_counts_have_memory_of_their_own),
        cmocka_unit_test(check_counts_are_aligned),
        cmocka_unit_test(workspace_is_aligned_to_256_bytes),
        cmocka_unit_test(workspace_overlaps_nothing_and_ends_somewhere),
        cmocka_unit_test(absent_workspace_is_legal_whatever_its_size),
    };
    return cmocka_run_group_tests_name("problem_select_outputs", tests, rule_case_setup,
                                       rule_case_teardown);
}
