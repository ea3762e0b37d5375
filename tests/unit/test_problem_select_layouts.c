/* SPDX-License-Identifier: Apache-2.0 */
/* Which inputs belong to which layout, which exclude each other, and what the page table must have.
 */
#include "rule_case.h"

#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void input_of_another_layout_is_refused(void **state)
{
    (void)state;
    static const struct {
        topk_jit_layout layout;
        tkj_call_slot slot;
        const char *message;
    } inputs[] = {
        {TOPK_JIT_LAYOUT_PLAIN, TKJ_CALL_PAGE_TABLE,
         "page_table is given, expected NULL with layout plain"},
        {TOPK_JIT_LAYOUT_PLAIN, TKJ_CALL_PAGE_TABLE_ROW_STARTS,
         "page_table_row_starts is given, expected NULL with layout plain"},
        {TOPK_JIT_LAYOUT_PLAIN, TKJ_CALL_CU_SEQLENS_Q,
         "cu_seqlens_q is given, expected NULL with layout plain"},
        {TOPK_JIT_LAYOUT_PLAIN, TKJ_CALL_ROW_TO_BATCH,
         "row_to_batch is given, expected NULL with layout plain"},
        {TOPK_JIT_LAYOUT_PLAIN, TKJ_CALL_OFFSET,
         "topk_indices_offset is given, expected NULL with layout plain"},
        {TOPK_JIT_LAYOUT_PAGED, TKJ_CALL_OFFSET,
         "topk_indices_offset is given, expected NULL with layout paged"},
        {TOPK_JIT_LAYOUT_RAGGED, TKJ_CALL_PAGE_TABLE,
         "page_table is given, expected NULL with layout ragged"},
        {TOPK_JIT_LAYOUT_RAGGED, TKJ_CALL_PAGE_TABLE_ROW_STARTS,
         "page_table_row_starts is given, expected NULL with layout ragged"},
        {TOPK_JIT_LAYOUT_RAGGED, TKJ_CALL_CU_SEQLENS_Q,
         "cu_seqlens_q is given, expected NULL with layout ragged"},
        {TOPK_JIT_LAYOUT_RAGGED, TKJ_CALL_ROW_TO_BATCH,
         "row_to_batch is given, expected NULL with layout ragged"},
    };
    for (size_t i = 0; i < COUNT(inputs); i++) {
        tkj_call call;
        rule_case_open(&call, inputs[i].layout);
        rule_case_add_input(&call, inputs[i].slot, 1, RULE_ROWS, 1);
        rule_case_expect_refusal(&call, inputs[i].message);
    }
}

static void required_tensor_that_is_missing_is_refused(void **state)
{
    (void)state;
    static const struct {
        tkj_call_slot slot;
        const char *message;
    } required[] = {
        {TKJ_CALL_SCORE, "score: the tensor is NULL, expected a tensor"},
        {TKJ_CALL_INDICES, "indices: the tensor is NULL, expected a tensor"},
        {TKJ_CALL_PAGE_TABLE, "page_table: the tensor is NULL, expected a tensor"},
        {TKJ_CALL_OFFSET, "topk_indices_offset is NULL, expected a tensor with layout ragged"},
    };
    for (size_t i = 0; i < COUNT(required); i++) {
        tkj_call call;
        rule_case_open_with(&call, required[i].slot);
        rule_case_drop(&call, required[i].slot);
        rule_case_expect_refusal(&call, required[i].message);
    }
}

static void optional_tensor_that_is_missing_is_legal(void **state)
{
    (void)state;
    static const tkj_call_slot optional[] = {TKJ_CALL_LENGTHS, TKJ_CALL_ROW_STARTS,
                                             TKJ_CALL_PAGE_TABLE_ROW_STARTS, TKJ_CALL_VALUES};
    for (size_t i = 0; i < COUNT(optional); i++) {
        tkj_call call;
        rule_case_open_with(&call, optional[i]);
        rule_case_drop(&call, optional[i]);
        rule_case_expect_success(&call);
    }
}

static void page_size_that_is_no_power_of_two_is_refused(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0,  -1, -2,        3,         6,
                                    63, 65, INT64_MIN, INT64_MAX, INT64_C(1) << 31};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        tkj_call call;
        char message[128];
        snprintf(message, sizeof message,
                 "page_size is %lld, expected a power of two from 1 to 2^30", (long long)sizes[i]);
        rule_case_open(&call, TOPK_JIT_LAYOUT_PAGED);
        call.args.page_size = sizes[i];
        rule_case_expect_refusal(&call, message);
    }
}

static void every_page_size_that_is_a_power_of_two_is_legal(void **state)
{
    (void)state;
    for (int shift = 0; shift <= 30; shift++) {
        tkj_call call;
        rule_case_open(&call, TOPK_JIT_LAYOUT_PAGED);
        call.args.page_size = INT64_C(1) << shift;
        rule_case_expect_success(&call);
    }
}

static void page_size_of_another_layout_is_refused(void **state)
{
    (void)state;
    for (int ragged = 0; ragged < 2; ragged++) {
        tkj_call call;
        rule_case_open(&call, ragged ? TOPK_JIT_LAYOUT_RAGGED : TOPK_JIT_LAYOUT_PLAIN);
        call.args.page_size = 64;
        rule_case_expect_refusal(&call, "page_size is 64, expected 0 unless the layout is paged");
    }
}

static void unknown_layout_is_refused(void **state)
{
    (void)state;
    tkj_call call;
    rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
    call.args.layout = (topk_jit_layout)3;
    rule_case_expect_refusal(&call, "layout is 3, expected a topk_jit_layout");
}

static void two_maps_from_rows_to_requests_are_refused(void **state)
{
    (void)state;
    tkj_call call;
    rule_case_open_with(&call, TKJ_CALL_CU_SEQLENS_Q);
    rule_case_add_input(&call, TKJ_CALL_ROW_TO_BATCH, 1, RULE_ROWS, 1);
    rule_case_expect_refusal(&call,
                             "row_to_batch is given beside cu_seqlens_q, expected one of the two");
}

static void cu_seqlens_q_excludes_next_n(void **state)
{
    (void)state;
    for (int64_t next_n = 0; next_n < 3; next_n++) {
        tkj_call call;
        rule_case_open_with(&call, TKJ_CALL_CU_SEQLENS_Q);
        call.args.next_n = next_n;
        if (next_n > 1)
            rule_case_expect_refusal(&call, "next_n is 2, expected 1 beside cu_seqlens_q");
        else
            rule_case_expect_success(&call);
    }
}

static void row_to_batch_goes_with_next_n(void **state)
{
    (void)state;
    tkj_call call;
    rule_case_open_with(&call, TKJ_CALL_ROW_TO_BATCH);
    call.args.next_n = 2;
    rule_case_expect_success(&call);
}

static void cu_seqlens_q_has_an_entry_at_least(void **state)
{
    (void)state;
    tkj_call call;
    rule_case_open_with(&call, TKJ_CALL_CU_SEQLENS_Q);
    rule_case_set(&call, TKJ_CALL_CU_SEQLENS_Q, RULE_SIZE_0, 0);
    rule_case_expect_refusal(&call, "cu_seqlens_q: size is 0, expected at least 1");
}

/* The table has a row for each row of the score, each request, or each interval. */
static void page_table_with_fewer_rows_than_are_used_is_refused(void **state)
{
    (void)state;
    for (int64_t rows = 0; rows < RULE_BATCH + 2; rows++) {
        tkj_call call;
        char message[128];
        snprintf(message, sizeof message, "page_table: size(0) is %d, expected at least 4",
                 (int)rows);
        rule_case_open(&call, TOPK_JIT_LAYOUT_PAGED);
        rule_case_add_input(&call, TKJ_CALL_PAGE_TABLE, 2, rows, RULE_PAGES);
        if (rows < RULE_ROWS)
            rule_case_expect_refusal(&call, message);
        else
            rule_case_expect_success(&call);
    }
}

static void speculative_rows_share_a_row_of_the_table(void **state)
{
    (void)state;
    for (int64_t rows = 1; rows <= 2; rows++) {
        tkj_call call;
        rule_case_open(&call, TOPK_JIT_LAYOUT_PAGED);
        rule_case_add_input(&call, TKJ_CALL_PAGE_TABLE, 2, rows, RULE_PAGES);
        call.args.next_n = 2;
        if (rows < 2)
            rule_case_expect_refusal(&call, "page_table: size(0) is 1, expected at least 2");
        else
            rule_case_expect_success(&call);
    }
}

static void page_table_has_a_row_for_each_interval(void **state)
{
    (void)state;
    for (int64_t intervals = 0; intervals < RULE_BATCH + 3; intervals++) {
        tkj_call call;
        char message[128];
        snprintf(message, sizeof message, "page_table: size(0) is 4, expected at least %d",
                 (int)intervals);
        rule_case_open(&call, TOPK_JIT_LAYOUT_PAGED);
        rule_case_add_input(&call, TKJ_CALL_CU_SEQLENS_Q, 1, intervals + 1, 1);
        if (intervals > RULE_BATCH)
            rule_case_expect_refusal(&call, message);
        else
            rule_case_expect_success(&call);
    }
}

static void more_intervals_than_rows_are_legal(void **state)
{
    (void)state;
    tkj_call call;
    rule_case_open(&call, TOPK_JIT_LAYOUT_PAGED);
    rule_case_add_input(&call, TKJ_CALL_PAGE_TABLE, 2, 9, RULE_PAGES);
    rule_case_add_input(&call, TKJ_CALL_CU_SEQLENS_Q, 1, 10, 1);
    int32_t *cu = call.tensors[TKJ_CALL_CU_SEQLENS_Q].tensor.data;
    for (int i = 0; i < 10; i++) /* 1, 1, 2, 2, ...: row 0 and every second interval are empty */
        cu[i] = 1 + i / 2;
    rule_case_expect_success(&call);
}

static void mapped_rows_need_no_number_of_table_rows(void **state)
{
    (void)state;
    tkj_call call;
    rule_case_open_with(&call, TKJ_CALL_ROW_TO_BATCH);
    rule_case_add_input(&call, TKJ_CALL_PAGE_TABLE, 2, 1, RULE_PAGES);
    rule_case_expect_success(&call); /* rows 1, 2 and 3 point outside: all -1 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(input_of_another_layout_is_refused),
        cmocka_unit_test(required_tensor_that_is_missing_is_refused),
        cmocka_unit_test(optional_tensor_that_is_missing_is_legal),
        cmocka_unit_test(page_size_that_is_no_power_of_two_is_refused),
        cmocka_unit_test(every_page_size_that_is_a_power_of_two_is_legal),
        cmocka_unit_test(page_size_of_another_layout_is_refused),
        cmocka_unit_test(unknown_layout_is_refused),
        cmocka_unit_test(two_maps_from_rows_to_requests_are_refused),
        cmocka_unit_test(cu_seqlens_q_excludes_next_n),
        cmocka_unit_test(row_to_batch_goes_with_next_n),
        cmocka_unit_test(cu_seqlens_q_has_an_entry_at_least),
        cmocka_unit_test(page_table_with_fewer_rows_than_are_used_is_refused),
        cmocka_unit_test(speculative_rows_share_a_row_of_the_table),
        cmocka_unit_test(page_table_has_a_row_for_each_interval),
        cmocka_unit_test(more_intervals_than_rows_are_legal),
        cmocka_unit_test(mapped_rows_need_no_number_of_table_rows),
    };
    return cmocka_run_group_tests_name("problem_select_layouts", tests, rule_case_setup,
                                       rule_case_teardown);
}
