/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "bar.h"
#include "testing.h"

#define SECOND UINT64_C(1000000000)

static void assert_bar(const warm_bar *bar, size_t columns, const char *expected)
{
    char line[WARM_BAR_SIZE];
    warm_bar_format(bar, columns, line);
    assert_string_equal(line, expected);
}

static void nothing_is_known_at_the_start(void **state)
{
    (void)state;
    const warm_bar bar = {.total = 48, .current = ""};
    assert_bar(&bar, 79, "[>                   ] 0/48 0:00");
}

static void the_rest_takes_as_long_as_what_was_compiled(void **state)
{
    (void)state;
    const warm_bar bar = {
        .total = 40, .done = 20, .found = 10, .elapsed_ns = 30 * SECOND, .current = "kernel"};
    assert_bar(&bar, 79, "[==========>         ] 20/40 0:30 1:00 left kernel");
}

static void what_was_there_says_nothing_of_the_rest(void **state)
{
    (void)state;
    const warm_bar bar = {
        .total = 40, .done = 10, .found = 10, .elapsed_ns = SECOND, .current = "kernel"};
    assert_bar(&bar, 79, "[=====>              ] 10/40 0:01 kernel");
}

static void hours_are_said(void **state)
{
    (void)state;
    const warm_bar bar = {.total = 3, .done = 1, .elapsed_ns = 3723 * SECOND, .current = ""};
    assert_bar(&bar, 79, "[======>             ] 1/3 1:02:03 2:04:06 left");
}

static void full_bar_has_no_rest(void **state)
{
    (void)state;
    const warm_bar bar = {.total = 2, .done = 2, .elapsed_ns = SECOND, .current = ""};
    assert_bar(&bar, 79, "[====================] 2/2 0:01");
}

static void narrow_terminals_have_the_numbers(void **state)
{
    (void)state;
    const warm_bar bar = {.total = 48, .done = 12, .elapsed_ns = SECOND, .current = "kernel"};
    assert_bar(&bar, 59, "12/48 0:01 0:03 left kernel");
    assert_bar(&bar, 22, "12/48 0:01 0:03 left k");
    assert_bar(&bar, 5, "12/48");
    assert_bar(&bar, 0, "");
}

static void long_names_are_cut_off(void **state)
{
    (void)state;
    char name[2 * WARM_BAR_SIZE];
    char line[WARM_BAR_SIZE];
    memset(name, 'k', sizeof name);
    name[sizeof name - 1] = '\0';
    const warm_bar bar = {.total = 2, .done = 1, .current = name};
    for (size_t columns = 0; columns < 600; columns++) {
        warm_bar_format(&bar, columns, line);
        assert_int_equal(strlen(line), columns < WARM_BAR_SIZE ? columns : WARM_BAR_SIZE - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_at_the_start),
        cmocka_unit_test(the_rest_takes_as_long_as_what_was_compiled),
        cmocka_unit_test(what_was_there_says_nothing_of_the_rest),
        cmocka_unit_test(hours_are_said),
        cmocka_unit_test(full_bar_has_no_rest),
        cmocka_unit_test(narrow_terminals_have_the_numbers),
        cmocka_unit_test(long_names_are_cut_off),
    };
    return cmocka_run_group_tests_name("warm_bar", tests, NULL, NULL);
}
