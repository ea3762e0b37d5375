/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "select_case.h"

static void pages_map_positions_to_slots(void **state)
{
    (void)state;
    const int32_t table[] = {7, 0, 5, 1, 2, 3};
    select_case c;
    select_case_open_six(&c, select_case_paged_spec(2, 2), 2);
    select_case_set_table(&c, table, 2, 3);
    select_case_run(&c);
    EXPECT_ROW(&c, 0, 0, 10);
    EXPECT_ROW(&c, 1, 4, 6);
    EXPECT_RAW(&c, 1, 2, 4);
    select_case_close(&c);
}

static void a_table_of_stride_0_serves_all_rows(void **state)
{
    (void)state;
    const int32_t table[] = {10, 11, 12, 13, 14, 15};
    select_case c;
    select_case_open_six(&c, select_case_paged_spec(2, 1), 3);
    select_case_set_table(&c, table, 3, 6);
    c.params.page_table_stride = 0;
    select_case_run(&c);
    EXPECT_ROW(&c, 0, 12, 14);
    EXPECT_ROW(&c, 2, 12, 14);
    select_case_close(&c);
}

static void the_table_is_indexed_from_the_start_of_the_window(void **state)
{
    (void)state;
    const int32_t table[] = {10, 11, 12, 13, 14, 15, 16};
    const int32_t starts[] = {1, 1}, first_pages[] = {0, 3};
    select_case c;
    select_case_open_six(&c, select_case_paged_spec(2, 1), 2);
    select_case_set_table(&c, table, 2, 7);
    c.params.page_table_stride = 0;
    c.params.row_starts = VECTOR(starts);
    c.params.page_table_row_starts = VECTOR(first_pages);
    select_case_run(&c);
    EXPECT_RAW(&c, 0, 1, 3);
    EXPECT_ROW(&c, 0, 11, 13);
    EXPECT_ROW(&c, 1, 14, 16);
    select_case_close(&c);
}

static void bad_pages_write_minus_one_in_their_slot_only(void **state)
{
    (void)state;
    const int32_t table[] = {0, -1, INT32_MAX, 3};
    const int32_t first_pages[] = {0, INT32_MIN, INT32_MAX, 1};
    select_case c;
    select_case_open_six(&c, select_case_paged_spec(6, 2), 4);
    select_case_set_table(&c, table, 4, 4);
    c.params.page_table_stride = 0;
    c.params.page_table_row_starts = VECTOR(first_pages);
    select_case_run(&c);
    EXPECT_ROW(&c, 0, 0, 1, -1, -1, -1, -1);
    EXPECT_RAW(&c, 0, 0, 1, 2, 3, 4, 5);
    EXPECT_ROW(&c, 1, -1, -1, -1, -1, -1, -1);
    EXPECT_ROW(&c, 2, -1, -1, -1, -1, -1, -1);
    EXPECT_ROW(&c, 3, -1, -1, -1, -1, 6, 7);
    select_case_close(&c);
}

static void slots_beyond_int32_need_int64_indices(void **state)
{
    (void)state;
    const int32_t table[] = {INT32_MAX, INT32_MAX, INT32_MAX};
    topk_jit_spec spec = select_case_paged_spec(1, INT64_C(1) << 30);
    spec.index_dtype = TOPK_JIT_INT64;
    select_case c;
    select_case_open_six(&c, spec, 1);
    select_case_set_table(&c, table, 1, 3);
    select_case_run(&c);
    EXPECT_ROW(&c, 0, INT64_C(2305843008139952130)); /* (2^31 - 1) * 2^30 + 2 */
    select_case_close(&c);
}

static void cu_seqlens_q_gives_rows_their_request(void **state)
{
    (void)state;
    const int32_t cu[] = {1, 1, 3, 3, 4, 4}; /* requests 0, 2 and 4 are empty */
    const int32_t table[] = {100, 200, 300, 400, 500};
    select_case c;
    select_case_open_six(&c, select_case_paged_spec(1, 64), 6);
    select_case_set_table(&c, table, 5, 1);
    c.params.cu_seqlens_q = VECTOR(cu);
    c.params.cu_batch = 5;
    select_case_run(&c);
    EXPECT_ROW(&c, 0, -1);
    EXPECT_ROW(&c, 1, 200 * 64 + 2);
    EXPECT_ROW(&c, 2, 200 * 64 + 2);
    EXPECT_ROW(&c, 3, 400 * 64 + 2);
    EXPECT_ROW(&c, 4, -1);
    EXPECT_RAW(&c, 5, -1);
    select_case_close(&c);
}

/* Runs cu_seqlens_q that an engine must survive; the memory checker sees an access out of bounds.
   The entries are on the heap for that. */
static void run_odd_intervals(const int32_t *cu, int64_t batch)
{
    select_case c;
    select_case_open_six(&c, select_case_paged_spec(1, 64), 4);
    int32_t *table = calloc((size_t)batch + 1, sizeof *table);
    int32_t *copy = malloc(((size_t)batch + 1) * sizeof *copy);
    memcpy(copy, cu, ((size_t)batch + 1) * sizeof *copy);
    select_case_set_table(&c, table, batch, 1);
    c.params.cu_seqlens_q = VECTOR(copy);
    c.params.cu_batch = batch;
    assert_int_equal(tkj_host_select(&tkj_default_allocator, &c.spec, &c.params), TOPK_JIT_OK);
    for (int64_t row = 0; row < 4; row++) {
        int64_t index = select_case_index(&c, row, 0);
        assert_true(index == -1 || index == 2);
    }
    free(copy);
    free(table);
    select_case_close(&c);
}

static void decreasing_cu_seqlens_q_stays_in_bounds(void **state)
{
    (void)state;
    run_odd_intervals((const int32_t[]){4, 3, 2, 1, 0}, 4);
    run_odd_intervals((const int32_t[]){0, INT32_MIN, INT32_MAX, INT32_MIN}, 3);
    run_odd_intervals((const int32_t[]){INT32_MAX, 0}, 1);
    run_odd_intervals((const int32_t[]){0}, 0);
}

static void row_to_batch_out_of_range_is_an_empty_row(void **state)
{
    (void)state;
    const int32_t batch_of[] = {1, 0, 2, -1, INT32_MIN};
    const int32_t table[] = {10, 20};
    select_case c;
    select_case_open_six(&c, select_case_paged_spec(2, 8), 5);
    select_case_set_table(&c, table, 2, 1);
    c.params.row_to_batch = VECTOR(batch_of);
    select_case_run(&c);
    EXPECT_ROW(&c, 0, 162, 164);
    EXPECT_ROW(&c, 1, 82, 84);
    for (int64_t row = 2; row < 5; row++) {
        EXPECT_ROW(&c, row, -1, -1);
        EXPECT_RAW(&c, row, -1, -1);
    }
    select_case_close(&c);
}

static void speculative_rows_share_the_table_of_their_request(void **state)
{
    (void)state;
    const int32_t table[] = {10, 20};
    select_case c;
    select_case_open_six(&c, select_case_paged_spec(1, 8), 4);
    select_case_set_table(&c, table, 2, 1);
    c.params.next_n = 2;
    select_case_run(&c);
    EXPECT_ROW(&c, 1, 82);
    EXPECT_ROW(&c, 2, 162);
    select_case_close(&c);
}

static void ragged_offsets_are_added_where_they_fit(void **state)
{
    (void)state;
    const int32_t offsets[] = {1000, -3, INT32_MAX - 3, INT32_MIN, INT32_MAX - 4};
    topk_jit_spec spec = select_case_spec(2);
    spec.layout = TOPK_JIT_LAYOUT_RAGGED;
    select_case c;
    select_case_open_six(&c, spec, 5);
    c.params.offsets = VECTOR(offsets);
    select_case_run(&c);
    EXPECT_ROW(&c, 0, 1002, 1004);
    EXPECT_ROW(&c, 1, -1, 1);
    EXPECT_ROW(&c, 2, INT32_MAX - 1, -1);
    EXPECT_ROW(&c, 3, (int64_t)INT32_MIN + 2, (int64_t)INT32_MIN + 4);
    EXPECT_ROW(&c, 4, INT32_MAX - 2, INT32_MAX);
    select_case_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_map_positions_to_slots),
        cmocka_unit_test(a_table_of_stride_0_serves_all_rows),
        cmocka_unit_test(the_table_is_indexed_from_the_start_of_the_window),
        cmocka_unit_test(bad_pages_write_minus_one_in_their_slot_only),
        cmocka_unit_test(slots_beyond_int32_need_int64_indices),
        cmocka_unit_test(cu_seqlens_q_gives_rows_their_request),
        cmocka_unit_test(decreasing_cu_seqlens_q_stays_in_bounds),
        cmocka_unit_test(row_to_batch_out_of_range_is_an_empty_row),
        cmocka_unit_test(speculative_rows_share_the_table_of_their_request),
        cmocka_unit_test(ragged_offsets_are_added_where_they_fit),
    };
    return cmocka_run_group_tests_name("host_layouts", tests, NULL, NULL);
}
