/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "float16.h"
#include "scores.h"

enum { COUNT = 20000 };

static float row[COUNT];

static void fill(tkj_scores_distribution distribution, int64_t k)
{
    tkj_scores_fill(distribution, 7, k, TOPK_JIT_FLOAT32, row, COUNT, 1);
}

static int64_t count_above(float bound)
{
    int64_t count = 0;
    for (int i = 0; i < COUNT; i++)
        count += row[i] > bound;
    return count;
}

static void every_16_bit_number_survives_the_way_through_float(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        uint16_t element = (uint16_t)bits;
        if (!isnan(tkj_float16_to_float(element)))
            assert_int_equal(tkj_float16_from_float(tkj_float16_to_float(element)), element);
        if (!isnan(tkj_bfloat16_to_float(element)))
            assert_int_equal(tkj_bfloat16_from_float(tkj_bfloat16_to_float(element)), element);
    }
}

static void float16_has_its_known_numbers(void **state)
{
    (void)state;
    assert_true(tkj_float16_to_float(0x3C00) == 1.0F);
    assert_true(tkj_float16_to_float(0x7BFF) == 65504.0F);
    assert_true(tkj_float16_to_float(0x0001) == 0x1p-24F);
    assert_true(tkj_float16_to_float(0x83FF) == -0x1.ff8p-15F);
    assert_true(tkj_float16_to_float(0xFC00) == -INFINITY);
    assert_true(isnan(tkj_float16_to_float(0x7C01)));
    assert_true(tkj_bfloat16_to_float(0x3F80) == 1.0F);
}

/* Between each two neighbours of the positive numbers: just below, at and just above the middle.
   The step beyond the greatest finite number leads to infinity. */
static void check_rounding(uint16_t infinity, float (*to_float)(uint16_t),
                           uint16_t (*from_float)(float))
{
    for (uint16_t low = 0; low < infinity; low++) {
        float from = to_float(low);
        float below = low > 0 ? to_float((uint16_t)(low - 1)) : 0.0F;
        float step = low + 1 == infinity ? from - below : to_float((uint16_t)(low + 1)) - from;
        float middle = from + step / 2;
        uint16_t even = (uint16_t)(low + (low & 1));
        assert_int_equal(from_float(middle), even);
        assert_int_equal(from_float(-middle), even | 0x8000);
        assert_int_equal(from_float(nextafterf(middle, 0.0F)), low);
        assert_int_equal(from_float(nextafterf(middle, INFINITY)), low + 1);
    }
}

static void conversions_round_to_nearest_even(void **state)
{
    (void)state;
    check_rounding(0x7C00, tkj_float16_to_float, tkj_float16_from_float);
    check_rounding(0x7F80, tkj_bfloat16_to_float, tkj_bfloat16_from_float);
}

static void nan_stays_nan_in_16_bits(void **state)
{
    (void)state;
    const uint32_t bits[] = {0x7F800001, 0xFF800001, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FC00000};
    for (int i = 0; i < 5; i++) {
        float value;
        memcpy(&value, &bits[i], sizeof value);
        assert_true(isnan(tkj_float16_to_float(tkj_float16_from_float(value))));
        assert_true(isnan(tkj_bfloat16_to_float(tkj_bfloat16_from_float(value))));
        assert_int_equal(tkj_float16_from_float(value) >> 15, bits[i] >> 31);
    }
}

static void names_lead_back_to_their_distribution(void **state)
{
    (void)state;
    for (int d = 0; d < TKJ_SCORES_COUNT; d++) {
        tkj_scores_distribution parsed;
        assert_true(tkj_scores_parse(tkj_scores_name((tkj_scores_distribution)d), &parsed));
        assert_int_equal(parsed, d);
    }
    tkj_scores_distribution untouched = TKJ_SCORES_RELU;
    assert_false(tkj_scores_parse("no-such-name", &untouched));
    assert_int_equal(untouched, TKJ_SCORES_RELU);
}

static void same_seed_gives_the_same_row_at_any_stride(void **state)
{
    (void)state;
    static float spread[3 * COUNT];
    for (int d = 0; d < TKJ_SCORES_COUNT; d++) {
        fill((tkj_scores_distribution)d, 50);
        tkj_scores_fill((tkj_scores_distribution)d, 7, 50, TOPK_JIT_FLOAT32, spread, COUNT, 3);
        for (int i = 0; i < COUNT; i++)
            assert_memory_equal(&spread[3L * i], &row[i], sizeof *row);
    }
}

static void plateaus_straddle_the_kth_place(void **state)
{
    (void)state;
    const int64_t k = 2048;
    fill(TKJ_SCORES_RELU, k);
    assert_in_range(count_above(0.0F), k / 4, k - 1);
    assert_int_equal(count_above(-1.0F), COUNT);
    fill(TKJ_SCORES_MASKED, k);
    assert_in_range(count_above(-INFINITY), k / 4, k - 1);
    fill(TKJ_SCORES_SIGNED_ZEROS, k);
    assert_in_range(count_above(0.0F), k / 4, k - 1);
    assert_true(count_above(-0.5F) > k);
}

static void normal_scores_have_mean_0_and_variance_1(void **state)
{
    (void)state;
    double sum = 0, squares = 0;
    fill(TKJ_SCORES_NORMAL, 1);
    for (int i = 0; i < COUNT; i++) {
        sum += row[i];
        squares += (double)row[i] * row[i];
    }
    assert_true(fabs(sum / COUNT) < 0.05);
    assert_true(fabs(squares / COUNT - 1.0) < 0.05);
}

static void forced_scores_are_infinite_at_both_ends(void **state)
{
    (void)state;
    fill(TKJ_SCORES_FORCED, 1);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(isinf(row[i]) != 0, i < 4 || i >= COUNT - 64);
}

static void ranges_are_kept(void **state)
{
    (void)state;
    fill(TKJ_SCORES_NARROW, 1);
    assert_int_equal(count_above(0x1.fffffep-1F), COUNT);
    assert_int_equal(count_above(1.245F), 0);
    fill(TKJ_SCORES_FAR_BELOW, 1);
    assert_int_equal(count_above(-65504.0F), 0);
    fill(TKJ_SCORES_OUTLIER, 1);
    assert_int_equal(count_above(1e29F), 1);
}

static void denormals_are_those_of_the_dtype(void **state)
{
    (void)state;
    static uint16_t narrow[COUNT];
    fill(TKJ_SCORES_DENORMAL, 1);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(fpclassify(row[i]), FP_SUBNORMAL);
    tkj_scores_fill(TKJ_SCORES_DENORMAL, 7, 1, TOPK_JIT_FLOAT16, narrow, COUNT, 1);
    for (int i = 0; i < COUNT; i++)
        assert_in_range(narrow[i] & 0x7FFF, 1, 0x3FF);
    tkj_scores_fill(TKJ_SCORES_DENORMAL, 7, 1, TOPK_JIT_BFLOAT16, narrow, COUNT, 1);
    for (int i = 0; i < COUNT; i++)
        assert_in_range(narrow[i] & 0x7FFF, 1, 0x7F);
    tkj_scores_fill(TKJ_SCORES_FEW_DENORMALS, 7, 1, TOPK_JIT_FLOAT16, narrow, COUNT, 1);
    for (int i = 0; i < COUNT; i++)
        assert_in_range(narrow[i], 1, 64);
}

static void half_of_the_scores_are_infinite(void **state)
{
    (void)state;
    int infinite = 0;
    fill(TKJ_SCORES_INFINITE, 1);
    for (int i = 0; i < COUNT; i++)
        infinite += isinf(row[i]) && row[i] > 0.0F;
    assert_in_range(infinite, COUNT * 4 / 10, COUNT * 6 / 10);
}

static void one_nan_in_a_hundred_of_either_sign(void **state)
{
    (void)state;
    int nan[2] = {0, 0};
    fill(TKJ_SCORES_SOME_NAN, 1);
    for (int i = 0; i < COUNT; i++)
        if (isnan(row[i]))
            nan[signbit(row[i]) != 0]++;
    assert_in_range(nan[0], COUNT / 400, COUNT / 100);
    assert_in_range(nan[1], COUNT / 400, COUNT / 100);
}

static void indexer_rows_have_ever_larger_zero_plateaus(void **state)
{
    (void)state;
    int64_t positive[8];
    for (int64_t i = 0; i < 8; i++) {
        tkj_scores_fill_indexer(3, i, TOPK_JIT_FLOAT32, row, COUNT);
        assert_int_equal(count_above(-0.5F), COUNT);
        positive[i] = count_above(0.0F);
    }
    assert_in_range(positive[0], COUNT * 3 / 4, COUNT - 1);
    assert_in_range(positive[7], 1, COUNT / 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_16_bit_number_survives_the_way_through_float),
        cmocka_unit_test(float16_has_its_known_numbers),
        cmocka_unit_test(conversions_round_to_nearest_even),
        cmocka_unit_test(nan_stays_nan_in_16_bits),
        cmocka_unit_test(names_lead_back_to_their_distribution),
        cmocka_unit_test(same_seed_gives_the_same_row_at_any_stride),
        cmocka_unit_test(plateaus_straddle_the_kth_place),
        cmocka_unit_test(normal_scores_have_mean_0_and_variance_1),
        cmocka_unit_test(forced_scores_are_infinite_at_both_ends),
        cmocka_unit_test(ranges_are_kept),
        cmocka_unit_test(denormals_are_those_of_the_dtype),
        cmocka_unit_test(half_of_the_scores_are_infinite),
        cmocka_unit_test(one_nan_in_a_hundred_of_either_sign),
        cmocka_unit_test(indexer_rows_have_ever_larger_zero_plateaus),
    };
    return cmocka_run_group_tests_name("scores", tests, NULL, NULL);
}
