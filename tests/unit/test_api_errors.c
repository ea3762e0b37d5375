/* SPDX-License-Identifier: Apache-2.0 */
/* What every call checks beside its tensors: context, stream, memory. */
#include "rule_case.h"

#include <string.h>

#include "status.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A stream that is none: host calls refuse it before they look at it. */
#define SOME_STREAM ((CUstream)(uintptr_t)0x1000)

static void expect_error(topk_jit_status status, topk_jit_status expected, const char *message)
{
    assert_int_equal(status, expected);
    assert_string_equal(topk_jit_last_error()->message, message);
    assert_int_equal(topk_jit_last_error()->status, expected);
    assert_int_equal(topk_jit_last_error()->domain, expected / 10);
    assert_int_equal(topk_jit_last_error()->native_code, 0);
}

static void expect_untouched(const tkj_call *call)
{
    for (int slot = TKJ_CALL_INDICES; slot < TKJ_CALL_TENSORS; slot++) {
        const tkj_guarded *memory = &call->tensors[slot].memory;
        for (size_t i = 0; memory->block != NULL && i < memory->block_size; i++)
            assert_int_equal(memory->block[i], TKJ_GUARDED_POISON);
    }
}

/* The five calls, each with all its tensors. */
enum { CALL_SELECT, CALL_V2, CALL_PAGED, CALL_RAGGED, CALL_FAST_TOPK, CALLS };

static topk_jit_layout layout_of_call(int which)
{
    return which == CALL_PAGED    ? TOPK_JIT_LAYOUT_PAGED
           : which == CALL_RAGGED ? TOPK_JIT_LAYOUT_RAGGED
                                  : TOPK_JIT_LAYOUT_PLAIN;
}

static topk_jit_status make_call(topk_jit_context *context, int which, tkj_call *call,
                                 CUstream stream)
{
    topk_jit_select_args a = tkj_call_args(call);
    switch (which) {
    case CALL_V2:
        return topk_jit_fast_topk_v2(context, a.score, a.lengths, a.topk, a.row_starts, a.indices,
                                     stream);
    case CALL_PAGED:
        return topk_jit_fast_topk_transform_fused(context, a.score, a.lengths, a.page_table,
                                                  a.page_size, a.cu_seqlens_q, a.topk, a.row_starts,
                                                  a.indices, stream);
    case CALL_RAGGED:
        return topk_jit_fast_topk_transform_ragged_fused(context, a.score, a.lengths,
                                                         a.topk_indices_offset, a.topk,
                                                         a.row_starts, a.indices, stream);
    case CALL_FAST_TOPK:
        return topk_jit_fast_topk(context, a.score, a.topk, 1, a.values, a.indices, stream);
    default:
        return topk_jit_select(context, &a, stream);
    }
}

/* A legal call of each kind; fast_topk has R == B and int64 indices. */
static void open_call(tkj_call *call, int which)
{
    rule_case_open(call, layout_of_call(which));
    if (which != CALL_FAST_TOPK)
        return;
    rule_case_drop(call, TKJ_CALL_INDICES);
    tkj_call_add(call, TKJ_CALL_INDICES, TOPK_JIT_INT64, 2, RULE_ROWS, RULE_TOPK, RULE_TOPK, 0);
    rule_case_set(call, TKJ_CALL_VALUES, RULE_SIZE_0, RULE_ROWS);
}

static void every_call_is_legal(void **state)
{
    (void)state;
    for (int which = 0; which < CALLS; which++) {
        tkj_call call;
        open_call(&call, which);
        if (make_call(rule_case_context(), which, &call, NULL) != TOPK_JIT_OK)
            fail_msg("call %d: %s", which, topk_jit_last_error()->message);
        tkj_call_release(&call);
    }
}

static void context_of_null_is_refused_by_every_call(void **state)
{
    (void)state;
    static const char message[] = "context is NULL, expected a context";
    for (int which = 0; which < CALLS; which++) {
        tkj_call call;
        open_call(&call, which);
        expect_error(make_call(NULL, which, &call, NULL), TOPK_JIT_INVALID_ARGUMENT, message);
        expect_untouched(&call);
        tkj_call_release(&call);
    }
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    topk_jit_statistics statistics = TOPK_JIT_STATISTICS_INIT;
    expect_error(topk_jit_prepare(NULL, &spec, 1, NULL), TOPK_JIT_INVALID_ARGUMENT, message);
    expect_error(topk_jit_get_statistics(NULL, &statistics), TOPK_JIT_INVALID_ARGUMENT, message);
}

static void stream_is_refused_for_host_tensors_by_every_call(void **state)
{
    (void)state;
    for (int which = 0; which < CALLS; which++)
        for (int pinned = 0; pinned < 2; pinned++) {
            tkj_call call;
            open_call(&call, which);
            rule_case_set(&call, TKJ_CALL_SCORE, RULE_DEVICE_TYPE, pinned ? kDLCUDAHost : kDLCPU);
            expect_error(make_call(rule_case_context(), which, &call, SOME_STREAM),
                         TOPK_JIT_INVALID_ARGUMENT,
                         "stream is given, expected NULL for tensors on the host");
            expect_untouched(&call);
            tkj_call_release(&call);
        }
}

/* Each argument of the named operations reaches its check. */
static void named_operations_pass_every_argument_on(void **state)
{
    (void)state;
    static const struct {
        int which;
        tkj_call_slot slot;
        rule_part part;
        int64_t value;
        const char *message;
    } rules[] = {
        {CALL_V2, TKJ_CALL_SCORE, RULE_RANK, 1, "score: rank is 1, expected 2"},
        {CALL_V2, TKJ_CALL_LENGTHS, RULE_SIZE_0, 3, "lengths: size is 3, expected at least 4"},
        {CALL_V2, TKJ_CALL_ROW_STARTS, RULE_SIZE_0, 2,
         "row_starts: size is 2, expected at least 4"},
        {CALL_V2, TKJ_CALL_INDICES, RULE_SIZE_1, 5, "indices: size(1) is 5, expected topk = 3"},
        {CALL_PAGED, TKJ_CALL_SCORE, RULE_STRIDE_1, 2, "score: stride(1) is 2, expected 1"},
        {CALL_PAGED, TKJ_CALL_LENGTHS, RULE_SIZE_0, 3, "lengths: size is 3, expected at least 4"},
        {CALL_PAGED, TKJ_CALL_PAGE_TABLE, RULE_SIZE_0, 1,
         "page_table: size(0) is 1, expected at least 4"},
        {CALL_PAGED, TKJ_CALL_ROW_STARTS, RULE_DTYPE_BITS, 64,
         "row_starts: dtype is int64, expected int32"},
        {CALL_PAGED, TKJ_CALL_CU_SEQLENS_Q, RULE_RANK, 2, "cu_seqlens_q: rank is 2, expected 1"},
        {CALL_PAGED, TKJ_CALL_INDICES, RULE_SIZE_0, 3,
         "indices: size(0) is 3, expected at least 4"},
        {CALL_RAGGED, TKJ_CALL_SCORE, RULE_STRIDE_0, -1,
         "score: stride(0) is -1, expected at least 0"},
        {CALL_RAGGED, TKJ_CALL_OFFSET, RULE_SIZE_0, 3,
         "topk_indices_offset: size is 3, expected at least 4"},
        {CALL_RAGGED, TKJ_CALL_LENGTHS, RULE_STRIDE_0, -2,
         "lengths: stride(0) is -2, expected at least 0"},
        {CALL_RAGGED, TKJ_CALL_ROW_STARTS, RULE_DATA, 0,
         "row_starts: data is NULL, expected memory, since the tensor has elements"},
        {CALL_RAGGED, TKJ_CALL_INDICES, RULE_STRIDE_0, 1,
         "indices: stride(0) is 1, expected at least 3"},
        {CALL_FAST_TOPK, TKJ_CALL_SCORE, RULE_RANK, 65,
         "values: rank is 65, expected from 0 to 64"},
        {CALL_FAST_TOPK, TKJ_CALL_VALUES, RULE_SIZE_1, 2,
         "out_values: its size along dim is 2, expected 3"},
        {CALL_FAST_TOPK, TKJ_CALL_INDICES, RULE_SIZE_0, 5,
         "out_indices: a size off dim is 5, expected 4"},
    };
    for (size_t i = 0; i < COUNT(rules); i++) {
        tkj_call call;
        open_call(&call, rules[i].which);
        if (rules[i].slot == TKJ_CALL_CU_SEQLENS_Q)
            rule_case_add_input(&call, TKJ_CALL_CU_SEQLENS_Q, 1, RULE_BATCH + 1, 1);
        rule_case_set(&call, rules[i].slot, rules[i].part, rules[i].value);
        expect_error(make_call(rule_case_context(), rules[i].which, &call, NULL),
                     TOPK_JIT_INVALID_ARGUMENT, rules[i].message);
        expect_untouched(&call);
        tkj_call_release(&call);
    }
}

static void named_operations_check_their_numbers(void **state)
{
    (void)state;
    for (int which = CALL_V2; which <= CALL_RAGGED; which++) {
        tkj_call call;
        open_call(&call, which);
        call.args.topk = 0;
        expect_error(make_call(rule_case_context(), which, &call, NULL), TOPK_JIT_INVALID_ARGUMENT,
                     "topk is 0, expected at least 1");
        tkj_call_release(&call);
    }
    tkj_call call;
    open_call(&call, CALL_PAGED);
    call.args.page_size = 0;
    expect_error(make_call(rule_case_context(), CALL_PAGED, &call, NULL), TOPK_JIT_INVALID_ARGUMENT,
                 "page_size is 0, expected a power of two from 1 to 2^30");
    tkj_call_release(&call);
}

static void call_that_succeeds_leaves_the_last_error(void **state)
{
    (void)state;
    tkj_fail_native(TOPK_JIT_OS_FAILED, 9, "an earlier failure");
    for (int which = 0; which < CALLS; which++) {
        tkj_call call;
        open_call(&call, which);
        assert_int_equal(make_call(rule_case_context(), which, &call, NULL), TOPK_JIT_OK);
        assert_string_equal(topk_jit_last_error()->message, "an earlier failure");
        assert_int_equal(topk_jit_last_error()->native_code, 9);
        tkj_call_release(&call);
    }
}

static void call_without_memory_is_refused_and_writes_nothing(void **state)
{
    (void)state;
    for (int which = 0; which < CALLS; which++) {
        tkj_test_allocator memory;
        topk_jit_context *context;
        topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
        tkj_call call;
        tkj_test_allocator_init(&memory, 0);
        options.allocator = memory.allocator;
        assert_int_equal(topk_jit_context_create(&context, &options), TOPK_JIT_OK);
        memory.fail_at = memory.asked + 1;
        open_call(&call, which);
        assert_int_equal(make_call(context, which, &call, NULL), TOPK_JIT_OUT_OF_MEMORY);
        assert_int_equal(topk_jit_last_error()->status, TOPK_JIT_OUT_OF_MEMORY);
        assert_true(tkj_test_allocator_failed(&memory));
        expect_untouched(&call);
        assert_int_equal(make_call(context, which, &call, NULL), TOPK_JIT_OK);
        tkj_call_release(&call);
        topk_jit_context_destroy(context);
        assert_int_equal(memory.live, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_is_legal),
        cmocka_unit_test(context_of_null_is_refused_by_every_call),
        cmocka_unit_test(stream_is_refused_for_host_tensors_by_every_call),
        cmocka_unit_test(named_operations_pass_every_argument_on),
        cmocka_unit_test(named_operations_check_their_numbers),
        cmocka_unit_test(call_that_succeeds_leaves_the_last_error),
        cmocka_unit_test(call_without_memory_is_refused_and_writes_nothing),
    };
    return cmocka_run_group_tests_name("api_errors", tests, rule_case_setup, rule_case_teardown);
}
