/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common.h"
#include "parse.h"
#include "suggest.h"
#include "testing.h"

typedef struct test_options {
    bool quick;
    char taken[64]; /* the words of --list, one behind the other */
    const char *text;
} test_options;

WARM_TAKE_FLAG(test_options, quick)
WARM_TAKE_TEXT(test_options, text)

static bool take_list(const char *value, void *given)
{
    strncat(((test_options *)given)->taken, value, 8);
    return strcmp(value, "bad") != 0;
}

static const warm_option table[] = {
    {.name = "quick", .letter = 'q', .help = "", .take = take_quick},
    {.name = "list",
     .letter = 'l',
     .argument = "LIST",
     .list = true,
     .help = "",
     .take = take_list},
    {.name = "text", .argument = "TEXT", .help = "", .take = take_text},
    {.name = NULL},
};

static const warm_exit exits[] = {
    {WARM_EXIT_NOT_THERE, "it is not there"},
    {WARM_EXIT_FAILED, "it failed"},
    {WARM_EXIT_INTERRUPTED, "interrupted"},
    {0, NULL},
};

static const warm_command command = {
    .name = "test",
    .usage = "FILE...",
    .options = table,
    .options_size = sizeof(test_options),
    .common = WARM_COMMON_OUTPUT | WARM_COMMON_CACHE,
    .operand = {.name = "FILE", .least = 1, .most = 2},
    .exits = exits,
};

/** Parses up to six words. */
static int parse(warm_call *call, const char *const words[6])
{
    static char text[8][32];
    char *argv[8] = {text[0]};
    int argc = 1;
    for (; argc < 7 && words[argc - 1] != NULL; argc++) {
        snprintf(text[argc], sizeof text[argc], "%s", words[argc - 1]);
        argv[argc] = text[argc];
    }
    return warm_parse(&command, argc, argv, call);
}

#define PARSE(call, ...) parse(call, (const char *const[6]){__VA_ARGS__})

static void options_and_operands_may_be_mixed(void **state)
{
    (void)state;
    warm_call call;
    assert_int_equal(PARSE(&call, "one", "-q", "--list", "a,b", "-lc", "--json"), WARM_EXIT_DONE);
    const test_options *given = call.options;
    assert_true(given->quick);
    assert_string_equal(given->taken, "abc");
    assert_null(given->text);
    assert_true(call.common.json);
    assert_int_equal(call.operand_count, 1);
    warm_call_release(&call);
}

static void what_is_not_given_is_zero(void **state)
{
    (void)state;
    warm_call call;
    assert_int_equal(PARSE(&call, "one", "two"), WARM_EXIT_DONE);
    const test_options *given = call.options;
    assert_false(given->quick);
    assert_string_equal(given->taken, "");
    assert_string_equal(call.common.cache_dir, "");
    assert_int_equal(call.common.verbose, 0);
    assert_int_equal(call.operand_count, 2);
    warm_call_release(&call);
}

static void help_ends_the_command_line(void **state)
{
    (void)state;
    warm_call call;
    assert_int_equal(PARSE(&call, "-vv", "--help", "--unknown"), WARM_EXIT_DONE);
    assert_true(call.common.help);
    assert_int_equal(call.common.verbose, 2);
    warm_call_release(&call);
}

static void relative_cache_is_made_absolute(void **state)
{
    (void)state;
    warm_call call;
    char here[PATH_MAX];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(PARSE(&call, "one", "--cache-dir", "below"), WARM_EXIT_DONE);
    assert_memory_equal(call.common.cache_dir, here, strlen(here));
    assert_string_equal(call.common.cache_dir + strlen(here), "/below");
    warm_call_release(&call);
}

static void wrong_command_lines_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[][6] = {
        {NULL},
        {"one", "two", "three"},
        {"one", "--list", "a,bad,c"},
        {"one", "--text", ""},
        {"one", "--text"},
        {"one", "--quick=1"},
        {"one", "--version"},
        {"one", "-x"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        warm_call call;
        assert_int_equal(parse(&call, wrong[i]), WARM_EXIT_USAGE);
        warm_call_release(&call);
    }
}

static void exit_statuses_ascend_and_the_commands_meaning_wins(void **state)
{
    (void)state;
    static const int codes[] = {0, 1, 2, 4, 130};
    warm_exit status;
    for (size_t i = 0; i < 5; i++) {
        assert_true(warm_exit_at(&command, i, &status));
        assert_int_equal(status.code, codes[i]);
        if (status.code == WARM_EXIT_FAILED)
            assert_string_equal(status.meaning, "it failed");
    }
    assert_false(warm_exit_at(&command, 5, &status));
}

static void assert_suggests(const char *given, const char *expected)
{
    static const char *const words[] = {"list", "lint", "inspect", "verify", "pack"};
    tkj_suggestion suggestion = {.given = given};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        tkj_suggest(&suggestion, words[i]);
    char text[256];
    tkj_suggestion_format(&suggestion, "", text, sizeof text);
    assert_string_equal(text, expected);
}

static void nearest_words_are_suggested(void **state)
{
    (void)state;
    assert_suggests("isnpect", "; did you mean 'inspect'?"); /* swapped */
    assert_suggests("verifyy", "; did you mean 'verify'?");
    assert_suggests("in", "; did you mean 'inspect'?");   /* begun */
    assert_suggests("packing", "; did you mean 'pack'?"); /* begins with it */
    assert_suggests("li", "; did you mean 'list' or 'lint'?");
    assert_suggests("lixt", "; did you mean 'list' or 'lint'?");
    assert_suggests("frobnicate", "");
    assert_suggests("", "");
    assert_suggests("a word that is longer than any that is known", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_and_operands_may_be_mixed),
        cmocka_unit_test(what_is_not_given_is_zero),
        cmocka_unit_test(help_ends_the_command_line),
        cmocka_unit_test(relative_cache_is_made_absolute),
        cmocka_unit_test(wrong_command_lines_are_refused),
        cmocka_unit_test(exit_statuses_ascend_and_the_commands_meaning_wins),
        cmocka_unit_test(nearest_words_are_suggested),
    };
    return cmocka_run_group_tests_name("warm_parse", tests, NULL, NULL);
}
