/* SPDX-License-Identifier: Apache-2.0 */
/* How large the tensors of a selection must be to each other, and tensors without elements. */
#include "rule_case.h"

#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Inputs with an entry for each row. */
static const struct {
    tkj_call_slot slot;
    const char *name;
} row_inputs[] = {
    {TKJ_CALL_LENGTHS, "lengths"},
    {TKJ_CALL_ROW_STARTS, "row_starts"},
    {TKJ_CALL_ROW_ENDS, "row_ends"},
    {TKJ_CALL_PAGE_TABLE_ROW_STARTS, "page_table_row_starts"},
    {TKJ_CALL_ROW_TO_BATCH, "row_to_batch"},
    {TKJ_CALL_OFFSET, "topk_indices_offset"},
};

static void input_shorter_than_the_rows_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(row_inputs); i++)
        for (int size = 0; size < RULE_ROWS; size++) {
            tkj_call call;
            char message[128];
            snprintf(message, sizeof message, "%s: size is %d, expected at least 4",
                     row_inputs[i].name, size);
            rule_case_open_with(&call, row_inputs[i].slot);
            rule_case_add_input(&call, row_inputs[i].slot, 1, size, 1);
            rule_case_expect_refusal(&call, message);
        }
}

static void input_longer_than_the_rows_is_legal(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(row_inputs); i++) {
        tkj_call call;
        rule_case_open_with(&call, row_inputs[i].slot);
        rule_case_add_input(&call, row_inputs[i].slot, 1, RULE_ROWS + 3, 1);
        rule_case_expect_success(&call);
    }
}

static void input_with_any_stride_is_legal(void **state)
{
    (void)state;
    const int64_t rows = RULE_ROWS;
    for (size_t i = 0; i < COUNT(row_inputs); i++)
        for (int64_t stride = 0; stride < 3; stride++) {
            tkj_call call;
            rule_case_open_with(&call, row_inputs[i].slot);
            rule_case_add_input(&call, row_inputs[i].slot, 1, 3 * rows, 1);
            rule_case_set(&call, row_inputs[i].slot, RULE_SIZE_0, RULE_ROWS);
            rule_case_set(&call, row_inputs[i].slot, RULE_STRIDE_0, stride);
            rule_case_expect_success(&call);
        }
}

static void strides_of_null_are_compact(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(row_inputs); i++) {
        tkj_call call;
        rule_case_open_with(&call, row_inputs[i].slot);
        call.tensors[row_inputs[i].slot].tensor.strides = NULL;
        rule_case_expect_success(&call);
    }
    tkj_call call;
    rule_case_open(&call, TOPK_JIT_LAYOUT_PAGED);
    call.tensors[TKJ_CALL_PAGE_TABLE].tensor.strides = NULL;
    rule_case_expect_success(&call);
}

static void outputs_that_do_not_match_rows_and_topk_are_refused(void **state)
{
    (void)state;
    static const rule rules[] = {
        {TKJ_CALL_INDICES, RULE_SIZE_0, 3, "indices: size(0) is 3, expected at least 4"},
        {TKJ_CALL_INDICES, RULE_SIZE_0, 0, "indices: size(0) is 0, expected at least 4"},
        {TKJ_CALL_INDICES, RULE_SIZE_1, 2, "indices: size(1) is 2, expected topk = 3"},
        {TKJ_CALL_INDICES, RULE_SIZE_1, 4, "indices: size(1) is 4, expected topk = 3"},
        {TKJ_CALL_RAW_INDICES, RULE_SIZE_0, 4,
         "raw_indices: size(0) is 4, expected that of indices, 5"},
        {TKJ_CALL_RAW_INDICES, RULE_SIZE_0, 6,
         "raw_indices: size(0) is 6, expected that of indices, 5"},
        {TKJ_CALL_RAW_INDICES, RULE_SIZE_1, 2, "raw_indices: size(1) is 2, expected topk = 3"},
        {TKJ_CALL_VALUES, RULE_SIZE_0, 4, "values: size(0) is 4, expected that of indices, 5"},
        {TKJ_CALL_VALUES, RULE_SIZE_1, 4, "values: size(1) is 4, expected topk = 3"},
    };
    rule_case_check_refusals(rules, COUNT(rules));
}

static void rows_of_an_output_that_run_into_each_other_are_refused(void **state)
{
    (void)state;
    static const rule rules[] = {
        {TKJ_CALL_INDICES, RULE_STRIDE_0, 2, "indices: stride(0) is 2, expected at least 3"},
        {TKJ_CALL_INDICES, RULE_STRIDE_0, 0, "indices: stride(0) is 0, expected at least 3"},
        {TKJ_CALL_RAW_INDICES, RULE_STRIDE_0, 2,
         "raw_indices: stride(0) is 2, expected at least 3"},
        {TKJ_CALL_VALUES, RULE_STRIDE_0, 2, "values: stride(0) is 2, expected at least 3"},
    };
    rule_case_check_refusals(rules, COUNT(rules));
}

static void expanded_score_and_table_are_legal(void **state)
{
    (void)state;
    static const rule rules[] = {
        {TKJ_CALL_SCORE, RULE_STRIDE_0, 0, NULL},
        {TKJ_CALL_SCORE, RULE_STRIDE_0, 1, NULL},
        {TKJ_CALL_PAGE_TABLE, RULE_STRIDE_0, 0, NULL},
        {TKJ_CALL_PAGE_TABLE, RULE_STRIDE_0, 1, NULL},
    };
    rule_case_check_successes(rules, COUNT(rules));
}

/* Makes a tensor an empty one, whose data exporters leave NULL. */
static void make_empty(tkj_call *call, tkj_call_slot slot, int64_t rows, int64_t columns)
{
    rule_case_set(call, slot, RULE_SIZE_0, rows);
    rule_case_set(call, slot, RULE_SIZE_1, columns);
    rule_case_set(call, slot, RULE_STRIDE_0, columns);
    rule_case_set(call, slot, RULE_DATA, 0);
}

/* An output whose guards are all there is of it. */
static void make_output_empty(tkj_call *call, tkj_call_slot slot, topk_jit_dtype dtype)
{
    rule_case_drop(call, slot);
    tkj_call_add(call, slot, dtype, 2, 0, RULE_TOPK, RULE_TOPK, 1);
    rule_case_set(call, slot, RULE_DATA, 0);
}

static void expect_intact_guards(const tkj_call *call)
{
    char message[256];
    for (int slot = TKJ_CALL_INDICES; slot < TKJ_CALL_TENSORS; slot++)
        if (!tkj_guarded_verify(&call->tensors[slot].memory, message, sizeof message))
            fail_msg("%s", message);
}

static void make_inputs_empty(tkj_call *call, topk_jit_layout layout)
{
    rule_case_open(call, layout);
    make_empty(call, TKJ_CALL_SCORE, 0, RULE_WIDTH);
    make_empty(call, TKJ_CALL_LENGTHS, 0, 1);
    make_empty(call, TKJ_CALL_ROW_STARTS, 0, 1);
    if (layout == TOPK_JIT_LAYOUT_PAGED) {
        make_empty(call, TKJ_CALL_PAGE_TABLE, 0, RULE_PAGES);
        make_empty(call, TKJ_CALL_PAGE_TABLE_ROW_STARTS, 0, 1);
    }
    if (layout == TOPK_JIT_LAYOUT_RAGGED)
        make_empty(call, TKJ_CALL_OFFSET, 0, 1);
}

static void rows_beyond_no_rows_are_filled(void **state)
{
    (void)state;
    for (int layout = TOPK_JIT_LAYOUT_PLAIN; layout <= TOPK_JIT_LAYOUT_RAGGED; layout++) {
        tkj_call call;
        make_inputs_empty(&call, (topk_jit_layout)layout);
        rule_case_expect_success(&call);
    }
}

static void no_rows_at_all_are_legal(void **state)
{
    (void)state;
    for (int layout = TOPK_JIT_LAYOUT_PLAIN; layout <= TOPK_JIT_LAYOUT_RAGGED; layout++) {
        tkj_call call;
        make_inputs_empty(&call, (topk_jit_layout)layout);
        make_output_empty(&call, TKJ_CALL_INDICES, TOPK_JIT_INT32);
        make_output_empty(&call, TKJ_CALL_RAW_INDICES, TOPK_JIT_INT32);
        make_output_empty(&call, TKJ_CALL_VALUES, TOPK_JIT_FLOAT32);
        topk_jit_select_args args = tkj_call_args(&call);
        assert_int_equal(topk_jit_select(rule_case_context(), &args, NULL), TOPK_JIT_OK);
        expect_intact_guards(&call);
        tkj_call_release(&call);
    }
}

static void no_rows_at_all_on_a_gpu_need_no_gpu(void **state)
{
    (void)state;
    tkj_call call;
    make_inputs_empty(&call, TOPK_JIT_LAYOUT_PLAIN);
    make_output_empty(&call, TKJ_CALL_INDICES, TOPK_JIT_INT32);
    rule_case_drop(&call, TKJ_CALL_RAW_INDICES);
    rule_case_drop(&call, TKJ_CALL_VALUES);
    for (int slot = 0; slot < TKJ_CALL_TENSORS; slot++) {
        rule_case_set(&call, (tkj_call_slot)slot, RULE_DEVICE_TYPE, kDLCUDA);
        rule_case_set(&call, (tkj_call_slot)slot, RULE_DEVICE_ID, 99);
    }
    topk_jit_select_args args = tkj_call_args(&call);
    assert_int_equal(topk_jit_select(rule_case_context(), &args, NULL), TOPK_JIT_OK);
    tkj_call_release(&call);
}

static void score_without_columns_is_legal(void **state)
{
    (void)state;
    for (int layout = TOPK_JIT_LAYOUT_PLAIN; layout <= TOPK_JIT_LAYOUT_RAGGED; layout++) {
        tkj_call call;
        rule_case_open(&call, (topk_jit_layout)layout);
        make_empty(&call, TKJ_CALL_SCORE, RULE_ROWS, 0);
        if (layout == TOPK_JIT_LAYOUT_RAGGED)
            rule_case_set(&call, TKJ_CALL_SCORE, RULE_STRIDE_0, INT64_MAX);
        rule_case_expect_success(&call);
    }
}

static void page_table_without_columns_is_legal(void **state)
{
    (void)state;
    tkj_call call;
    rule_case_open(&call, TOPK_JIT_LAYOUT_PAGED);
    make_empty(&call, TKJ_CALL_PAGE_TABLE, RULE_BATCH, 0);
    rule_case_set(&call, TKJ_CALL_PAGE_TABLE, RULE_STRIDE_0, INT64_MAX);
    rule_case_expect_success(&call);
}

static void page_table_without_rows_is_legal_where_rows_are_mapped(void **state)
{
    (void)state;
    tkj_call call;
    rule_case_open_with(&call, TKJ_CALL_ROW_TO_BATCH);
    make_empty(&call, TKJ_CALL_PAGE_TABLE, 0, RULE_PAGES);
    rule_case_expect_success(&call);
    rule_case_open_with(&call, TKJ_CALL_CU_SEQLENS_Q);
    rule_case_set(&call, TKJ_CALL_CU_SEQLENS_Q, RULE_SIZE_0, 1);
    make_empty(&call, TKJ_CALL_PAGE_TABLE, 0, 0);
    rule_case_expect_success(&call);
}

static void strides_of_single_rows_are_ignored(void **state)
{
    (void)state;
    static const tkj_call_slot slots[] = {
        TKJ_CALL_SCORE,   TKJ_CALL_LENGTHS,     TKJ_CALL_ROW_STARTS, TKJ_CALL_PAGE_TABLE,
        TKJ_CALL_INDICES, TKJ_CALL_RAW_INDICES, TKJ_CALL_VALUES,     TKJ_CALL_PAGE_TABLE_ROW_STARTS,
    };
    static const int64_t strides[] = {1, -7, INT64_MAX, INT64_MIN};
    for (size_t s = 0; s < COUNT(strides); s++) {
        tkj_call call;
        rule_case_open(&call, TOPK_JIT_LAYOUT_PAGED);
        for (size_t i = 0; i < COUNT(slots); i++) {
            rule_case_set(&call, slots[i], RULE_SIZE_0, 1);
            rule_case_set(&call, slots[i], RULE_STRIDE_0, strides[s]);
        }
        rule_case_expect_success(&call);
    }
}

static void strides_of_single_columns_are_ignored(void **state)
{
    (void)state;
    static const tkj_call_slot slots[] = {TKJ_CALL_SCORE, TKJ_CALL_PAGE_TABLE, TKJ_CALL_INDICES,
                                          TKJ_CALL_RAW_INDICES, TKJ_CALL_VALUES};
    tkj_call call;
    rule_case_open(&call, TOPK_JIT_LAYOUT_PAGED);
    call.args.topk = call.spec.topk = 1;
    for (size_t i = 0; i < COUNT(slots); i++) {
        rule_case_set(&call, slots[i], RULE_SIZE_1, 1);
        rule_case_set(&call, slots[i], RULE_STRIDE_1, INT64_MIN);
    }
    for (int slot = TKJ_CALL_INDICES; slot < TKJ_CALL_TENSORS; slot++)
        call.tensors[slot].memory.columns = 1;
    rule_case_expect_success(&call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(input_shorter_than_the_rows_is_refused),
        cmocka_unit_test(input_longer_than_the_rows_is_legal),
        cmocka_unit_test(input_with_any_stride_is_legal),
        cmocka_unit_test(strides_of_null_are_compact),
        cmocka_unit_test(outputs_that_do_not_match_rows_and_topk_are_refused),
        cmocka_unit_test(rows_of_an_output_that_run_into_each_other_are_refused),
        cmocka_unit_test(expanded_score_and_table_are_legal),
        cmocka_unit_test(rows_beyond_no_rows_are_filled),
        cmocka_unit_test(no_rows_at_all_are_legal),
        cmocka_unit_test(no_rows_at_all_on_a_gpu_need_no_gpu),
        cmocka_unit_test(score_without_columns_is_legal),
        cmocka_unit_test(page_table_without_columns_is_legal),
        cmocka_unit_test(page_table_without_rows_is_legal_where_rows_are_mapped),
        cmocka_unit_test(strides_of_single_rows_are_ignored),
        cmocka_unit_test(strides_of_single_columns_are_ignored),
    };
    return cmocka_run_group_tests_name("problem_select_shapes", tests, rule_case_setup,
                                       rule_case_teardown);
}
