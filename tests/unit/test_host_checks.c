/* SPDX-License-Identifier: Apache-2.0 */
#include "select_case.h"

/* Runs with counters that start at 10 and compares what was added, also with the judge's count. */
static void expect_counts(select_case *c, const uint32_t *added)
{
    uint32_t counts[8] = {10, 10, 10, 10, 10, 10, 10, 10}, judged[8];
    c->spec.check = 1;
    c->params.check_counts = counts;
    select_case_run(c);
    tkj_judge_counts(&c->spec, &c->params, judged);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(counts[i] - 10, added[i]);
        assert_int_equal(judged[i], added[i]);
    }
}

static void bad_windows_are_counted_once_a_row(void **state)
{
    (void)state;
    const int32_t starts[] = {0, 6, 7, -1, 2, 2};
    const int32_t lengths[] = {6, 0, -1, 0, 4, 5};
    select_case c;
    select_case_open_six(&c, select_case_spec(3), 6);
    c.params.row_starts = VECTOR(starts);
    c.params.lengths = lengths;
    expect_counts(&c, (const uint32_t[8]){2, 2});
    const int32_t ends[] = {6, 6, 6, 0, 1, 7};
    c.params.lengths = NULL;
    c.params.row_ends = VECTOR(ends);
    expect_counts(&c, (const uint32_t[8]){2, 2});
    select_case_close(&c);
}

static void shortened_and_compressed_lengths_are_not_bad(void **state)
{
    (void)state;
    const int32_t lengths[] = {0, 26, 28, -1};
    select_case c;
    select_case_open_six(&c, select_case_spec(3), 8);
    c.params.lengths = lengths;
    c.params.next_n = 2;
    c.params.lengths_step = 1;
    c.params.compress_ratio = 4;
    expect_counts(&c, (const uint32_t[8]){0, 3}); /* 28 / 4 = 7 of 6, and -1 for two rows */
    select_case_close(&c);
}

static void bad_requests_are_counted_once_a_row(void **state)
{
    (void)state;
    const int32_t cu[] = {1, 3}, batch_of[] = {0, -1, 1, INT32_MAX}, table[] = {0};
    select_case c;
    select_case_open_six(&c, select_case_paged_spec(3, 8), 4);
    select_case_set_table(&c, table, 1, 1);
    c.params.cu_seqlens_q = VECTOR(cu);
    c.params.cu_batch = 1;
    expect_counts(&c, (const uint32_t[8]){0, 0, 2});
    c.params.cu_seqlens_q = (tkj_vector){0};
    c.params.row_to_batch = VECTOR(batch_of);
    expect_counts(&c, (const uint32_t[8]){0, 0, 0, 3});
    select_case_close(&c);
}

static void bad_slots_are_counted_each(void **state)
{
    (void)state;
    const int32_t table[] = {0, -1, INT32_MAX};
    const int32_t first_pages[] = {0, 1, -1};
    select_case c;
    select_case_open_six(&c, select_case_paged_spec(8, 2), 3);
    select_case_set_table(&c, table, 3, 3);
    c.params.page_table_stride = 0;
    c.params.page_table_row_starts = VECTOR(first_pages);
    expect_counts(&c, (const uint32_t[8]){0, 0, 0, 0, 4, 6, 4});
    select_case_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_windows_are_counted_once_a_row),
        cmocka_unit_test(shortened_and_compressed_lengths_are_not_bad),
        cmocka_unit_test(bad_requests_are_counted_once_a_row),
        cmocka_unit_test(bad_slots_are_counted_each),
    };
    return cmocka_run_group_tests_name("host_checks", tests, NULL, NULL);
}
