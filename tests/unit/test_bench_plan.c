/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "bench_plan.h"
#include "bench_sets.h"
#include "testing.h"

static bench_case a_case(int64_t rows, int64_t width)
{
    bench_case what = BENCH_CASE_INIT;
    what.rows = rows;
    what.width = width;
    return bench_case_canonical(&what);
}

static size_t add(bench_plan *plan, const bench_case *what, double must)
{
    const bench_cell cell = {.what = *what, .must = must};
    return bench_plan_add(plan, &cell);
}

/** Says what one round measured of a cell. */
static void measured(bench_plan *plan, size_t cell, double us)
{
    const tkj_spread round = {us, us, us};
    bench_result_add(&plan->cells[cell].result, round);
}

/* ---- cells ---- */

static void case_is_in_a_plan_once(void **state)
{
    (void)state;
    bench_plan plan = {0};
    for (int64_t rows = 1; rows <= 100; rows++) {
        const bench_case what = a_case(rows, 8192);
        assert_int_equal(add(&plan, &what, 1.0), rows - 1);
        assert_int_equal(add(&plan, &what, 2.0), rows - 1);
    }
    assert_int_equal(plan.cell_count, 100);
    assert_true(plan.cells[42].must == 1.0);
    bench_plan_release(&plan);
}

static void rounds_come_together_in_the_median_of_their_medians(void **state)
{
    (void)state;
    static const tkj_spread rounds[] = {{5.0, 4.0, 6.0}, {9.0, 8.0, 30.0}, {6.0, 3.0, 7.0}};
    bench_result result = {.outcome = BENCH_LEFT_OUT};
    for (int i = 0; i < 3; i++)
        bench_result_add(&result, rounds[i]);
    assert_int_equal(result.outcome, BENCH_MEASURED);
    assert_true(result.us.median == 6.0 && result.us.least == 3.0 && result.us.most == 30.0);
    assert_true(result.medians[1] == 9.0);
}

static void must_is_met_up_to_the_noise(void **state)
{
    (void)state;
    bench_plan plan = {0};
    const bench_case what = a_case(1, 8192);
    add(&plan, &what, 10.0);
    measured(&plan, 0, 10.29);
    assert_true(bench_cell_met(&plan.cells[0]));
    plan.cells[0].result.us.median = 10.31;
    assert_false(bench_cell_met(&plan.cells[0]));
    bench_plan_release(&plan);
}

/* ---- rules ---- */

static void rule_allows_the_largest_of_its_terms(void **state)
{
    (void)state;
    bench_plan plan = {0};
    const bench_case subject = a_case(1, 8192), reference = a_case(1, 4096);
    bench_rule *rule = bench_plan_add_rule(&plan, "either", &subject);
    bench_plan_add_term(&plan, rule, BENCH_BASE_CELL, &reference, 1.1, 0.0);
    bench_plan_add_term(&plan, rule, BENCH_BASE_CELL, &reference, 1.0, 0.5);
    assert_false(bench_rule_judge(&plan, rule).known);
    measured(&plan, 0, 3.0);
    assert_false(bench_rule_judge(&plan, rule).known);
    measured(&plan, 1, 2.0);
    const bench_verdict verdict = bench_rule_judge(&plan, rule);
    assert_true(verdict.known && verdict.limit_us == 2.5 && !verdict.kept);
    plan.cells[0].result.us.median = 2.51;
    assert_true(bench_rule_judge(&plan, rule).kept);
    bench_plan_release(&plan);
}

static void rule_may_compare_with_a_figure_or_a_floor(void **state)
{
    (void)state;
    bench_plan plan = {0};
    const bench_case subject = a_case(1, 8192);
    bench_rule *rule = bench_plan_add_rule(&plan, "figure", &subject);
    bench_plan_add_term(&plan, rule, BENCH_BASE_FIGURE, NULL, 0.0, 7.0);
    measured(&plan, 0, 8.0);
    assert_true(bench_rule_judge(&plan, rule).limit_us == 7.0);
    bench_plan_add_term(&plan, rule, BENCH_BASE_WRITE, NULL, 1.25, 0.0);
    assert_false(bench_rule_judge(&plan, rule).known);
    plan.cells[0].result.write_us = 8.0;
    assert_true(bench_rule_judge(&plan, rule).kept);
    bench_plan_release(&plan);
}

static void filter_keeps_what_the_rules_need(void **state)
{
    (void)state;
    bench_plan plan = {0};
    const bench_case cases[] = {a_case(1, 100), a_case(2, 200), a_case(3, 300)};
    bench_rule *first = bench_plan_add_rule(&plan, "first", &cases[0]);
    bench_plan_add_term(&plan, first, BENCH_BASE_CELL, &cases[1], 1.0, 0.0);
    bench_rule *second = bench_plan_add_rule(&plan, "second", &cases[2]);
    bench_plan_add_term(&plan, second, BENCH_BASE_CELL, &cases[1], 1.0, 0.0);
    bench_plan_filter(&plan, "second");
    assert_int_equal(plan.rule_count, 1);
    assert_int_equal(plan.cell_count, 2);
    assert_int_equal(plan.cells[plan.rules[0].subject].what.rows, 3);
    assert_int_equal(plan.cells[plan.rules[0].terms[0].cell].what.rows, 2);
    bench_plan_release(&plan);
}

static void filter_without_rules_looks_at_the_line(void **state)
{
    (void)state;
    bench_plan plan = {0};
    for (int64_t rows = 1; rows < 20; rows++) {
        const bench_case what = a_case(rows, 8192);
        add(&plan, &what, 0.0);
    }
    bench_plan_filter(&plan, "B=1 ");
    assert_int_equal(plan.cell_count, 1);
    bench_plan_release(&plan);
}

/* ---- sets ---- */

static void table_has_a_figure_for_each_cell(void **state)
{
    (void)state;
    bench_plan plan = {0};
    bench_set_find("must")->add(&plan);
    assert_int_equal(plan.cell_count, bench_figure_count);
    assert_int_equal(bench_full_figure_count, 25);
    for (size_t i = 0; i < plan.cell_count; i++) {
        const bench_cell *cell = &plan.cells[i];
        assert_true(cell->must > 0.0 && cell->aim < cell->must);
        assert_int_equal(cell->what.length == cell->what.width, i < bench_full_figure_count);
        assert_int_equal(cell->aim > 0.0, i < bench_full_figure_count);
    }
    bench_plan_release(&plan);
}

static bool has(const bench_plan *plan, bool (*property)(const bench_case *what))
{
    for (size_t i = 0; i < plan->cell_count; i++)
        if (property(&plan->cells[i].what))
            return true;
    return false;
}

static bool starts_off_a_boundary(const bench_case *what)
{
    return what->row_starts;
}

static bool is_wide(const bench_case *what)
{
    return what->width == 163840 && what->length < 8192;
}

static bool has_forced_scores(const bench_case *what)
{
    return what->distribution == TKJ_SCORES_FORCED;
}

static void standard_set_has_what_breaks_kernels(void **state)
{
    (void)state;
    bench_plan plan = {0};
    bench_set_find("standard")->add(&plan);
    assert_true(has(&plan, starts_off_a_boundary));
    assert_true(has(&plan, is_wide));
    assert_true(has(&plan, has_forced_scores));
    bench_plan_release(&plan);
}

static size_t count_rules(const bench_plan *plan, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->rule_count; i++)
        count += strcmp(plan->rules[i].name, name) == 0;
    return count;
}

static void every_bound_has_rules(void **state)
{
    (void)state;
    static const char *const names[] = {"width",  "short",   "mixed", "data",  "dtype",
                                        "layout", "options", "topk",  "shared"};
    bench_plan plan = {0};
    bench_set_find("rules")->add(&plan);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_true(count_rules(&plan, names[i]) > 0);
    assert_int_equal(count_rules(&plan, "width"), 32);
    assert_int_equal(count_rules(&plan, "data"), 25 * (TKJ_SCORES_COUNT - 1));
    assert_int_equal(plan.refused, 0);
    for (size_t i = 0; i < plan.rule_count; i++)
        assert_true(plan.rules[i].term_count > 0);
    bench_plan_release(&plan);
}

static void unknown_set_is_not_found(void **state)
{
    (void)state;
    assert_null(bench_set_find("everything"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_is_in_a_plan_once),
        cmocka_unit_test(rounds_come_together_in_the_median_of_their_medians),
        cmocka_unit_test(must_is_met_up_to_the_noise),
        cmocka_unit_test(rule_allows_the_largest_of_its_terms),
        cmocka_unit_test(rule_may_compare_with_a_figure_or_a_floor),
        cmocka_unit_test(filter_keeps_what_the_rules_need),
        cmocka_unit_test(filter_without_rules_looks_at_the_line),
        cmocka_unit_test(table_has_a_figure_for_each_cell),
        cmocka_unit_test(standard_set_has_what_breaks_kernels),
        cmocka_unit_test(every_bound_has_rules),
        cmocka_unit_test(unknown_set_is_not_found),
    };
    return cmocka_run_group_tests_name("bench_plan", tests, NULL, NULL);
}
