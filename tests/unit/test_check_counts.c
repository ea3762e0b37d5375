/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <topk_jit/topk_jit.h>

static void zero_counts_are_no_bad_input(void **state)
{
    (void)state;
    const uint32_t counts[8] = {0};
    char text[64];
    size_t length = topk_jit_check_counts_format(counts, text, sizeof text);
    assert_string_equal(text, "no bad input");
    assert_int_equal(length, strlen(text));
}

static void each_count_is_named(void **state)
{
    (void)state;
    static const char *const words[7] = {"row_starts",   "length or row_ends", "cu_seqlens_q",
                                         "row_to_batch", "page table",         "unmapped",
                                         "dtype"};
    for (int i = 0; i < 7; i++) {
        uint32_t counts[8] = {0};
        char text[128];
        counts[i] = 42;
        topk_jit_check_counts_format(counts, text, sizeof text);
        assert_non_null(strstr(text, "42"));
        assert_non_null(strstr(text, words[i]));
    }
}

static void several_counts_are_one_line(void **state)
{
    (void)state;
    const uint32_t counts[8] = {1, 0, 0, 0, 0, 2};
    char text[128];
    topk_jit_check_counts_format(counts, text, sizeof text);
    assert_string_equal(text, "1 row with row_starts out of range, 2 slots in an unmapped page");
}

static void greatest_counts_fit(void **state)
{
    (void)state;
    uint32_t counts[8];
    memset(counts, 0xFF, sizeof counts);
    char text[1024];
    size_t length = topk_jit_check_counts_format(counts, text, sizeof text);
    assert_int_equal(length, strlen(text));
    assert_non_null(strstr(text, "4294967295 slots with a value that does not fit"));
}

static void short_buffer_is_cut_and_terminated(void **state)
{
    (void)state;
    const uint32_t counts[8] = {3};
    char whole[128], text[8] = "xxxxxxx";
    size_t length = topk_jit_check_counts_format(counts, whole, sizeof whole);
    assert_int_equal(topk_jit_check_counts_format(counts, text, 5), length);
    assert_memory_equal(text, whole, 4);
    assert_memory_equal(text + 4, "\0xx", 4);
    assert_int_equal(topk_jit_check_counts_format(counts, NULL, 0), length);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_counts_are_no_bad_input),       cmocka_unit_test(each_count_is_named),
        cmocka_unit_test(several_counts_are_one_line),        cmocka_unit_test(greatest_counts_fit),
        cmocka_unit_test(short_buffer_is_cut_and_terminated),
    };
    return cmocka_run_group_tests_name("check_counts", tests, NULL, NULL);
}
