/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes and ages as people write and read them. */
#include "testing.h"

#include "amount.h"
#include "out_human.h"

static void assert_size(const char *word, int64_t expected)
{
    int64_t bytes = -1;
    assert_true(warm_parse_size(word, &bytes));
    assert_int_equal(bytes, expected);
}

static void size_is_a_number_of_bytes_or_has_a_unit(void **state)
{
    (void)state;
    assert_size("0", 0);
    assert_size("4096", 4096);
    assert_size("64K", 65536);
    assert_size("64k", 65536);
    assert_size("500M", INT64_C(500) << 20);
    assert_size("2G", INT64_C(2) << 30);
    assert_size("1T", INT64_C(1) << 40);
    assert_size("9223372036854775807", INT64_MAX);
    assert_size("8388607T", INT64_C(8388607) << 40);
}

static void what_is_no_size_or_too_much_is_refused(void **state)
{
    static const char *const words[] = {
        "",
        "K",
        "1KK",
        "1KB",
        "-1",
        "-1K",
        "1.5G",
        " 1K",
        "1 K",
        "0x10",
        "8388608T",
        "9223372036854775808",
        "99999999999999999999999999999999999999999999999K",
    };
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        int64_t bytes;
        assert_false(warm_parse_size(words[i], &bytes));
    }
}

static void assert_age(const char *word, int64_t expected)
{
    int64_t seconds = -1;
    assert_true(warm_parse_age(word, &seconds));
    assert_int_equal(seconds, expected);
}

static void age_has_a_unit(void **state)
{
    static const char *const words[] = {"", "30", "d", "1y", "-1d", "1d12h", "15250284452472w"};
    int64_t seconds;
    (void)state;
    assert_age("90s", 90);
    assert_age("15m", 900);
    assert_age("12h", 43200);
    assert_age("30D", 2592000);
    assert_age("4w", 2419200);
    assert_age("0s", 0);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        assert_false(warm_parse_age(words[i], &seconds));
}

static void bytes_are_shown_in_their_unit(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1.0 KiB"},
        {62771, "61.3 KiB"},
        {1048524, "1023.9 KiB"},
        {1048575, "1.0 MiB"},
        {UINT64_C(1) << 30, "1.0 GiB"},
        {UINT64_MAX, "16.0 EiB"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[WARM_HUMAN_SIZE];
        warm_human_bytes(cases[i].bytes, text);
        assert_string_equal(text, cases[i].text);
    }
}

static void age_is_shown_in_its_largest_unit(void **state)
{
    static const struct {
        time_t then, now;
        const char *text;
    } cases[] = {
        {100, 100, "0s"},     {0, 59, "59s"},           {0, 60, "1m"},
        {0, 7199, "1h"},      {0, 86400, "1d"},         {0, 34560000, "400d"},
        {101, 100, "future"}, {INT64_MIN, 1, "future"}, {INT64_MAX, INT64_MIN, "future"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[WARM_HUMAN_SIZE];
        warm_human_age(cases[i].then, cases[i].now, text);
        assert_string_equal(text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(size_is_a_number_of_bytes_or_has_a_unit),
        cmocka_unit_test(what_is_no_size_or_too_much_is_refused),
        cmocka_unit_test(age_has_a_unit),
        cmocka_unit_test(bytes_are_shown_in_their_unit),
        cmocka_unit_test(age_is_shown_in_its_largest_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
