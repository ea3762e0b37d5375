/* SPDX-License-Identifier: Apache-2.0 */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

/* The last line a logger passed on. */
typedef struct heard {
    int count;
    topk_jit_log_level level;
    char text[8192];
} heard;

static void listen_to(void *user, topk_jit_log_level level, const char *text)
{
    heard *line = user;
    line->count++;
    line->level = level;
    snprintf(line->text, sizeof line->text, "%s", text);
}

static void line_reaches_the_callback_with_its_level(void **state)
{
    (void)state;
    heard line = {0};
    tkj_logger logger = {listen_to, &line, TOPK_JIT_LOG_INFO};
    tkj_log(&logger, TOPK_JIT_LOG_WARNING, "compiled %s in %d ms", "kernel", 7);
    assert_int_equal(line.count, 1);
    assert_int_equal(line.level, TOPK_JIT_LOG_WARNING);
    assert_string_equal(line.text, "compiled kernel in 7 ms");
}

static void only_levels_up_to_the_chosen_one_are_reported(void **state)
{
    (void)state;
    for (int chosen = 0; chosen <= TOPK_JIT_LOG_DEBUG; chosen++) {
        heard line = {0};
        tkj_logger logger = {listen_to, &line, (topk_jit_log_level)chosen};
        for (int level = TOPK_JIT_LOG_ERROR; level <= TOPK_JIT_LOG_DEBUG; level++) {
            tkj_log(&logger, (topk_jit_log_level)level, "line");
            tkj_log_text(&logger, (topk_jit_log_level)level, "text");
        }
        assert_int_equal(line.count, 2 * chosen);
    }
}

static void logger_without_callback_is_silent(void **state)
{
    (void)state;
    heard line = {0};
    tkj_logger logger = {NULL, &line, TOPK_JIT_LOG_DEBUG};
    tkj_log(&logger, TOPK_JIT_LOG_ERROR, "line");
    tkj_log_text(&logger, TOPK_JIT_LOG_ERROR, "text");
    assert_int_equal(line.count, 0);
}

static void long_line_is_cut_and_long_text_is_not(void **state)
{
    (void)state;
    char text[4096];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    heard line = {0};
    tkj_logger logger = {listen_to, &line, TOPK_JIT_LOG_DEBUG};
    tkj_log(&logger, TOPK_JIT_LOG_INFO, "%s", text);
    assert_int_equal(strlen(line.text), 2047);
    tkj_log_text(&logger, TOPK_JIT_LOG_INFO, text);
    assert_string_equal(line.text, text);
}

/* A path holds anything but NUL: it cannot forge a line of the log. */
static void line_has_no_control_characters_and_a_text_keeps_its_lines(void **state)
{
    (void)state;
    heard line = {0};
    tkj_logger logger = {listen_to, &line, TOPK_JIT_LOG_DEBUG};
    for (int character = 1; character < 256; character++) {
        const char path[] = {'/', (char)character, 'x', '\0'};
        char shown[sizeof "/\\xNNx"];
        const bool printable = character >= ' ' && character <= '~';
        snprintf(shown, sizeof shown, printable ? "/%cx" : "/\\x%02xx", character);
        tkj_log(&logger, TOPK_JIT_LOG_WARNING, "%s", path);
        assert_string_equal(line.text, shown);
        tkj_log_text(&logger, TOPK_JIT_LOG_WARNING, path);
        assert_string_equal(line.text, path);
    }
}

static void level_names_are_parsed_and_anything_else_is_info(void **state)
{
    (void)state;
    assert_int_equal(tkj_log_level_parse("error"), TOPK_JIT_LOG_ERROR);
    assert_int_equal(tkj_log_level_parse("warning"), TOPK_JIT_LOG_WARNING);
    assert_int_equal(tkj_log_level_parse("info"), TOPK_JIT_LOG_INFO);
    assert_int_equal(tkj_log_level_parse("debug"), TOPK_JIT_LOG_DEBUG);
    assert_int_equal(tkj_log_level_parse("1"), TOPK_JIT_LOG_INFO);
    assert_int_equal(tkj_log_level_parse("DEBUG"), TOPK_JIT_LOG_INFO);
}

static void stderr_gets_prefix_level_and_text(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    assert_non_null(file);
    int before = dup(STDERR_FILENO);
    assert_true(before >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    tkj_log_to_stderr(NULL, TOPK_JIT_LOG_WARNING, "disk full");
    fflush(stderr);
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    char line[128] = "";
    rewind(file);
    assert_non_null(fgets(line, sizeof line, file));
    assert_int_equal(fclose(file), 0);
    assert_string_equal(line, "topk_jit: warning: disk full\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_reaches_the_callback_with_its_level),
        cmocka_unit_test(only_levels_up_to_the_chosen_one_are_reported),
        cmocka_unit_test(logger_without_callback_is_silent),
        cmocka_unit_test(long_line_is_cut_and_long_text_is_not),
        cmocka_unit_test(line_has_no_control_characters_and_a_text_keeps_its_lines),
        cmocka_unit_test(level_names_are_parsed_and_anything_else_is_info),
        cmocka_unit_test(stderr_gets_prefix_level_and_text),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
