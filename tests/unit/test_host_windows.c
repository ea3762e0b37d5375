/* SPDX-License-Identifier: Apache-2.0 */
#include "select_case.h"

static void absent_lengths_mean_the_whole_row(void **state)
{
    (void)state;
    select_case c;
    select_case_open_six(&c, select_case_spec(2), 1);
    select_case_run(&c);
    EXPECT_ROW(&c, 0, 2, 4);
    select_case_close(&c);
}

static void lengths_are_clamped_to_the_row(void **state)
{
    (void)state;
    const int32_t lengths[] = {4, 1, 0, -1, INT32_MIN, 7, INT32_MAX};
    select_case c;
    select_case_open_six(&c, select_case_spec(2), 7);
    c.params.lengths = lengths;
    select_case_run(&c);
    EXPECT_ROW(&c, 0, 0, 2);
    EXPECT_ROW(&c, 1, 0, -1);
    EXPECT_ROW(&c, 2, -1, -1);
    EXPECT_ROW(&c, 3, -1, -1);
    EXPECT_ROW(&c, 4, -1, -1);
    EXPECT_ROW(&c, 5, 2, 4);
    EXPECT_ROW(&c, 6, 2, 4);
    select_case_close(&c);
}

static void positions_are_relative_to_a_clamped_start(void **state)
{
    (void)state;
    const int32_t starts[] = {3, 3, -2, 6, 99, INT32_MAX, INT32_MIN};
    const int32_t lengths[] = {3, 2, 4, 5, 5, INT32_MAX, INT32_MAX};
    select_case c;
    select_case_open_six(&c, select_case_spec(2), 7);
    c.params.row_starts = VECTOR(starts);
    c.params.lengths = lengths;
    select_case_run(&c);
    EXPECT_ROW(&c, 0, 0, 1);
    EXPECT_ROW(&c, 1, 0, 1);
    EXPECT_ROW(&c, 2, 0, 2);
    EXPECT_ROW(&c, 3, -1, -1);
    EXPECT_ROW(&c, 4, -1, -1);
    EXPECT_ROW(&c, 5, -1, -1);
    EXPECT_ROW(&c, 6, 2, 4);
    select_case_close(&c);
}

static void row_ends_replace_lengths(void **state)
{
    (void)state;
    const int32_t starts[] = {0, 1, 4, 2};
    const int32_t ends[] = {4, 6, 3, INT32_MAX};
    select_case c;
    select_case_open_six(&c, select_case_spec(2), 4);
    c.params.row_starts = VECTOR(starts);
    c.params.row_ends = VECTOR(ends);
    select_case_run(&c);
    EXPECT_ROW(&c, 0, 0, 2);
    EXPECT_ROW(&c, 1, 1, 3);
    EXPECT_ROW(&c, 2, -1, -1);
    EXPECT_ROW(&c, 3, 0, 2);
    select_case_close(&c);
}

static void speculative_rows_see_one_more_token_each(void **state)
{
    (void)state;
    const int32_t lengths[] = {4, 1};
    select_case c;
    select_case_open_six(&c, select_case_spec(2), 6);
    c.params.lengths = lengths;
    c.params.next_n = 3;
    c.params.lengths_step = 1;
    select_case_run(&c);
    EXPECT_ROW(&c, 0, 0, 1);
    EXPECT_ROW(&c, 1, 0, 2);
    EXPECT_ROW(&c, 2, 0, 2);
    EXPECT_ROW(&c, 3, -1, -1);
    EXPECT_ROW(&c, 4, -1, -1);
    EXPECT_ROW(&c, 5, 0, -1);
    select_case_close(&c);
}

static void two_dimensional_lengths_are_taken_as_they_are(void **state)
{
    (void)state;
    const int32_t lengths[] = {1, 99, 4, 99, 0, 99, 6}; /* (2, 2), strides 4 and 2 */
    select_case c;
    select_case_open_six(&c, select_case_spec(2), 4);
    c.params.lengths = lengths;
    c.params.lengths_stride_b = 4;
    c.params.lengths_stride_j = 2;
    c.params.next_n = 2;
    select_case_run(&c);
    EXPECT_ROW(&c, 0, 0, -1);
    EXPECT_ROW(&c, 1, 0, 2);
    EXPECT_ROW(&c, 2, -1, -1);
    EXPECT_ROW(&c, 3, 2, 4);
    select_case_close(&c);
}

static void compression_divides_the_length_before_the_clamp(void **state)
{
    (void)state;
    const int32_t lengths[] = {19, 3, -8, 24, INT32_MAX};
    select_case c;
    select_case_open_six(&c, select_case_spec(2), 5);
    c.params.lengths = lengths;
    c.params.compress_ratio = 4;
    select_case_run(&c);
    EXPECT_ROW(&c, 0, 0, 2);
    EXPECT_ROW(&c, 1, -1, -1);
    EXPECT_ROW(&c, 2, -1, -1);
    EXPECT_ROW(&c, 3, 2, 4);
    EXPECT_ROW(&c, 4, 2, 4);
    select_case_close(&c);
}

static void compression_follows_the_speculative_rule(void **state)
{
    (void)state;
    const int32_t lengths[] = {8};
    select_case c;
    select_case_open_six(&c, select_case_spec(2), 2);
    c.params.lengths = lengths;
    c.params.next_n = 2;
    c.params.lengths_step = 1;
    c.params.compress_ratio = 8;
    select_case_run(&c);
    EXPECT_ROW(&c, 0, -1, -1);
    EXPECT_ROW(&c, 1, 0, -1);
    select_case_close(&c);
}

static void inputs_are_read_at_their_stride(void **state)
{
    (void)state;
    const int32_t shared_start[] = {2};
    const int32_t lengths[] = {1, 99, 99, 3};
    select_case c;
    select_case_open_six(&c, select_case_spec(1), 2);
    c.params.row_starts = (tkj_vector){shared_start, 0};
    c.params.lengths = lengths;
    c.params.lengths_stride_b = 3;
    select_case_run(&c);
    EXPECT_ROW(&c, 0, 0);
    EXPECT_ROW(&c, 1, 0);
    select_case_close(&c);
}

static void tensors_without_elements_may_have_no_data(void **state)
{
    (void)state;
    select_case c;
    topk_jit_spec spec = select_case_spec(2);
    spec.layout = TOPK_JIT_LAYOUT_PAGED;
    spec.page_size = 1;
    select_case_open(&c, spec, (select_shape){.rows = 3, .width = 0});
    c.params.score = NULL;
    c.params.score_stride = 7;
    c.params.page_table_rows = 3;
    select_case_run(&c);
    EXPECT_ROW(&c, 2, -1, -1);
    select_case_close(&c);
}

static void no_rows_and_padding_is_all_padding(void **state)
{
    (void)state;
    select_case c;
    select_case_open(&c, select_case_spec(3), (select_shape){.padded_rows = 2, .out_gap = 5});
    select_case_run(&c);
    EXPECT_ROW(&c, 1, -1, -1, -1);
    select_case_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absent_lengths_mean_the_whole_row),
        cmocka_unit_test(lengths_are_clamped_to_the_row),
        cmocka_unit_test(positions_are_relative_to_a_clamped_start),
        cmocka_unit_test(row_ends_replace_lengths),
        cmocka_unit_test(speculative_rows_see_one_more_token_each),
        cmocka_unit_test(two_dimensional_lengths_are_taken_as_they_are),
        cmocka_unit_test(compression_divides_the_length_before_the_clamp),
        cmocka_unit_test(compression_follows_the_speculative_rule),
        cmocka_unit_test(inputs_are_read_at_their_stride),
        cmocka_unit_test(tensors_without_elements_may_have_no_data),
        cmocka_unit_test(no_rows_and_padding_is_all_padding),
    };
    return cmocka_run_group_tests_name("host_windows", tests, NULL, NULL);
}
