/* SPDX-License-Identifier: Apache-2.0 */
/* Every form of `lengths`, with and without speculative tokens, and the lengths that rows get. */
#include "problem.h"
#include "rule_case.h"

enum { ROWS = 6, MEMORY = 24 };

/* Six rows of six columns and room for all of them. */
static void open_six(tkj_call *call)
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.topk = ROWS;
    tkj_call_init(call, &spec);
    float *score = tkj_call_add(call, TKJ_CALL_SCORE, TOPK_JIT_FLOAT32, 2, ROWS, ROWS, ROWS, 0);
    for (int i = 0; i < ROWS * ROWS; i++)
        score[i] = (float)i;
    rule_case_add_input(call, TKJ_CALL_LENGTHS, 1, MEMORY, 1);
    for (int32_t i = 0; i < MEMORY; i++) /* 1, 2, 3, ... */
        ((int32_t *)call->tensors[TKJ_CALL_LENGTHS].tensor.data)[i] = i + 1;
    tkj_call_add(call, TKJ_CALL_INDICES, TOPK_JIT_INT32, 2, ROWS, ROWS, ROWS, 0);
    tkj_call_add(call, TKJ_CALL_RAW_INDICES, TOPK_JIT_INT32, 2, ROWS, ROWS, ROWS, 0);
}

/* One form of lengths. */
typedef struct form {
    int64_t next_n;
    int64_t compress_ratio;
    int rank;
    int64_t shape[2];
    int64_t strides[2];
} form;

static void open_form(tkj_call *call, const form *given)
{
    open_six(call);
    call->args.next_n = given->next_n;
    call->args.compress_ratio = given->compress_ratio;
    rule_case_set(call, TKJ_CALL_LENGTHS, RULE_RANK, given->rank);
    for (int d = 0; d < given->rank; d++) {
        rule_case_set(call, TKJ_CALL_LENGTHS, (rule_part)(RULE_SIZE_0 + d), given->shape[d]);
        rule_case_set(call, TKJ_CALL_LENGTHS, (rule_part)(RULE_STRIDE_0 + d), given->strides[d]);
    }
}

/* With room for every column, a row's length is the number of its slots that hold something. */
static int64_t length_of(const tkj_call *call, int64_t row)
{
    const int32_t *indices = call->tensors[TKJ_CALL_INDICES].tensor.data;
    int64_t length = 0;
    for (int64_t slot = 0; slot < ROWS; slot++)
        length += indices[row * ROWS + slot] >= 0;
    return length;
}

static void every_legal_form_gives_its_rows_their_lengths(void **state)
{
    (void)state;
    static const struct {
        form given;
        int64_t lengths[ROWS];
    } forms[] = {
        {{0, 0, 1, {6}, {1}}, {1, 2, 3, 4, 5, 6}},
        {{1, 1, 1, {6}, {1}}, {1, 2, 3, 4, 5, 6}},
        {{1, 0, 1, {9}, {1}}, {1, 2, 3, 4, 5, 6}}, /* longer than needed */
        {{1, 0, 1, {6}, {0}}, {1, 1, 1, 1, 1, 1}},
        {{1, 0, 1, {6}, {2}}, {1, 3, 5, 6, 6, 6}},
        {{1, 2, 1, {6}, {1}}, {0, 1, 1, 2, 2, 3}}, /* compressed */
        {{1, 0, 2, {6, 1}, {1, -77}}, {1, 2, 3, 4, 5, 6}},
        {{2, 0, 1, {3}, {1}}, {0, 1, 1, 2, 2, 3}}, /* one a request: max(0, length - 2 + 1 + j) */
        {{2, 0, 1, {3}, {2}}, {0, 1, 2, 3, 4, 5}},
        {{2, 2, 1, {3}, {2}}, {0, 0, 1, 1, 2, 2}}, /* compressed after the next_n rule */
        {{2, 0, 1, {6}, {1}}, {1, 2, 3, 4, 5, 6}}, /* one a row */
        {{2, 0, 1, {6}, {0}}, {1, 1, 1, 1, 1, 1}},
        {{2, 0, 2, {3, 2}, {2, 1}}, {1, 2, 3, 4, 5, 6}},
        {{2, 0, 2, {3, 2}, {1, 3}}, {1, 4, 2, 5, 3, 6}}, /* transposed */
        {{2, 0, 2, {3, 2}, {0, 1}}, {1, 2, 1, 2, 1, 2}},
        {{2, 0, 2, {3, 2}, {1, 0}}, {1, 1, 2, 2, 3, 3}},
        {{2, 0, 2, {6, 1}, {1, 1}}, {1, 2, 3, 4, 5, 6}},
        {{2, 0, 2, {6, 1}, {0, 5}}, {1, 1, 1, 1, 1, 1}},
        {{3, 0, 1, {2}, {1}}, {0, 0, 1, 0, 1, 2}},
        {{3, 0, 1, {2}, {3}}, {0, 0, 1, 2, 3, 4}},
        {{6, 0, 1, {1}, {-9}}, {0, 0, 0, 0, 0, 1}},
        {{6, 0, 2, {1, 6}, {-9, 1}}, {1, 2, 3, 4, 5, 6}},
        {{6, 4, 2, {1, 6}, {1, 4}}, {0, 1, 2, 3, 4, 5}},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        tkj_call call;
        open_form(&call, &forms[i].given);
        topk_jit_select_args args = tkj_call_args(&call);
        assert_int_equal(topk_jit_select(rule_case_context(), &args, NULL), TOPK_JIT_OK);
        for (int64_t row = 0; row < ROWS; row++)
            if (length_of(&call, row) != forms[i].lengths[row])
                fail_msg("form %zu, row %d: length is %d, expected %d", i, (int)row,
                         (int)length_of(&call, row), (int)forms[i].lengths[row]);
        tkj_call_release(&call);
    }
}

static void every_other_form_is_refused(void **state)
{
    (void)state;
    static const struct {
        form given;
        const char *message;
    } forms[] = {
        {{1, 0, 1, {5}, {1}}, "lengths: size is 5, expected at least 6"},
        {{1, 0, 2, {1, 6}, {6, 1}}, "lengths: shape is (1, 6), expected (6, 1)"},
        {{1, 0, 2, {7, 1}, {1, 1}}, "lengths: shape is (7, 1), expected (6, 1)"},
        {{1, 0, 2, {6, 2}, {2, 1}}, "lengths: shape is (6, 2), expected (6, 1)"},
        {{2, 0, 1, {2}, {1}}, "lengths: size is 2, expected one a request, 3, or one a row, 6"},
        {{2, 0, 1, {4}, {1}}, "lengths: size is 4, expected one a request, 3, or one a row, 6"},
        {{2, 0, 1, {7}, {1}}, "lengths: size is 7, expected one a request, 3, or one a row, 6"},
        {{2, 0, 2, {3, 1}, {1, 1}}, "lengths: shape is (3, 1), expected (3, 2) or (6, 1)"},
        {{2, 0, 2, {2, 3}, {3, 1}}, "lengths: shape is (2, 3), expected (3, 2) or (6, 1)"},
        {{2, 0, 2, {4, 2}, {2, 1}}, "lengths: shape is (4, 2), expected (3, 2) or (6, 1)"},
        {{2, 0, 2, {6, 2}, {2, 1}}, "lengths: shape is (6, 2), expected (3, 2) or (6, 1)"},
        {{2, 0, 1, {3}, {-1}}, "lengths: stride(0) is -1, expected at least 0"},
        {{2, 0, 1, {6}, {-1}}, "lengths: stride(0) is -1, expected at least 0"},
        {{2, 0, 2, {3, 2}, {-1, 1}}, "lengths: stride(0) is -1, expected at least 0"},
        {{2, 0, 2, {3, 2}, {2, -1}}, "lengths: stride(1) is -1, expected at least 0"},
        {{2, 0, 2, {6, 1}, {-1, 1}}, "lengths: stride(0) is -1, expected at least 0"},
        {{4, 0, 1, {6}, {1}}, "score: size(0) is 6, expected a multiple of next_n = 4"},
        {{7, 0, 1, {6}, {1}}, "score: size(0) is 6, expected a multiple of next_n = 7"},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        tkj_call call;
        open_form(&call, &forms[i].given);
        rule_case_expect_refusal(&call, forms[i].message);
    }
}

static void lengths_and_row_ends_together_are_refused(void **state)
{
    (void)state;
    tkj_call call;
    open_six(&call);
    rule_case_add_input(&call, TKJ_CALL_ROW_ENDS, 1, ROWS, 1);
    rule_case_expect_refusal(&call, "row_ends is given beside lengths, expected one of the two");
}

static void row_ends_and_absent_lengths_are_not_divided(void **state)
{
    (void)state;
    for (int ends = 0; ends < 2; ends++) {
        tkj_call call;
        open_six(&call);
        rule_case_drop(&call, TKJ_CALL_LENGTHS);
        if (ends)
            rule_case_add_input(&call, TKJ_CALL_ROW_ENDS, 1, ROWS, 1);
        call.args.compress_ratio = 4;
        call.args.next_n = 3;
        topk_jit_select_args args = tkj_call_args(&call);
        assert_int_equal(topk_jit_select(rule_case_context(), &args, NULL), TOPK_JIT_OK);
        for (int64_t row = 0; row < ROWS; row++)
            assert_int_equal(length_of(&call, row), ends ? row : ROWS);
        tkj_call_release(&call);
    }
}

static void speculative_rows_beyond_the_int32_range_are_empty(void **state)
{
    (void)state;
    tkj_call call;
    open_six(&call);
    call.args.next_n = 6;
    rule_case_set(&call, TKJ_CALL_LENGTHS, RULE_SIZE_0, 1);
    *(int32_t *)call.tensors[TKJ_CALL_LENGTHS].tensor.data = INT32_MIN;
    topk_jit_select_args args = tkj_call_args(&call);
    assert_int_equal(topk_jit_select(rule_case_context(), &args, NULL), TOPK_JIT_OK);
    for (int64_t row = 0; row < ROWS; row++)
        assert_int_equal(length_of(&call, row), 0);
    tkj_call_release(&call);
}

/** The stride of lengths that need no arithmetic, in a call with or without row_starts; else 0. */
static int64_t simple_stride_of(tkj_call *call)
{
    tkj_select_problem problem;
    topk_jit_select_args args = tkj_call_args(call);
    assert_int_equal(tkj_problem_select(&args, &problem), TOPK_JIT_OK);
    tkj_call_release(call);
    const tkj_select_params *p = &problem.params;
    bool started = p->row_starts.data != NULL;
    assert_int_equal(started ? p->simple_stride : 0, 0);
    assert_int_equal(started ? 0 : p->simple / TKJ_STARTED, 0);
    return started ? (int64_t)(p->simple / TKJ_STARTED) : p->simple_stride;
}

static void windows_are_simple_only_where_lengths_are_as_given(void **state)
{
    (void)state;
    tkj_call call;
    open_six(&call);
    assert_int_equal(simple_stride_of(&call), 1);
    open_six(&call);
    rule_case_set(&call, TKJ_CALL_LENGTHS, RULE_STRIDE_0, 4);
    assert_int_equal(simple_stride_of(&call), 4);
    open_six(&call);
    rule_case_set(&call, TKJ_CALL_LENGTHS, RULE_STRIDE_0, 0); /* all rows share a length */
    assert_int_equal(simple_stride_of(&call), 0);
    open_six(&call);
    call.args.compress_ratio = 2;
    assert_int_equal(simple_stride_of(&call), 0);
    open_six(&call);
    call.args.next_n = 2;
    rule_case_set(&call, TKJ_CALL_LENGTHS, RULE_SIZE_0, ROWS / 2);
    assert_int_equal(simple_stride_of(&call), 0);
    open_six(&call);
    rule_case_add_input(&call, TKJ_CALL_ROW_STARTS, 1, ROWS, 1);
    assert_int_equal(simple_stride_of(&call), 1);
    open_six(&call);
    rule_case_drop(&call, TKJ_CALL_LENGTHS);
    assert_int_equal(simple_stride_of(&call), 0);
    open_six(&call);
    rule_case_set(&call, TKJ_CALL_SCORE, RULE_SIZE_0, ROWS - 1); /* a row of padding */
    rule_case_set(&call, TKJ_CALL_LENGTHS, RULE_SIZE_0, ROWS - 1);
    assert_int_equal(simple_stride_of(&call), 0);
}

static void the_stride_of_a_single_length_does_not_matter(void **state)
{
    (void)state;
    tkj_call call;
    open_six(&call);
    for (int which = 0; which < TKJ_CALL_TENSORS; which++)
        if (which == TKJ_CALL_SCORE || which == TKJ_CALL_LENGTHS || which == TKJ_CALL_INDICES ||
            which == TKJ_CALL_RAW_INDICES)
            rule_case_set(&call, (tkj_call_slot)which, RULE_SIZE_0, 1);
    rule_case_set(&call, TKJ_CALL_LENGTHS, RULE_STRIDE_0, 0);
    assert_int_equal(simple_stride_of(&call), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_legal_form_gives_its_rows_their_lengths),
        cmocka_unit_test(every_other_form_is_refused),
        cmocka_unit_test(lengths_and_row_ends_together_are_refused),
        cmocka_unit_test(row_ends_and_absent_lengths_are_not_divided),
        cmocka_unit_test(speculative_rows_beyond_the_int32_range_are_empty),
        cmocka_unit_test(windows_are_simple_only_where_lengths_are_as_given),
        cmocka_unit_test(the_stride_of_a_single_length_does_not_matter),
    };
    return cmocka_run_group_tests_name("problem_select_lengths", tests, rule_case_setup,
                                       rule_case_teardown);
}
