/* SPDX-License-Identifier: Apache-2.0 */
/* Structs that cross the interface: NULL, of another version, and how far they are written. */
#include "rule_case.h"

#include <string.h>

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

/* The three functions that take arguments of a selection. */
static topk_jit_status use_args(int which, const topk_jit_select_args *args)
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    size_t size;
    return which == 0   ? topk_jit_select(rule_case_context(), args, NULL)
           : which == 1 ? topk_jit_select_spec(args, &spec)
                        : topk_jit_select_workspace_size(args, &size);
}

static void arguments_of_null_are_refused(void **state)
{
    (void)state;
    for (int which = 0; which < 3; which++)
        expect_error(use_args(which, NULL), TOPK_JIT_INVALID_ARGUMENT,
                     "topk_jit_select_args is NULL");
}

static void arguments_of_size_zero_are_a_mismatch(void **state)
{
    (void)state;
    tkj_call call;
    rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
    topk_jit_select_args args = tkj_call_args(&call);
    args.struct_size = 0;
    for (int which = 0; which < 3; which++) {
        assert_int_equal(use_args(which, &args), TOPK_JIT_ABI_MISMATCH);
        assert_non_null(strstr(topk_jit_last_error()->message,
                               "topk_jit_select_args.struct_size is 0, expected sizeof"));
    }
    expect_untouched(&call);
    tkj_call_release(&call);
}

/* Arguments of a version to come. */
typedef struct later_args {
    topk_jit_select_args args;
    uint64_t unknown[2];
} later_args;

static void unknown_field_that_is_set_is_a_mismatch(void **state)
{
    (void)state;
    for (int set = 0; set < 2; set++)
        for (int which = 0; which < 3; which++) {
            tkj_call call;
            rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
            later_args later = {.args = tkj_call_args(&call), .unknown = {0, set ? 1u << 31 : 0}};
            later.args.struct_size = sizeof later;
            topk_jit_status status = use_args(which, &later.args);
            assert_int_equal(status, set ? TOPK_JIT_ABI_MISMATCH : TOPK_JIT_OK);
            if (set) {
                assert_non_null(
                    strstr(topk_jit_last_error()->message, "topk_jit_select_args.struct_size is "));
                expect_untouched(&call);
            }
            tkj_call_release(&call);
        }
}

static void fields_that_an_older_caller_lacks_are_defaults(void **state)
{
    (void)state;
    tkj_call call;
    rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
    topk_jit_select_args args = tkj_call_args(&call);
    args.struct_size = offsetof(topk_jit_select_args, tie_break);
    memset((char *)&args + args.struct_size, 0xFF, sizeof args - args.struct_size);
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    assert_int_equal(topk_jit_select_spec(&args, &spec), TOPK_JIT_OK);
    assert_int_equal(spec.tie_break, TOPK_JIT_TIE_BREAK_NONE);
    assert_int_equal(spec.check, 0);
    assert_int_equal(topk_jit_select(rule_case_context(), &args, NULL), TOPK_JIT_OK);
    tkj_call_release(&call);
}

static void spec_of_a_selection_needs_a_place(void **state)
{
    (void)state;
    tkj_call call;
    rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
    topk_jit_select_args args = tkj_call_args(&call);
    topk_jit_spec spec = {.struct_size = 0, .topk = 77};
    expect_error(topk_jit_select_spec(&args, NULL), TOPK_JIT_INVALID_ARGUMENT,
                 "topk_jit_spec is NULL");
    assert_int_equal(topk_jit_select_spec(&args, &spec), TOPK_JIT_ABI_MISMATCH);
    assert_int_equal(spec.topk, 77);
    args.topk = -1;
    spec.struct_size = sizeof spec;
    assert_int_equal(topk_jit_select_spec(&args, &spec), TOPK_JIT_INVALID_ARGUMENT);
    assert_int_equal(spec.topk, 77);
    expect_untouched(&call);
    tkj_call_release(&call);
}

static void spec_of_an_older_caller_is_written_as_far_as_it_goes(void **state)
{
    (void)state;
    tkj_call call;
    rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
    topk_jit_select_args args = tkj_call_args(&call);
    topk_jit_spec spec = {.struct_size = offsetof(topk_jit_spec, page_size), .page_size = 99};
    assert_int_equal(topk_jit_select_spec(&args, &spec), TOPK_JIT_OK);
    assert_int_equal(spec.topk, RULE_TOPK);
    assert_int_equal(spec.page_size, 99);
    tkj_call_release(&call);
}

static void workspace_size_needs_a_place_and_legal_arguments(void **state)
{
    (void)state;
    tkj_call call;
    rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
    topk_jit_select_args args = tkj_call_args(&call);
    size_t size = 77;
    expect_error(topk_jit_select_workspace_size(&args, NULL), TOPK_JIT_INVALID_ARGUMENT,
                 "size is NULL, expected a place for the size");
    args.topk = 0;
    assert_int_equal(topk_jit_select_workspace_size(&args, &size), TOPK_JIT_INVALID_ARGUMENT);
    assert_int_equal(size, 77);
    args.topk = RULE_TOPK;
    assert_int_equal(topk_jit_select_workspace_size(&args, &size), TOPK_JIT_OK);
    assert_int_equal(size, 0);
    expect_untouched(&call);
    tkj_call_release(&call);
}

static void preparing_nothing_is_no_error(void **state)
{
    (void)state;
    assert_int_equal(topk_jit_prepare(rule_case_context(), NULL, 0, NULL), TOPK_JIT_OK);
}

static void specs_of_null_are_refused(void **state)
{
    (void)state;
    expect_error(topk_jit_prepare(rule_case_context(), NULL, 2, NULL), TOPK_JIT_INVALID_ARGUMENT,
                 "specs is NULL, expected 2 specs");
}

/* All specs are checked before the first costs time, or needs a GPU. */
static void wrong_spec_among_others_is_refused_first(void **state)
{
    (void)state;
    topk_jit_spec specs[3] = {TOPK_JIT_SPEC_INIT, TOPK_JIT_SPEC_INIT, TOPK_JIT_SPEC_INIT};
    specs[2].topk = 0;
    expect_error(topk_jit_prepare(rule_case_context(), specs, 3, NULL), TOPK_JIT_INVALID_ARGUMENT,
                 "topk is 0, expected at least 1");
    specs[2] = specs[0];
    specs[1].struct_size = 0;
    assert_int_equal(topk_jit_prepare(rule_case_context(), specs, 3, NULL), TOPK_JIT_ABI_MISMATCH);
    specs[0].struct_size = 0;
    assert_int_equal(topk_jit_prepare(rule_case_context(), specs, 3, NULL), TOPK_JIT_ABI_MISMATCH);
}

static void specs_lie_as_far_apart_as_the_caller_knows_them(void **state)
{
    (void)state;
    struct {
        topk_jit_spec spec;
        uint64_t unknown;
    } later[2] = {{TOPK_JIT_SPEC_INIT, 0}, {TOPK_JIT_SPEC_INIT, 0}};
    later[0].spec.struct_size = later[1].spec.struct_size = sizeof later[0];
    later[1].spec.page_size = 3;
    expect_error(topk_jit_prepare(rule_case_context(), &later[0].spec, 2, NULL),
                 TOPK_JIT_INVALID_ARGUMENT,
                 "page_size is 3, expected 0 unless the layout is paged");
    later[1].spec.page_size = 0;
    later[1].unknown = 1;
    assert_int_equal(topk_jit_prepare(rule_case_context(), &later[0].spec, 2, NULL),
                     TOPK_JIT_ABI_MISMATCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_of_null_are_refused),
        cmocka_unit_test(arguments_of_size_zero_are_a_mismatch),
        cmocka_unit_test(unknown_field_that_is_set_is_a_mismatch),
        cmocka_unit_test(fields_that_an_older_caller_lacks_are_defaults),
        cmocka_unit_test(spec_of_a_selection_needs_a_place),
        cmocka_unit_test(spec_of_an_older_caller_is_written_as_far_as_it_goes),
        cmocka_unit_test(workspace_size_needs_a_place_and_legal_arguments),
        cmocka_unit_test(preparing_nothing_is_no_error),
        cmocka_unit_test(specs_of_null_are_refused),
        cmocka_unit_test(wrong_spec_among_others_is_refused_first),
        cmocka_unit_test(specs_lie_as_far_apart_as_the_caller_knows_them),
    };
    return cmocka_run_group_tests_name("api_structs", tests, rule_case_setup, rule_case_teardown);
}
