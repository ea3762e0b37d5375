/* SPDX-License-Identifier: Apache-2.0 */
#include "testing.h"

#include <stdio.h>

#include "target.h"

static void every_known_architecture_has_two_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < tkj_architecture_count; i++)
        for (int ptx = 0; ptx < 2; ptx++) {
            tkj_target target = {tkj_architectures[i].number, ptx != 0}, back = {0, false};
            char name[TKJ_TARGET_NAME_SIZE];
            tkj_target_format(target, name);
            assert_true(tkj_target_parse(name, &back));
            assert_int_equal(back.architecture, target.architecture);
            assert_int_equal(back.ptx, target.ptx);
        }
}

static void names_are_those_of_the_toolkit(void **state)
{
    (void)state;
    char name[TKJ_TARGET_NAME_SIZE];
    tkj_target_format((tkj_target){90, false}, name);
    assert_string_equal(name, "sm_90");
    tkj_target_format((tkj_target){121, true}, name);
    assert_string_equal(name, "compute_121");
}

static void greatest_number_fits_the_name(void **state)
{
    (void)state;
    char name[TKJ_TARGET_NAME_SIZE];
    tkj_target_format((tkj_target){9999999, true}, name);
    assert_string_equal(name, "compute_9999999");
}

static void suffix_a_is_a_synonym_from_sm_90_on(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int architecture;
    } synonyms[] = {{"sm_90a", 90}, {"sm_100a", 100}, {"sm_103a", 103}, {"sm_120a", 120}};
    for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++) {
        tkj_target target = {0, true};
        assert_true(tkj_target_parse(synonyms[i].name, &target));
        assert_int_equal(target.architecture, synonyms[i].architecture);
        assert_false(target.ptx);
    }
}

static void other_names_are_unknown(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",       "sm_",         "sm_9",     "sm_70",   "sm_91",      "sm_900",  "sm_90aa",
        "sm_90b", "sm_90 ",      "sm_89a",   "SM_90",   " sm_90",     "sm90",    "90",
        "sm_-90", "compute_90a", "compute_", "compute", "compute_91", "sm_1210", "sm_130"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        tkj_target target = {77, true};
        if (tkj_target_parse(names[i], &target))
            fail_msg("\"%s\" was read as %d", names[i], target.architecture);
        assert_int_equal(target.architecture, 77);
    }
}

static void architectures_ascend(void **state)
{
    (void)state;
    for (size_t i = 1; i < tkj_architecture_count; i++)
        assert_true(tkj_architectures[i - 1].number < tkj_architectures[i].number);
}

static void variants_are_those_of_the_highest_known_architecture_below(void **state)
{
    (void)state;
    static const int known[][3] = {
        {7, 5, 75},   {8, 0, 80},   {8, 6, 86}, {8, 9, 89}, {9, 0, 90}, {10, 3, 103}, {12, 1, 121},
        {13, 0, 121}, {10, 1, 100}, {9, 9, 90}, {7, 6, 75}, {7, 4, 0},  {6, 1, 0},    {0, 0, 0}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        assert_int_equal(tkj_target_known_below(known[i][0], known[i][1]), known[i][2]);
}

/* Compares the order with names in a row: "sm_90 compute_90 ...". */
static void expect_order(int major, int minor, const char *expected)
{
    tkj_target order[TKJ_TARGET_ORDER_MAX];
    char text[TKJ_TARGET_ORDER_MAX * (TKJ_TARGET_NAME_SIZE + 1)] = "";
    size_t count = tkj_target_order(major, minor, order);
    int used = 0;
    for (size_t i = 0; i < count; i++) {
        char name[TKJ_TARGET_NAME_SIZE];
        tkj_target_format(order[i], name);
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%s", i > 0 ? " " : "", name);
    }
    assert_string_equal(text, expected);
}

static void own_code_is_first_then_lower_minors_then_ptx(void **state)
{
    (void)state;
    expect_order(7, 5, "sm_75 compute_75");
    expect_order(8, 0, "sm_80 compute_80 compute_75");
    expect_order(8, 9,
                 "sm_89 sm_88 sm_87 sm_86 sm_80 compute_89 compute_88 compute_87 compute_86 "
                 "compute_80 compute_75");
    expect_order(9, 0,
                 "sm_90 compute_90 compute_89 compute_88 compute_87 compute_86 compute_80 "
                 "compute_75");
    expect_order(10, 3,
                 "sm_103 sm_100 compute_103 compute_100 compute_90 compute_89 compute_88 "
                 "compute_87 compute_86 compute_80 compute_75");
    expect_order(12, 1,
                 "sm_121 sm_120 compute_121 compute_120 compute_110 compute_103 compute_100 "
                 "compute_90 compute_89 compute_88 compute_87 compute_86 compute_80 compute_75");
}

static void unknown_gpu_runs_its_own_code_or_ptx(void **state)
{
    (void)state;
    expect_order(13, 0,
                 "sm_130 compute_121 compute_120 compute_110 compute_103 compute_100 compute_90 "
                 "compute_89 compute_88 compute_87 compute_86 compute_80 compute_75");
    expect_order(12, 7,
                 "sm_127 sm_121 sm_120 compute_121 compute_120 compute_110 compute_103 "
                 "compute_100 compute_90 compute_89 compute_88 compute_87 compute_86 compute_80 "
                 "compute_75");
    expect_order(6, 1, "sm_61");
}

static void every_order_fits_and_repeats_nothing(void **state)
{
    (void)state;
    for (int major = 1; major < 20; major++)
        for (int minor = 0; minor < 10; minor++) {
            tkj_target order[TKJ_TARGET_ORDER_MAX];
            size_t count = tkj_target_order(major, minor, order);
            assert_in_range(count, 1, TKJ_TARGET_ORDER_MAX);
            for (size_t i = 0; i < count; i++) {
                assert_true(order[i].architecture <= 10 * major + minor);
                for (size_t j = 0; j < i; j++)
                    assert_false(order[i].architecture == order[j].architecture &&
                                 order[i].ptx == order[j].ptx);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_known_architecture_has_two_names),
        cmocka_unit_test(names_are_those_of_the_toolkit),
        cmocka_unit_test(greatest_number_fits_the_name),
        cmocka_unit_test(suffix_a_is_a_synonym_from_sm_90_on),
        cmocka_unit_test(other_names_are_unknown),
        cmocka_unit_test(architectures_ascend),
        cmocka_unit_test(variants_are_those_of_the_highest_known_architecture_below),
        cmocka_unit_test(own_code_is_first_then_lower_minors_then_ptx),
        cmocka_unit_test(unknown_gpu_runs_its_own_code_or_ptx),
        cmocka_unit_test(every_order_fits_and_repeats_nothing),
    };
    return cmocka_run_group_tests_name("target", tests, NULL, NULL);
}
