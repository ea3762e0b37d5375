/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "bench_axes.h"
#include "bench_case.h"
#include "bench_complain.h"
#include "bench_explain.h"
#include "device_facts.h"
#include "spread.h"
#include "testing.h"

static bench_case a_case(int64_t rows, int64_t width)
{
    bench_case what = BENCH_CASE_INIT;
    what.rows = rows;
    what.width = width;
    return bench_case_canonical(&what);
}

/* ---- spread ---- */

static void spread_has_the_middle_and_both_ends(void **state)
{
    (void)state;
    double odd[] = {3.0, 1.0, 9.0};
    double even[] = {4.0, 1.0, 2.0, 100.0};
    const tkj_spread of_odd = tkj_spread_of(odd, 3);
    const tkj_spread of_even = tkj_spread_of(even, 4);
    assert_true(of_odd.median == 3.0 && of_odd.least == 1.0 && of_odd.most == 9.0);
    assert_true(of_even.median == 3.0 && of_even.least == 1.0 && of_even.most == 100.0);
}

/* ---- cases ---- */

static void case_is_told_by_what_is_special(void **state)
{
    (void)state;
    char text[BENCH_CASE_TEXT_SIZE];
    bench_case what = a_case(64, 8192);
    bench_case_format(&what, text);
    assert_string_equal(text, "B=64 L=8192 hot");
    what.layout = TOPK_JIT_LAYOUT_PAGED;
    what.page_size = 1;
    what.sharing = 16;
    what.length = 100;
    what.mode = BENCH_COLD;
    what.sorted = true;
    bench_case_format(&what, text);
    assert_string_equal(text, "B=64 L=100 cold W=8192 paged1 sharing=16 sorted");
    bench_case_format_options(&what, text);
    assert_string_equal(text, "W=8192 paged1 sharing=16 sorted");
}

static void what_means_nothing_makes_no_other_case(void **state)
{
    (void)state;
    const bench_case plain = a_case(8, 4096);
    bench_case other = plain;
    other.page_size = 64;
    other.sharing = 3;
    other = bench_case_canonical(&other);
    assert_true(bench_case_equal(&plain, &other));
    other.topk = 5;
    assert_false(bench_case_equal(&plain, &other));
}

static void fast_topk_has_no_options_of_a_selection(void **state)
{
    (void)state;
    bench_case what = a_case(8, 4096);
    what.operation = TOPK_JIT_OPERATION_FAST_TOPK;
    const bench_case bare = bench_case_canonical(&what);
    what.sorted = what.mixed = what.row_starts = true;
    what.layout = TOPK_JIT_LAYOUT_RAGGED;
    what = bench_case_canonical(&what);
    assert_true(bench_case_equal(&bare, &what));
}

static void impossible_cases_are_refused(void **state)
{
    (void)state;
    bench_case what = a_case(8, 100);
    assert_null(bench_case_fault(&what));
    what.length = 101;
    assert_non_null(bench_case_fault(&what));
    what = a_case(8, 100);
    what.operation = TOPK_JIT_OPERATION_FAST_TOPK;
    assert_non_null(bench_case_fault(&what)); /* of 2048 */
    what = a_case(32768, 131072);
    what.layout = TOPK_JIT_LAYOUT_RAGGED;
    assert_non_null(bench_case_fault(&what));
}

static void row_starts_are_off_every_16_byte_boundary(void **state)
{
    (void)state;
    static const topk_jit_dtype dtypes[] = {TOPK_JIT_FLOAT32, TOPK_JIT_BFLOAT16};
    for (int d = 0; d < 2; d++) {
        bench_case what = a_case(50, 8192);
        what.dtype = dtypes[d];
        what.row_starts = true;
        for (int64_t row = 0; row < what.rows; row++) {
            const int64_t start = bench_case_start(&what, row);
            assert_int_not_equal((size_t)start * bench_case_score_size(&what) % 16, 0);
            assert_int_equal(start + bench_case_length(&what, row), what.width);
        }
    }
}

static void mixed_lengths_are_log_uniform(void **state)
{
    (void)state;
    bench_case what = a_case(1000, 16384);
    int64_t below_128 = 0;
    what.mixed = true;
    for (int64_t row = 0; row < what.rows; row++) {
        const int64_t length = bench_case_length(&what, row);
        assert_in_range(length, 1, 16384);
        below_128 += length < 128;
    }
    assert_in_range(below_128, 430, 570); /* half of them: 128 is the root of 16384 */
    assert_true(bench_case_longest(&what) > 15000);
    assert_true(bench_case_scores(&what) < INT64_C(2500000));
}

static void many_rows_repeat_so_that_they_cost_bounded_time(void **state)
{
    (void)state;
    bench_case what = a_case(4096, 65536);
    what.mixed = true;
    const int64_t distinct = bench_case_distinct_rows(&what);
    assert_true(distinct > 100 && distinct * what.width <= INT64_C(1) << 24);
    assert_int_equal(bench_case_length(&what, 7), bench_case_length(&what, 7 + distinct));
    what.rows = 16;
    assert_int_equal(bench_case_distinct_rows(&what), 16);
}

/* ---- lists ---- */

/** The cells of some lists, over 2 rows of 100. */
static bench_plan expand(const bench_lists *lists)
{
    bench_plan plan = {0};
    bench_cell base = {.what = BENCH_CASE_INIT};
    base.what.rows = 2;
    base.what.width = 100;
    assert_true(bench_axes_expand(lists, &base, &plan));
    return plan;
}

static void lists_are_multiplied(void **state)
{
    (void)state;
    bench_lists lists = {{NULL}};
    lists.words[BENCH_AXIS_ROWS] = "1,8";
    lists.words[BENCH_AXIS_DTYPE] = "float16,bfloat16,float32";
    lists.words[BENCH_AXIS_SORTED] = "off,on";
    bench_plan plan = expand(&lists);
    assert_int_equal(plan.cell_count, 12);
    assert_int_equal(plan.cells[11].what.rows, 8);
    assert_true(plan.cells[11].what.sorted && !plan.cells[10].what.sorted);
    bench_plan_release(&plan);
}

static void equal_combinations_are_measured_once(void **state)
{
    (void)state;
    bench_lists lists = {{NULL}};
    lists.words[BENCH_AXIS_LAYOUT] = "plain,paged";
    lists.words[BENCH_AXIS_PAGE_SIZE] = "1,64,64";
    bench_plan plan = expand(&lists);
    assert_int_equal(plan.cell_count, 3);
    bench_plan_release(&plan);
}

static void combinations_without_sense_are_left_out(void **state)
{
    (void)state;
    bench_lists lists = {{NULL}};
    lists.words[BENCH_AXIS_WIDTH] = "10,1000";
    lists.words[BENCH_AXIS_LENGTH] = "full,500,mixed,mixed:7";
    bench_plan plan = expand(&lists);
    assert_int_equal(plan.cell_count, 7);
    assert_int_equal(plan.refused, 1);
    assert_int_equal(plan.cells[2].what.length, 7);
    assert_true(plan.cells[2].what.mixed);
    bench_plan_release(&plan);
}

/* ---- launches ---- */

static void every_known_gpu_has_a_launch_for_every_layout(void **state)
{
    (void)state;
    for (size_t i = 0; i < tkj_known_device_count; i++)
        for (int layout = 0; layout < 3; layout++) {
            bench_case what = BENCH_CASE_INIT;
            bench_launch launch;
            what.rows = 64;
            what.width = 32768;
            what.layout = (topk_jit_layout)layout;
            what = bench_case_canonical(&what);
            assert_true(bench_explain(&what, &tkj_known_devices[i].facts, &launch));
            assert_true(launch.grid >= 1 && launch.variant.threads >= 32);
            assert_in_range(launch.variant_count, 1, TKJ_VARIANTS_MAX);
        }
}

static void long_rows_are_launched_twice_where_there_are_no_clusters(void **state)
{
    (void)state;
    bench_case what = a_case(2, 131072);
    bench_launch launch;
    assert_true(bench_explain(&what, &tkj_known_device("A100")->facts, &launch));
    assert_string_equal(launch.variant.name, "split");
    assert_int_equal(launch.first_grid, 32);
    assert_int_equal(launch.grid, 2);
    assert_true(bench_explain(&what, &tkj_known_device("H200")->facts, &launch));
    assert_int_equal(launch.first_grid, 0);
    what = a_case(2, 8192);
    assert_true(bench_explain(&what, &tkj_known_device("A100")->facts, &launch));
    assert_int_equal(launch.first_grid, 0);
}

static void gpus_are_found_by_name(void **state)
{
    (void)state;
    assert_int_equal(tkj_known_device("h200")->facts.sm_count, 132);
    assert_int_equal(tkj_known_device("T4")->facts.cluster_max, 0);
    assert_null(tkj_known_device("H2000"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spread_has_the_middle_and_both_ends),
        cmocka_unit_test(case_is_told_by_what_is_special),
        cmocka_unit_test(what_means_nothing_makes_no_other_case),
        cmocka_unit_test(fast_topk_has_no_options_of_a_selection),
        cmocka_unit_test(impossible_cases_are_refused),
        cmocka_unit_test(row_starts_are_off_every_16_byte_boundary),
        cmocka_unit_test(mixed_lengths_are_log_uniform),
        cmocka_unit_test(many_rows_repeat_so_that_they_cost_bounded_time),
        cmocka_unit_test(lists_are_multiplied),
        cmocka_unit_test(equal_combinations_are_measured_once),
        cmocka_unit_test(combinations_without_sense_are_left_out),
        cmocka_unit_test(every_known_gpu_has_a_launch_for_every_layout),
        cmocka_unit_test(long_rows_are_launched_twice_where_there_are_no_clusters),
        cmocka_unit_test(gpus_are_found_by_name),
    };
    return cmocka_run_group_tests_name("bench_case", tests, NULL, NULL);
}
