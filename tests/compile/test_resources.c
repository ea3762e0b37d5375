/* SPDX-License-Identifier: Apache-2.0 */
#include "testing.h"

#include <string.h>

#include "resources.h"

#define CAPACITY 3

static char *directory;
static tkj_resource_row rows[CAPACITY];
static size_t count;

static int create_directory(void **state)
{
    (void)state;
    directory = tkj_test_dir_create();
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    tkj_test_dir_remove(directory);
    return 0;
}

static bool reads(const char *text)
{
    const char *path = tkj_test_path(directory, "table");
    tkj_test_file_write(path, text, strlen(text));
    return tkj_resources_read(path, rows, CAPACITY, &count);
}

static void written_rows_are_read_back_sorted(void **state)
{
    (void)state;
    tkj_resource_row written[] = {{"b general sm_90", {64, 1, 2, 3, 4, UINT32_MAX}},
                                  {"a general sm_90", {40, 0, 8352, 0, 0, 0}}};
    const char *path = tkj_test_path(directory, "table");
    assert_true(tkj_resources_write(path, written, 2));
    assert_true(tkj_resources_read(path, rows, CAPACITY, &count));
    assert_int_equal(count, 2);
    assert_string_equal(rows[0].kernel, "a general sm_90");
    assert_int_equal(rows[0].numbers[TKJ_DYNAMIC_SHARED], 8352);
    assert_string_equal(rows[1].kernel, "b general sm_90");
    assert_int_equal(rows[1].numbers[TKJ_REGISTERS], 64);
    assert_int_equal(rows[1].numbers[TKJ_OTHER_SPILL], UINT32_MAX);
}

static void comments_are_no_rows(void **state)
{
    (void)state;
    assert_true(reads("# a b c 1 2 3 4 5 6\na b c 1 2 3 4 5 6\n"));
    assert_int_equal(count, 1);
}

static void line_that_is_none_is_refused(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "\n",
        "a b c\n",
        "a b 1 2 3 4 5 6\n",
        "a b c 1 2 3 4 5\n",
        "a b c 1 2 3 4 5 6", /* cut off */
        "a b c 1 2 3 4 5 6 7\n",
        "a b c 1 2 3 4 5 x\n",
        "a b c 1 2 3 4 5 4294967296\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (reads(lines[i]))
            fail_msg("'%s' was taken", lines[i]);
}

static void rows_out_of_order_or_twice_are_refused(void **state)
{
    (void)state;
    assert_false(reads("b b c 1 2 3 4 5 6\na b c 1 2 3 4 5 6\n"));
    assert_false(reads("a b c 1 2 3 4 5 6\na b c 1 2 3 4 5 6\n"));
    assert_int_equal(count, 1);
}

static void more_rows_than_there_is_room_for_are_refused(void **state)
{
    (void)state;
    assert_true(reads("a a a 1 2 3 4 5 6\nb a a 1 2 3 4 5 6\nc a a 1 2 3 4 5 6\n"));
    assert_false(
        reads("a a a 1 2 3 4 5 6\nb a a 1 2 3 4 5 6\nc a a 1 2 3 4 5 6\nd a a 1 2 3 4 5 6\n"));
    assert_int_equal(count, CAPACITY);
}

static void missing_table_is_refused(void **state)
{
    (void)state;
    assert_false(tkj_resources_read(tkj_test_path(directory, "absent"), rows, CAPACITY, &count));
    assert_int_equal(count, 0);
}

static void kernel_is_found_by_its_whole_name(void **state)
{
    (void)state;
    assert_true(reads("a b sm_10 1 0 0 0 0 0\na b sm_100 2 0 0 0 0 0\n"));
    assert_ptr_equal(tkj_resources_find(rows, count, "a b sm_100"), &rows[1]);
    assert_null(tkj_resources_find(rows, count, "a b sm_1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_rows_are_read_back_sorted),
        cmocka_unit_test(comments_are_no_rows),
        cmocka_unit_test(line_that_is_none_is_refused),
        cmocka_unit_test(rows_out_of_order_or_twice_are_refused),
        cmocka_unit_test(more_rows_than_there_is_room_for_are_refused),
        cmocka_unit_test(missing_table_is_refused),
        cmocka_unit_test(kernel_is_found_by_its_whole_name),
    };
    return cmocka_run_group_tests_name("resources", tests, create_directory, remove_directory);
}
