/* SPDX-License-Identifier: Apache-2.0 */
#include "testing.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "line.h"

static char line[TKJ_LINE_SIZE_MAX];

__attribute__((format(printf, 2, 3))) static void format(size_t size, const char *text, ...)
{
    va_list arguments;
    memset(line, '#', sizeof line);
    va_start(arguments, text);
    tkj_line_format(line, size, text, arguments);
    va_end(arguments);
    assert_in_range(strlen(line), 0, size - 1);
}

/** So many of a character. */
static const char *many(char character, size_t count)
{
    static char at[3][200001];
    static size_t next;
    char *text = at[next++ % 3];
    memset(text, character, count);
    text[count] = '\0';
    return text;
}

static void assert_ends_in(const char *end)
{
    const size_t length = strlen(end);
    assert_in_range(strlen(line), length, sizeof line);
    assert_string_equal(line + strlen(line) - length, end);
}

static void line_with_room_is_what_printf_writes(void **state)
{
    (void)state;
    format(64, "%s: %d of %zu, %5.1f%%, %c%.*s", "it", -7, (size_t)9, 12.25, 'x', 2, "abc");
    assert_string_equal(line, "it: -7 of 9,  12.2%, xab");
    format(64, "%s", "");
    assert_string_equal(line, "");
}

static void every_line_that_just_fits_is_whole(void **state)
{
    (void)state;
    for (size_t length = 0; length < 100; length++) {
        format(length + 1, "%s", many('x', length));
        assert_string_equal(line, many('x', length));
    }
}

static void reason_behind_a_long_value_stays(void **state)
{
    (void)state;
    static const size_t sizes[] = {256, 1024, TKJ_LINE_SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (size_t length = 1; length < 200000; length = length * 3 / 2 + 1) {
            format(sizes[i], "'%s', number %d: %s", many('v', length), 7, "the reason");
            assert_memory_equal(line, "'vv", length > 1 ? 3 : 2);
            assert_ends_in(length < sizes[i] / 2 ? "v', number 7: the reason"
                                                 : "', number 7: the reason");
            if (length > sizes[i])
                assert_ends_in("v...', number 7: the reason");
            if (length > sizes[i])
                assert_in_range(strlen(line), sizes[i] * 3 / 4, sizes[i] - 1);
        }
}

static void several_long_values_share_the_room(void **state)
{
    (void)state;
    format(256, "%d '%s' is %s, expected %zu (%s)", 1, many('a', 100000), "short", (size_t)2,
           many('b', 300));
    assert_memory_equal(line, "1 'aaa", 6);
    assert_non_null(strstr(line, "a...' is short, expected 2 (b"));
    assert_ends_in("b...)");
}

/* A value that steers the terminal or is no text grows when it is escaped. */
static void reason_behind_a_long_value_of_odd_bytes_stays(void **state)
{
    (void)state;
    static const size_t lengths[] = {60, 250, 300, 1000, 100000};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        format(256, "'%s': %s", many('\xff', lengths[i]), "the reason");
        assert_memory_equal(line, "'\\xff\\xff", 9);
        assert_ends_in(lengths[i] == 60 ? "\\xff': the reason" : "\\xff...': the reason");
    }
}

static void line_that_is_long_without_any_value_is_cut(void **state)
{
    (void)state;
    format(12, "no value, %d, but long", 7);
    assert_string_equal(line, "no value, 7");
    format(1, "%s", "x");
    assert_string_equal(line, "");
    format(12, "%.*s, the end", 100000, many('x', 100000));
    assert_string_equal(line, "xxxxxxxxxxx");
}

static void text_of_every_language_passes(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "\xc2\xa0",     "\xc3\xa9",         "\xdf\xbf", /* two bytes, from the first printable */
        "\xe0\xa0\x80", "\xed\x9f\xbf",     "\xee\x80\x80",     /* three, around the surrogates */
        "\xef\xbf\xbd", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", /* four, to the last */
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        format(64, "/%s/%s", texts[i], texts[i]);
        char expected[64];
        snprintf(expected, sizeof expected, "/%s/%s", texts[i], texts[i]);
        assert_string_equal(line, expected);
    }
}

static void what_is_no_text_is_escaped(void **state)
{
    (void)state;
    static const struct {
        const char *given, *shown;
    } cases[] = {
        {"a\nb\x1b[2J\x7f", "a\\x0ab\\x1b[2J\\x7f"},
        {"\xc2\x9b"
         "31m",
         "\\xc2\\x9b31m"},            /* a control character of Latin 1 */
        {"\x80\xbfx", "\\x80\\xbfx"}, /* what only continues */
        {"\xc3", "\\xc3"},
        {"\xc3z", "\\xc3z"}, /* begun and not finished */
        {"\xe2\x82", "\\xe2\\x82"},
        {"\xf0\x9f\x98", "\\xf0\\x9f\\x98"},
        {"\xc0\xaf", "\\xc0\\xaf"}, /* longer than needed */
        {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},
        {"\xf0\x80\x80\xaf", "\\xf0\\x80\\x80\\xaf"},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},          /* half of a pair */
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* beyond the last */
        {"\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80"},
        {"\xff\xfe", "\\xff\\xfe"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        format(64, "%s", cases[i].given);
        assert_string_equal(line, cases[i].shown);
    }
}

/* Half of a character, or of an escape, would be no text to its reader. */
static void line_is_never_cut_within_a_character(void **state)
{
    (void)state;
    format(4, "%.*s", 8, "ab\xc3\xa9");
    assert_string_equal(line, "ab");
    format(4, "%.*s", 8, "a\x1b");
    assert_string_equal(line, "a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_with_room_is_what_printf_writes),
        cmocka_unit_test(every_line_that_just_fits_is_whole),
        cmocka_unit_test(reason_behind_a_long_value_stays),
        cmocka_unit_test(several_long_values_share_the_room),
        cmocka_unit_test(reason_behind_a_long_value_of_odd_bytes_stays),
        cmocka_unit_test(line_that_is_long_without_any_value_is_cut),
        cmocka_unit_test(text_of_every_language_passes),
        cmocka_unit_test(what_is_no_text_is_escaped),
        cmocka_unit_test(line_is_never_cut_within_a_character),
    };
    return cmocka_run_group_tests_name("line", tests, NULL, NULL);
}
