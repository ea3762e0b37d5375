/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and options of a selection, and the problem that a legal call becomes. */
#include "rule_case.h"

#include <string.h>

#include "problem.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Far from any other memory; only calls that read no data may have it. */
#define FAR_AWAY (INT64_C(1) << 46)

static void numbers_out_of_range_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t offset;
        int64_t value;
        const char *message;
    } numbers[] = {
        {offsetof(topk_jit_select_args, topk), 0, "topk is 0, expected at least 1"},
        {offsetof(topk_jit_select_args, topk), -1, "topk is -1, expected at least 1"},
        {offsetof(topk_jit_select_args, topk), INT64_MIN,
         "topk is -9223372036854775808, expected at least 1"},
        {offsetof(topk_jit_select_args, next_n), -1,
         "next_n is -1, expected at least 1, or 0 for 1"},
        {offsetof(topk_jit_select_args, next_n), INT64_MIN,
         "next_n is -9223372036854775808, expected at least 1, or 0 for 1"},
        {offsetof(topk_jit_select_args, next_n), 3,
         "score: size(0) is 4, expected a multiple of next_n = 3"},
        {offsetof(topk_jit_select_args, next_n), INT64_MAX,
         "score: size(0) is 4, expected a multiple of next_n = 9223372036854775807"},
        {offsetof(topk_jit_select_args, compress_ratio), -1,
         "compress_ratio is -1, expected at least 1, or 0 for 1"},
    };
    for (size_t i = 0; i < COUNT(numbers); i++) {
        tkj_call call;
        rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
        memcpy((char *)&call.args + numbers[i].offset, &numbers[i].value, sizeof(int64_t));
        rule_case_expect_refusal(&call, numbers[i].message);
    }
}

static void negative_max_sms_is_refused(void **state)
{
    (void)state;
    tkj_call call;
    rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
    call.args.max_sms = -1;
    rule_case_expect_refusal(&call, "max_sms is -1, expected at least 0");
}

static void unknown_tie_break_is_refused(void **state)
{
    (void)state;
    tkj_call call;
    rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
    call.args.tie_break = (topk_jit_tie_break)3;
    rule_case_expect_refusal(&call, "tie_break is 3, expected a topk_jit_tie_break");
}

/* Outputs of k slots, as wide as that. */
static void set_topk(tkj_call *call, int64_t topk)
{
    call->args.topk = call->spec.topk = topk;
    for (int slot = TKJ_CALL_INDICES; slot < TKJ_CALL_TENSORS; slot++) {
        topk_jit_dtype dtype = slot == TKJ_CALL_VALUES ? TOPK_JIT_FLOAT32 : TOPK_JIT_INT32;
        rule_case_drop(call, (tkj_call_slot)slot);
        tkj_call_add(call, (tkj_call_slot)slot, dtype, 2, RULE_OUT_ROWS, topk, topk, 1);
    }
}

static void topk_beyond_the_width_is_legal(void **state)
{
    (void)state;
    static const int64_t topks[] = {1, RULE_WIDTH - 1, RULE_WIDTH, RULE_WIDTH + 1, 1000};
    for (size_t i = 0; i < COUNT(topks); i++) {
        tkj_call call;
        rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
        set_topk(&call, topks[i]);
        rule_case_expect_success(&call);
    }
}

static void large_ratios_and_bounds_are_legal(void **state)
{
    (void)state;
    tkj_call call;
    rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
    call.args.compress_ratio = INT64_MAX;
    call.args.max_sms = INT32_MAX;
    rule_case_expect_success(&call);
}

/* A call of one row of any width, whose scores may be anywhere. */
static void open_wide(tkj_call *call, int64_t width)
{
    rule_case_open(call, TOPK_JIT_LAYOUT_PLAIN);
    rule_case_set(call, TKJ_CALL_SCORE, RULE_SIZE_0, 1);
    rule_case_set(call, TKJ_CALL_SCORE, RULE_SIZE_1, width);
    rule_case_set(call, TKJ_CALL_SCORE, RULE_DATA, FAR_AWAY);
}

static void use_int64_indices(tkj_call *call)
{
    rule_case_drop(call, TKJ_CALL_INDICES);
    tkj_call_add(call, TKJ_CALL_INDICES, TOPK_JIT_INT64, 2, RULE_OUT_ROWS, RULE_TOPK, RULE_TOPK, 1);
}

static void positions_beyond_int32_are_refused_with_int32_outputs(void **state)
{
    (void)state;
    static const char message[] =
        "score: size(1) is 2147483649, expected with int32 indices at most 2147483648";
    tkj_call call;
    open_wide(&call, (INT64_C(1) << 31) + 1);
    rule_case_expect_refusal(&call, message);
    open_wide(&call, (INT64_C(1) << 31) + 1);
    use_int64_indices(&call); /* raw_indices are int32 all the same */
    rule_case_expect_refusal(&call, message);
}

static void expect_spec(tkj_call *call, topk_jit_dtype index_dtype)
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    topk_jit_select_args args = tkj_call_args(call);
    assert_int_equal(topk_jit_select_spec(&args, &spec), TOPK_JIT_OK);
    assert_int_equal(spec.index_dtype, index_dtype);
    tkj_call_release(call);
}

static void widest_rows_that_fit_the_index_dtype_are_legal(void **state)
{
    (void)state;
    tkj_call call;
    open_wide(&call, INT64_C(1) << 31);
    expect_spec(&call, TOPK_JIT_INT32);
    open_wide(&call, INT64_C(1) << 40);
    use_int64_indices(&call);
    rule_case_drop(&call, TKJ_CALL_RAW_INDICES);
    expect_spec(&call, TOPK_JIT_INT64);
}

static void options_become_the_fields_of_the_spec(void **state)
{
    (void)state;
    tkj_call call;
    tkj_select_problem problem;
    rule_case_open(&call, TOPK_JIT_LAYOUT_PAGED);
    call.args.sorted = 1;
    call.args.deterministic = 2; /* any value but 0 */
    call.args.nan_last = 255;
    call.args.page_size = 64;
    call.args.check_counts = call.check_counts;
    topk_jit_select_args args = tkj_call_args(&call);
    assert_int_equal(tkj_problem_select(&args, &problem), TOPK_JIT_OK);
    const topk_jit_spec *spec = &problem.spec;
    assert_int_equal(spec->struct_size, sizeof *spec);
    assert_int_equal(spec->operation, TOPK_JIT_OPERATION_SELECT);
    assert_int_equal(spec->layout, TOPK_JIT_LAYOUT_PAGED);
    assert_int_equal(spec->topk, RULE_TOPK);
    assert_int_equal(spec->dtype, TOPK_JIT_FLOAT32);
    assert_int_equal(spec->index_dtype, TOPK_JIT_INT32);
    assert_int_equal(spec->page_size, 64);
    assert_int_equal(spec->tie_break, TOPK_JIT_TIE_BREAK_SMALLEST);
    assert_int_equal(spec->sorted, 1);
    assert_int_equal(spec->deterministic, 1);
    assert_int_equal(spec->nan_last, 1);
    assert_int_equal(spec->check, 1);
    tkj_call_release(&call);
}

static void every_score_dtype_becomes_that_of_the_spec(void **state)
{
    (void)state;
    static const struct {
        uint8_t code, bits;
        topk_jit_dtype dtype;
    } dtypes[] = {{kDLFloat, 32, TOPK_JIT_FLOAT32},
                  {kDLFloat, 16, TOPK_JIT_FLOAT16},
                  {kDLBfloat, 16, TOPK_JIT_BFLOAT16}};
    for (size_t i = 0; i < COUNT(dtypes); i++) {
        tkj_call call;
        topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
        rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
        rule_case_drop(&call, TKJ_CALL_VALUES);
        rule_case_set(&call, TKJ_CALL_SCORE, RULE_DTYPE_CODE, dtypes[i].code);
        rule_case_set(&call, TKJ_CALL_SCORE, RULE_DTYPE_BITS, dtypes[i].bits);
        topk_jit_select_args args = tkj_call_args(&call);
        assert_int_equal(topk_jit_select_spec(&args, &spec), TOPK_JIT_OK);
        assert_int_equal(spec.dtype, dtypes[i].dtype);
        tkj_call_release(&call);
    }
}

static void what_decides_at_launch_does_not_enter_the_spec(void **state)
{
    (void)state;
    tkj_call call;
    topk_jit_spec plain, other;
    memset(&plain, 0, sizeof plain);
    memset(&other, 0x5A, sizeof other); /* equal specs are equal bytes, whatever was there */
    plain.struct_size = other.struct_size = sizeof plain;
    rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
    topk_jit_select_args args = tkj_call_args(&call);
    assert_int_equal(topk_jit_select_spec(&args, &plain), TOPK_JIT_OK);
    rule_case_set(&call, TKJ_CALL_SCORE, RULE_STRIDE_0, RULE_WIDTH + 1);
    rule_case_drop(&call, TKJ_CALL_VALUES);
    rule_case_drop(&call, TKJ_CALL_RAW_INDICES);
    rule_case_drop(&call, TKJ_CALL_LENGTHS);
    args = tkj_call_args(&call);
    args.next_n = 2;
    args.compress_ratio = 3;
    args.max_sms = 7;
    args.pdl = 1;
    assert_int_equal(topk_jit_select_spec(&args, &other), TOPK_JIT_OK);
    assert_memory_equal(&plain, &other, sizeof plain);
    tkj_call_release(&call);
}

static void problem_holds_what_a_launch_needs(void **state)
{
    (void)state;
    tkj_call call;
    tkj_select_problem problem;
    rule_case_open_with(&call, TKJ_CALL_CU_SEQLENS_Q);
    call.args.max_sms = 7;
    call.args.pdl = 2;
    topk_jit_select_args args = tkj_call_args(&call);
    assert_int_equal(tkj_problem_select(&args, &problem), TOPK_JIT_OK);
    assert_true(problem.pdl);
    assert_int_equal(problem.device.device_type, kDLCPU);
    assert_int_equal(problem.shape.rows, RULE_OUT_ROWS);
    assert_int_equal(problem.shape.width, RULE_WIDTH);
    assert_int_equal(problem.shape.max_sms, 7);
    const tkj_select_params *p = &problem.params;
    assert_ptr_equal(p->score, args.score->data);
    assert_int_equal(p->score_stride, RULE_WIDTH + 2);
    assert_int_equal(p->rows, RULE_ROWS);
    assert_int_equal(p->out_rows, RULE_OUT_ROWS);
    assert_int_equal(p->next_n, 1);
    assert_int_equal(p->compress_ratio, 1);
    assert_int_equal(p->cu_batch, RULE_BATCH);
    assert_ptr_equal(p->cu_seqlens_q.data, args.cu_seqlens_q->data);
    assert_null(p->row_to_batch.data);
    assert_null(p->row_ends.data);
    assert_int_equal(p->simple, 0);
    assert_int_equal(p->page_table_rows, RULE_BATCH);
    assert_int_equal(p->page_table_width, RULE_PAGES);
    assert_int_equal(p->indices_stride, RULE_TOPK + 1);
    assert_ptr_equal(p->raw_indices, args.raw_indices->data);
    assert_ptr_equal(p->values, args.values->data);
    assert_null(p->check_counts);
    tkj_call_release(&call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(negative_max_sms_is_refused),
        cmocka_unit_test(unknown_tie_break_is_refused),
        cmocka_unit_test(topk_beyond_the_width_is_legal),
        cmocka_unit_test(large_ratios_and_bounds_are_legal),
        cmocka_unit_test(positions_beyond_int32_are_refused_with_int32_outputs),
        cmocka_unit_test(widest_rows_that_fit_the_index_dtype_are_legal),
        cmocka_unit_test(options_become_the_fields_of_the_spec),
        cmocka_unit_test(every_score_dtype_becomes_that_of_the_spec),
        cmocka_unit_test(what_decides_at_launch_does_not_enter_the_spec),
        cmocka_unit_test(problem_holds_what_a_launch_needs),
    };
    return cmocka_run_group_tests_name("problem_select_numbers", tests, rule_case_setup,
                                       rule_case_teardown);
}
