/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "select_case.h"

static const float tied_scores[6] = {4, 8, 4, 1, 4, 8};

static void run_tied(topk_jit_spec spec, const int64_t *expected)
{
    select_case c;
    select_case_open(&c, spec, (select_shape){.rows = 1, .width = 6});
    select_case_write(&c, 0, tied_scores, 6);
    select_case_run(&c);
    if (spec.deterministic || spec.sorted)
        select_case_expect(&c, 0, expected);
    select_case_close(&c);
}

static void deterministic_takes_the_smallest_ties_in_ascending_slots(void **state)
{
    (void)state;
    run_tied(select_case_spec(4), (const int64_t[]){0, 1, 2, 5});
}

static void tie_break_largest_takes_the_last_ties(void **state)
{
    (void)state;
    topk_jit_spec spec = select_case_spec(4);
    spec.tie_break = TOPK_JIT_TIE_BREAK_LARGEST;
    run_tied(spec, (const int64_t[]){1, 2, 4, 5});
}

static void sorted_orders_by_score_then_ascending_position(void **state)
{
    (void)state;
    topk_jit_spec spec = select_case_spec(4);
    spec.sorted = 1;
    run_tied(spec, (const int64_t[]){1, 5, 0, 2});
    spec.tie_break = TOPK_JIT_TIE_BREAK_LARGEST;
    run_tied(spec, (const int64_t[]){1, 5, 2, 4});
}

static void tie_break_alone_fixes_the_set(void **state)
{
    (void)state;
    topk_jit_spec spec = select_case_spec(4);
    spec.deterministic = 0;
    spec.tie_break = TOPK_JIT_TIE_BREAK_SMALLEST;
    run_tied(spec, NULL);
    spec.tie_break = TOPK_JIT_TIE_BREAK_LARGEST;
    run_tied(spec, NULL);
}

static void sorted_also_orders_a_row_that_fits(void **state)
{
    (void)state;
    topk_jit_spec spec = select_case_spec(8);
    spec.sorted = 1;
    run_tied(spec, (const int64_t[]){1, 5, 0, 2, 4, 3, -1, -1});
    spec.sorted = 0;
    run_tied(spec, (const int64_t[]){0, 1, 2, 3, 4, 5, -1, -1});
}

static void nan_ranks_first_or_last(void **state)
{
    (void)state;
    const float scores[] = {NAN, INFINITY, -INFINITY, 0, -NAN};
    topk_jit_spec spec = select_case_spec(4);
    spec.sorted = 1;
    select_case c;
    select_case_open(&c, spec, (select_shape){.rows = 1, .width = 5});
    select_case_write(&c, 0, scores, 5);
    select_case_run(&c);
    EXPECT_ROW(&c, 0, 0, 4, 1, 3);
    c.spec.nan_last = 1;
    select_case_run(&c);
    EXPECT_ROW(&c, 0, 1, 3, 2, 0);
    select_case_close(&c);
}

static void values_are_copied_bit_for_bit_and_padded(void **state)
{
    (void)state;
    const uint32_t bits[] = {0x80000000, 0x00000000, 0x7FC12345, 0xFFFFFFFF, 0x00000001};
    select_case c;
    select_case_open(&c, select_case_spec(7), (select_shape){.rows = 1, .width = 5});
    memcpy(tkj_guarded_data(&c.score), bits, sizeof bits);
    select_case_run(&c);
    const uint32_t *values = c.params.values;
    assert_memory_equal(values, bits, sizeof bits);
    assert_int_equal(values[5], 0xFF800000);
    assert_int_equal(values[6], 0xFF800000);
    select_case_close(&c);
}

static void optional_outputs_may_be_absent(void **state)
{
    (void)state;
    select_case c;
    select_case_open_six(&c, select_case_spec(2), 1);
    c.params.raw_indices = NULL;
    c.params.values = NULL;
    assert_int_equal(tkj_host_select(&tkj_default_allocator, &c.spec, &c.params), TOPK_JIT_OK);
    EXPECT_ROW(&c, 0, 2, 4);
    select_case_close(&c);
}

static void *refuse(void *user, size_t size)
{
    (void)size;
    ++*(int *)user;
    return NULL;
}

static void release_nothing(void *user, void *memory)
{
    (void)user;
    (void)memory;
    fail_msg("nothing was allocated");
}

static void without_memory_no_output_is_touched(void **state)
{
    (void)state;
    int calls = 0;
    topk_jit_allocator allocator = {refuse, release_nothing, &calls};
    select_case c;
    select_case_open_six(&c, select_case_spec(2), 2);
    assert_int_equal(tkj_host_select(&allocator, &c.spec, &c.params), TOPK_JIT_OUT_OF_MEMORY);
    assert_int_equal(calls, 1);
    for (size_t i = 0; i < c.indices.block_size; i++)
        assert_int_equal(c.indices.block[i], TKJ_GUARDED_POISON);
    select_case_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deterministic_takes_the_smallest_ties_in_ascending_slots),
        cmocka_unit_test(tie_break_largest_takes_the_last_ties),
        cmocka_unit_test(sorted_orders_by_score_then_ascending_position),
        cmocka_unit_test(tie_break_alone_fixes_the_set),
        cmocka_unit_test(sorted_also_orders_a_row_that_fits),
        cmocka_unit_test(nan_ranks_first_or_last),
        cmocka_unit_test(values_are_copied_bit_for_bit_and_padded),
        cmocka_unit_test(optional_outputs_may_be_absent),
        cmocka_unit_test(without_memory_no_output_is_touched),
    };
    return cmocka_run_group_tests_name("host_select", tests, NULL, NULL);
}
