/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "float16.h"
#include "ordered_key.h"

static uint64_t key_of_float32(bool nan_last, float value)
{
    return tkj_ordered_key(TOPK_JIT_FLOAT32, nan_last, &value);
}

static uint64_t key_of_float64(double value)
{
    return tkj_ordered_key(TOPK_JIT_FLOAT64, false, &value);
}

static void float32_keys_ascend_as_numbers_do(void **state)
{
    (void)state;
    const float ascending[] = {-INFINITY, -3.4e38F, -65505.0F, -65504.0F,  -1.0F,   -1e-40F,  0.0F,
                               1e-45F,    1.2e-38F, 1.0F,      1.0000001F, 3.4e38F, INFINITY, NAN};
    for (size_t i = 1; i < sizeof ascending / sizeof *ascending; i++)
        assert_true(key_of_float32(false, ascending[i - 1]) < key_of_float32(false, ascending[i]));
}

static void float64_keys_ascend_as_numbers_do(void **state)
{
    (void)state;
    const double ascending[] = {-INFINITY, -1e308, -1.0,        -5e-324,  0.0,
                                5e-324,    1.0,    1 + 0x1p-52, INFINITY, NAN};
    for (size_t i = 1; i < sizeof ascending / sizeof *ascending; i++)
        assert_true(key_of_float64(ascending[i - 1]) < key_of_float64(ascending[i]));
}

static void integer_keys_ascend_as_numbers_do(void **state)
{
    (void)state;
    const int32_t narrow[] = {INT32_MIN, -2, -1, 0, 1, INT32_MAX};
    const int64_t wide[] = {INT64_MIN, INT32_MIN, -1, 0, 1, INT32_MAX, INT64_MAX};
    for (size_t i = 1; i < sizeof narrow / sizeof *narrow; i++)
        assert_true(tkj_ordered_key(TOPK_JIT_INT32, false, &narrow[i - 1]) <
                    tkj_ordered_key(TOPK_JIT_INT32, false, &narrow[i]));
    for (size_t i = 1; i < sizeof wide / sizeof *wide; i++)
        assert_true(tkj_ordered_key(TOPK_JIT_INT64, false, &wide[i - 1]) <
                    tkj_ordered_key(TOPK_JIT_INT64, false, &wide[i]));
}

/* A pattern of a 16-bit dtype with its key and its number. */
typedef struct pattern {
    uint64_t key;
    float number;
} pattern;

static int compare_keys(const void *left, const void *right)
{
    uint64_t a = ((const pattern *)left)->key, b = ((const pattern *)right)->key;
    return (a > b) - (a < b);
}

static void check_all_patterns(topk_jit_dtype dtype, float (*to_float)(uint16_t))
{
    static pattern patterns[65536];
    for (uint32_t bits = 0; bits < 65536; bits++) {
        uint16_t element = (uint16_t)bits;
        patterns[bits] = (pattern){tkj_ordered_key(dtype, false, &element), to_float(element)};
    }
    qsort(patterns, 65536, sizeof *patterns, compare_keys);
    for (uint32_t i = 1; i < 65536; i++) {
        pattern a = patterns[i - 1], b = patterns[i];
        bool equal = a.number == b.number || (isnan(a.number) && isnan(b.number));
        assert_int_equal(a.key == b.key, equal);
        if (!equal)
            assert_true(a.number < b.number || isnan(b.number));
    }
}

static void all_float16_patterns_order_as_their_numbers(void **state)
{
    (void)state;
    check_all_patterns(TOPK_JIT_FLOAT16, tkj_float16_to_float);
}

static void all_bfloat16_patterns_order_as_their_numbers(void **state)
{
    (void)state;
    check_all_patterns(TOPK_JIT_BFLOAT16, tkj_bfloat16_to_float);
}

static void zeros_share_a_key(void **state)
{
    (void)state;
    assert_true(key_of_float32(false, 0.0F) == key_of_float32(false, -0.0F));
    assert_true(key_of_float64(0.0) == key_of_float64(-0.0));
}

static void nan_of_either_sign_and_any_payload_share_a_key(void **state)
{
    (void)state;
    const uint32_t bits[] = {0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF};
    for (int i = 0; i < 4; i++) {
        assert_true(tkj_ordered_key(TOPK_JIT_FLOAT32, false, &bits[i]) == UINT64_MAX);
        assert_true(tkj_ordered_key(TOPK_JIT_FLOAT32, true, &bits[i]) == 0);
    }
}

static void nan_last_puts_nan_below_minus_infinity_and_moves_no_number(void **state)
{
    (void)state;
    const topk_jit_dtype dtypes[] = {TOPK_JIT_FLOAT16, TOPK_JIT_BFLOAT16, TOPK_JIT_FLOAT32,
                                     TOPK_JIT_FLOAT64};
    const uint64_t minus_infinity[] = {0xFC00, 0xFF80, 0xFF800000, UINT64_C(0xFFF) << 52};
    for (int i = 0; i < 4; i++) {
        uint64_t key = tkj_ordered_key(dtypes[i], true, &minus_infinity[i]);
        assert_true(key > 0);
        assert_true(key == tkj_ordered_key(dtypes[i], false, &minus_infinity[i]));
    }
}

static void sizes_are_those_of_the_dtypes(void **state)
{
    (void)state;
    assert_int_equal(tkj_dtype_size(TOPK_JIT_FLOAT16), 2);
    assert_int_equal(tkj_dtype_size(TOPK_JIT_BFLOAT16), 2);
    assert_int_equal(tkj_dtype_size(TOPK_JIT_FLOAT32), 4);
    assert_int_equal(tkj_dtype_size(TOPK_JIT_INT32), 4);
    assert_int_equal(tkj_dtype_size(TOPK_JIT_FLOAT64), 8);
    assert_int_equal(tkj_dtype_size(TOPK_JIT_INT64), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(float32_keys_ascend_as_numbers_do),
        cmocka_unit_test(float64_keys_ascend_as_numbers_do),
        cmocka_unit_test(integer_keys_ascend_as_numbers_do),
        cmocka_unit_test(all_float16_patterns_order_as_their_numbers),
        cmocka_unit_test(all_bfloat16_patterns_order_as_their_numbers),
        cmocka_unit_test(zeros_share_a_key),
        cmocka_unit_test(nan_of_either_sign_and_any_payload_share_a_key),
        cmocka_unit_test(nan_last_puts_nan_below_minus_infinity_and_moves_no_number),
        cmocka_unit_test(sizes_are_those_of_the_dtypes),
    };
    return cmocka_run_group_tests_name("ordered_key", tests, NULL, NULL);
}
