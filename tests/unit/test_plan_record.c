/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plan_record.h"

static const char *record_path(const plan_case *it)
{
    return tkj_test_path(it->directory, "record");
}

static void open_recording(plan_case *it)
{
    topk_jit_options options = plan_case_options(it);
    options.record_file = record_path(it);
    plan_case_open(it, &options);
}

static void read_record(const plan_case *it, char text[4096])
{
    FILE *file = fopen(record_path(it), "r");
    assert_non_null(file);
    text[fread(text, 1, 4095, file)] = '\0';
    assert_int_equal(fclose(file), 0);
}

static void assert_record(const plan_case *it, const char *expected)
{
    char text[4096];
    read_record(it, text);
    assert_string_equal(text, expected);
}

#define LINE(topk) "operation=select,layout=plain,topk=" #topk ",dtype=float32,index=int32\n"

static void each_spec_is_recorded_once_in_the_order_of_their_coming(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec specs[] = {plan_case_spec(2048), plan_case_spec(7), plan_case_spec(2048)};
    open_recording(it);
    assert_int_equal(topk_jit_prepare(it->context, specs, 3, streams[SM90]), TOPK_JIT_OK);
    assert_int_equal(topk_jit_prepare(it->context, specs, 3, streams[SM80]), TOPK_JIT_OK);
    assert_record(it, LINE(2048) LINE(7));
    open_recording(it);
    assert_int_equal(topk_jit_prepare(it->context, &specs[1], 1, streams[SM90]), TOPK_JIT_OK);
    assert_record(it, LINE(2048) LINE(7));
    struct stat status;
    assert_int_equal(stat(record_path(it), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
}

static void every_recorded_line_is_a_spec_that_parses(void **state)
{
    plan_case *it = *state;
    char text[4096];
    topk_jit_spec spec = plan_case_spec(100), parsed;
    spec.layout = TOPK_JIT_LAYOUT_PAGED;
    spec.page_size = 64;
    spec.sorted = 1;
    spec = tkj_spec_canonical(&spec);
    open_recording(it);
    tkj_plan_record(it->context, &spec);
    read_record(it, text);
    text[strcspn(text, "\n")] = '\0';
    assert_int_equal(tkj_spec_parse(text, &parsed), TOPK_JIT_OK);
    assert_memory_equal(&parsed, &spec, sizeof spec);
}

static void spec_that_could_not_be_prepared_is_recorded_too(void **state)
{
    plan_case *it = *state;
    topk_jit_options options = plan_case_options(it);
    const topk_jit_spec spec = plan_case_spec(7);
    options.record_file = record_path(it);
    options.mode = TOPK_JIT_MODE_OFFLINE;
    plan_case_open(it, &options);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OFFLINE_MISS);
    assert_record(it, LINE(7));
}

static void line_that_is_torn_or_the_start_of_another_is_none(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(7);
    static const char torn[] =
        "operation=select,layout=plain,topk=7,dtype=float32,index=int32,sorted"
        "\noperation=sel";
    tkj_test_file_write(record_path(it), torn, sizeof torn - 1);
    open_recording(it);
    tkj_plan_record(it->context, &spec);
    tkj_plan_record(it->context, &spec);
    char text[4096];
    read_record(it, text);
    assert_string_equal(text + strlen(torn), "\n" LINE(7));
}

static void variable_serves_where_there_is_no_option(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(7);
    assert_int_equal(setenv("TOPK_JIT_RECORD", record_path(it), 1), 0);
    plan_case_reopen(it, FAKE_NVRTC_PATH);
    assert_int_equal(unsetenv("TOPK_JIT_RECORD"), 0);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    assert_record(it, LINE(7));
}

static void relative_path_is_refused(void **state)
{
    plan_case *it = *state;
    topk_jit_context *context;
    topk_jit_options options = plan_case_options(it);
    options.record_file = "record";
    assert_int_equal(topk_jit_context_create(&context, &options), TOPK_JIT_INVALID_ARGUMENT);
    plan_case_assert_message("options.record_file");
    options.record_file = NULL;
    assert_int_equal(setenv("TOPK_JIT_RECORD", "record", 1), 0);
    assert_int_equal(topk_jit_context_create(&context, &options), TOPK_JIT_INVALID_ARGUMENT);
    assert_int_equal(unsetenv("TOPK_JIT_RECORD"), 0);
    plan_case_assert_message("TOPK_JIT_RECORD");
}

static void assert_only_warned(plan_case *it)
{
    const topk_jit_spec specs[] = {plan_case_spec(7), plan_case_spec(8)};
    open_recording(it);
    assert_int_equal(topk_jit_prepare(it->context, specs, 2, streams[SM90]), TOPK_JIT_OK);
    assert_int_equal(it->logged[TOPK_JIT_LOG_WARNING], 1);
    plan_case_assert_logged(it, TOPK_JIT_LOG_WARNING, record_path(it));
}

static void record_that_cannot_be_written_is_one_warning(void **state)
{
    plan_case *it = *state;
    assert_int_equal(mkdir(record_path(it), 0700), 0);
    assert_only_warned(it);
    assert_int_equal(rmdir(record_path(it)), 0);
    assert_int_equal(mkfifo(record_path(it), 0600), 0);
    assert_only_warned(it);
    assert_int_equal(unlink(record_path(it)), 0);
    assert_int_equal(symlink("/dev/null", record_path(it)), 0);
    assert_only_warned(it);
}

/** A server is many processes, which meet the same specs at the same time. */
static void processes_at_once_write_each_line_once(void **state)
{
    plan_case *it = *state;
    open_recording(it);
    int start[2];
    assert_int_equal(pipe(start), 0);
    for (int i = 0; i < 8; i++)
        if (fork() == 0) {
            char end;
            close(start[1]);
            if (read(start[0], &end, 1) == 0)
                for (int topk = 1; topk <= 9; topk++) {
                    const topk_jit_spec spec = plan_case_spec(topk);
                    tkj_plan_record(it->context, &spec);
                }
            _exit(0);
        }
    close(start[1]);
    for (int i = 0; i < 8; i++)
        wait(NULL);
    close(start[0]);
    assert_record(it, LINE(1) LINE(2) LINE(3) LINE(4) LINE(5) LINE(6) LINE(7) LINE(8) LINE(9));
}

#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, plan_case_set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(each_spec_is_recorded_once_in_the_order_of_their_coming),
        TEST(every_recorded_line_is_a_spec_that_parses),
        TEST(spec_that_could_not_be_prepared_is_recorded_too),
        TEST(line_that_is_torn_or_the_start_of_another_is_none),
        TEST(variable_serves_where_there_is_no_option),
        TEST(relative_path_is_refused),
        TEST(record_that_cannot_be_written_is_one_warning),
        TEST(processes_at_once_write_each_line_once),
    };
    return cmocka_run_group_tests_name("plan_record", tests, NULL, NULL);
}
