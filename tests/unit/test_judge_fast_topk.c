/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "judge.h"

static const int64_t numbers[6] = {4, INT64_MAX, 4, INT64_MAX - 1, INT64_MIN, 4};

static bool judge_numbers(const int64_t *indices, const int64_t *values, char *message)
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.operation = TOPK_JIT_OPERATION_FAST_TOPK;
    spec.dtype = spec.index_dtype = TOPK_JIT_INT64;
    spec.topk = 3;
    int64_t indices_copy[3], values_copy[3];
    memcpy(indices_copy, indices, sizeof indices_copy);
    memcpy(values_copy, values, sizeof values_copy);
    tkj_fast_topk_params params = {.in = numbers,
                                   .values = values_copy,
                                   .indices = indices_copy,
                                   .rows = 1,
                                   .size = 6,
                                   .in_stride = 1,
                                   .values_stride = 1,
                                   .indices_stride = 1};
    return tkj_judge_fast_topk(&spec, &params, message);
}

static void expect_numbers_rejected(const int64_t *indices, const int64_t *values,
                                    const char *message)
{
    char found[TKJ_JUDGE_MESSAGE_SIZE] = "accepted";
    assert_false(judge_numbers(indices, values, found));
    assert_string_equal(found, message);
}

static const int64_t right[3] = {1, 3, 0};
static const int64_t right_values[3] = {INT64_MAX, INT64_MAX - 1, 4};

static void right_result_is_accepted(void **state)
{
    (void)state;
    char message[TKJ_JUDGE_MESSAGE_SIZE];
    assert_true(judge_numbers(right, right_values, message));
}

static void wrong_order_is_rejected(void **state)
{
    (void)state;
    expect_numbers_rejected((const int64_t[]){3, 1, 0}, right_values,
                            "row 0, slot 1: expected a score of at most 9223372036854775806, "
                            "found 9223372036854775807");
}

static void wrong_tie_is_rejected(void **state)
{
    (void)state;
    expect_numbers_rejected((const int64_t[]){1, 3, 2}, right_values,
                            "row 0, slot 2: expected position 0 of the equal scores 4, found 2");
}

static void smaller_element_is_rejected(void **state)
{
    (void)state;
    expect_numbers_rejected((const int64_t[]){1, 3, 4}, right_values,
                            "row 0, slot 2: expected position 0 with score 4, found 4 with score "
                            "-9223372036854775808");
}

static void index_outside_the_dimension_is_rejected(void **state)
{
    (void)state;
    expect_numbers_rejected((const int64_t[]){1, 3, 6}, right_values,
                            "row 0, slot 2: expected a position in [0, 6), found 6");
}

static void wrong_value_is_rejected(void **state)
{
    (void)state;
    expect_numbers_rejected(right, (const int64_t[]){INT64_MAX, INT64_MAX, 4},
                            "row 0, slot 1: expected the bits of position 3, found others");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_result_is_accepted),
        cmocka_unit_test(wrong_order_is_rejected),
        cmocka_unit_test(wrong_tie_is_rejected),
        cmocka_unit_test(smaller_element_is_rejected),
        cmocka_unit_test(index_outside_the_dimension_is_rejected),
        cmocka_unit_test(wrong_value_is_rejected),
    };
    return cmocka_run_group_tests_name("judge_fast_topk", tests, NULL, NULL);
}
