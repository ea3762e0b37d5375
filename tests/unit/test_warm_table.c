/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "out_table.h"
#include "testing.h"

static const warm_column columns[] = {{"name", false}, {"bytes", true}, {"note", false}};

static void assert_prints(const warm_table *table, const char *expected)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    assert_non_null(to);
    assert_true(warm_table_print(table, to));
    assert_int_equal(fclose(to), 0);
    assert_string_equal(text, expected);
    free(text);
}

static void columns_are_as_wide_as_what_is_in_them(void **state)
{
    (void)state;
    warm_table table;
    warm_table_init(&table, columns, 3);
    warm_table_add(&table, "a longer one");
    warm_table_add(&table, "%d", 7);
    warm_table_add(&table, "x");
    warm_table_add(&table, "b");
    warm_table_add(&table, "%d", 1234567);
    warm_table_add(&table, "the last is not filled up");
    assert_prints(&table, "name            bytes  note\n"
                          "a longer one        7  x\n"
                          "b             1234567  the last is not filled up\n");
    warm_table_release(&table);
}

static void table_without_rows_has_its_titles(void **state)
{
    (void)state;
    warm_table table;
    warm_table_init(&table, columns, 3);
    assert_prints(&table, "name  bytes  note\n");
    warm_table_release(&table);
}

static void text_of_a_cell_cannot_leave_it(void **state)
{
    (void)state;
    warm_table table;
    warm_table_init(&table, columns, 1);
    warm_table_add(&table, "%s", "a\nb\x1b[2J\\\xff");
    assert_prints(&table, "name\n"
                          "a\\x0ab\\x1b[2J\\\\\\xff\n");
    warm_table_release(&table);
}

static void many_rows_are_kept_in_order(void **state)
{
    (void)state;
    warm_table table;
    warm_table_init(&table, columns, 1);
    for (int i = 100; i < 300; i++)
        warm_table_add(&table, "%d", i);
    char expected[1024] = "name\n";
    for (int i = 100; i < 300; i++)
        snprintf(expected + strlen(expected), 8, "%d\n", i);
    assert_prints(&table, expected);
    warm_table_release(&table);
}

static void assert_is(const warm_table *table, size_t terminal, const char *expected)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    assert_non_null(to);
    assert_true(warm_table_format(table, terminal, to));
    assert_int_equal(fclose(to), 0);
    assert_string_equal(text, expected);
    free(text);
}

static void row_that_is_too_wide_goes_on_below(void **state)
{
    (void)state;
    warm_table table;
    warm_table_init(&table, columns, 3);
    warm_table_add(&table, "first");
    warm_table_add(&table, "12345678901234567890");
    warm_table_add(&table, "operation=select,layout=paged,topk=2048,sorted");
    assert_is(&table, 75,
              "name                  bytes  note\n"
              "first  12345678901234567890  operation=select,layout=paged,topk=2048,sorted\n");
    assert_is(&table, 74,
              "name                  bytes  note\n"
              "first  12345678901234567890  operation=select,layout=paged,topk=2048,\n"
              "                             sorted\n");
    assert_is(&table, 61,
              "name                  bytes  note\n"
              "first  12345678901234567890  operation=select,layout=paged,\n"
              "                             topk=2048,sorted\n");
    assert_is(&table, 60,
              "name                  bytes\n"
              "    note\n"
              "first  12345678901234567890\n"
              "    operation=select,layout=paged,topk=2048,sorted\n");
    assert_is(&table, 26,
              "name\n"
              "                   bytes\n"
              "    note\n"
              "first\n"
              "    12345678901234567890\n"
              "    operation=select,layout=paged,\n"
              "    topk=2048,sorted\n");
    warm_table_release(&table);
}

static void word_that_is_too_wide_is_broken_and_not_cut(void **state)
{
    (void)state;
    warm_table table;
    warm_table_init(&table, columns + 2, 1);
    warm_table_add(&table, "%s", "0123456789012345678901234567890123456789 end");
    assert_is(&table, 32,
              "note\n"
              "01234567890123456789012345678901\n"
              "23456789 end\n");
    assert_is(&table, 1,
              "note\n"
              "01234567890123456789012345678901\n"
              "23456789 end\n");
    warm_table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_what_is_in_them),
        cmocka_unit_test(table_without_rows_has_its_titles),
        cmocka_unit_test(text_of_a_cell_cannot_leave_it),
        cmocka_unit_test(many_rows_are_kept_in_order),
        cmocka_unit_test(row_that_is_too_wide_goes_on_below),
        cmocka_unit_test(word_that_is_too_wide_is_broken_and_not_cut),
    };
    return cmocka_run_group_tests_name("warm_table", tests, NULL, NULL);
}
