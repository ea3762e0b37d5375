/* SPDX-License-Identifier: Apache-2.0 */
/* Where templates are found, what their digest depends on, and running out of memory. */
#include "installed.h"
#include "template_case.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"
#include "params.h"
#include "status.h"

/* params.h of this ABI that can be told from the embedded one. */
static const char *this_abi(void)
{
    static char text[64];
    snprintf(text, sizeof text, "/* other */\n#define TKJ_TEMPLATE_ABI %d\n", TKJ_TEMPLATE_ABI);
    return text;
}

static void embedded_set_serves_where_no_place_is_given(void **state)
{
    (void)state;
    template_case c;
    template_case_open(&c);
    assert_int_equal(template_case_load(&c, (tkj_template_search){0}), TOPK_JIT_OK);
    for (size_t i = 0; i < tkj_embedded_template_count; i++) {
        assert_ptr_equal(c.set.files[i].name, tkj_embedded_templates[i].name);
        assert_ptr_equal(c.set.files[i].text, tkj_embedded_templates[i].text);
    }
    assert_null(c.set.directory);
    assert_int_equal(c.log.count, 0);
    template_case_close(&c);
}

static void directory_of_the_option_is_read(void **state)
{
    (void)state;
    template_case c;
    template_case_open(&c);
    template_case_write_set(c.dir);
    template_case_write(c.dir, "params.h", this_abi());
    assert_int_equal(template_case_load(&c, (tkj_template_search){.option_dir = c.dir}),
                     TOPK_JIT_OK);
    assert_string_equal(template_case_text(&c, "params.h"), this_abi());
    assert_string_equal(c.set.directory, c.dir);
    template_case_close(&c);
}

static void same_files_have_the_digest_of_the_embedded_ones(void **state)
{
    (void)state;
    uint8_t embedded[TKJ_DIGEST_SIZE];
    template_case c;
    template_case_open(&c);
    template_case_write_set(c.dir);
    assert_int_equal(template_case_load(&c, (tkj_template_search){0}), TOPK_JIT_OK);
    memcpy(embedded, c.set.digest, sizeof embedded);
    assert_int_equal(template_case_load(&c, (tkj_template_search){.option_dir = c.dir}),
                     TOPK_JIT_OK);
    assert_memory_equal(embedded, c.set.digest, sizeof embedded);
    template_case_close(&c);
}

static void path_time_and_other_files_do_not_change_the_digest(void **state)
{
    (void)state;
    uint8_t digest[TKJ_DIGEST_SIZE];
    template_case c;
    template_case_open(&c);
    const char *elsewhere = template_case_place(&c, "deep/down");
    template_case_write_set(c.dir);
    template_case_write_set(elsewhere);
    assert_int_equal(template_case_load(&c, (tkj_template_search){.option_dir = c.dir}),
                     TOPK_JIT_OK);
    memcpy(digest, c.set.digest, sizeof digest);
    const struct timespec times[2] = {{1, 0}, {1, 0}};
    assert_int_equal(utimensat(AT_FDCWD, tkj_test_path(elsewhere, "params.h"), times, 0), 0);
    template_case_write(elsewhere, "extra.cuh", "int extra;");
    assert_int_equal(template_case_load(&c, (tkj_template_search){.option_dir = elsewhere}),
                     TOPK_JIT_OK);
    assert_memory_equal(digest, c.set.digest, sizeof digest);
    template_case_close(&c);
}

static void content_of_every_file_changes_the_digest(void **state)
{
    (void)state;
    uint8_t digest[TKJ_DIGEST_SIZE];
    template_case c;
    template_case_open(&c);
    template_case_write_set(c.dir);
    assert_int_equal(template_case_load(&c, (tkj_template_search){.option_dir = c.dir}),
                     TOPK_JIT_OK);
    memcpy(digest, c.set.digest, sizeof digest);
    for (size_t i = 0; i < tkj_embedded_template_count; i++) {
        char *longer = tkj_format(&tkj_default_allocator, "%s\n", tkj_embedded_templates[i].text);
        template_case_write(c.dir, tkj_embedded_templates[i].name, longer);
        tkj_free(&tkj_default_allocator, longer);
        assert_int_equal(template_case_load(&c, (tkj_template_search){.option_dir = c.dir}),
                         TOPK_JIT_OK);
        assert_memory_not_equal(digest, c.set.digest, sizeof digest);
        template_case_write_embedded(c.dir, i);
    }
    template_case_close(&c);
}

static void text_that_moves_to_the_next_file_changes_the_digest(void **state)
{
    (void)state;
    uint8_t digest[TKJ_DIGEST_SIZE];
    template_case c;
    template_case_open(&c);
    template_case_write_set(c.dir);
    template_case_write(c.dir, "scan.cuh", "ab");
    template_case_write(c.dir, "sort.cuh", "c");
    assert_int_equal(template_case_load(&c, (tkj_template_search){.option_dir = c.dir}),
                     TOPK_JIT_OK);
    memcpy(digest, c.set.digest, sizeof digest);
    template_case_write(c.dir, "scan.cuh", "a");
    template_case_write(c.dir, "sort.cuh", "bc");
    assert_int_equal(template_case_load(&c, (tkj_template_search){.option_dir = c.dir}),
                     TOPK_JIT_OK);
    assert_memory_not_equal(digest, c.set.digest, sizeof digest);
    template_case_close(&c);
}

static void option_beats_environment_beats_installed(void **state)
{
    (void)state;
    template_case c;
    template_case_open(&c);
    const char *other = template_case_place(&c, "other"), *own = template_case_place(&c, "own");
    const char *installed = template_case_place(&c, "own/share/topk_jit/kernel_templates");
    template_case_write_set(c.dir);
    template_case_write_set(other);
    template_case_write(other, "scan.cuh", "other");
    template_case_write_set(installed);
    template_case_write(installed, "scan.cuh", "installed");
    tkj_template_search search = {
        .option_dir = c.dir, .environment_dir = other, .own_directory = own};
    assert_int_equal(template_case_load(&c, search), TOPK_JIT_OK);
    assert_string_not_equal(template_case_text(&c, "scan.cuh"), "other");
    search.option_dir = NULL;
    assert_int_equal(template_case_load(&c, search), TOPK_JIT_OK);
    assert_string_equal(template_case_text(&c, "scan.cuh"), "other");
    search.environment_dir = NULL;
    assert_int_equal(template_case_load(&c, search), TOPK_JIT_OK);
    assert_string_equal(template_case_text(&c, "scan.cuh"), "installed");
    assert_int_equal(c.log.count, 0);
    template_case_close(&c);
}

/* An installed library is in <prefix>/lib, its templates are in <prefix>/share. */
static void set_below_the_prefix_beats_that_below_the_library(void **state)
{
    (void)state;
    template_case c;
    template_case_open(&c);
    const char *own = template_case_place(&c, "prefix/lib/a/b");
    char below[128];
    snprintf(below, sizeof below, "prefix/lib/a/b/%s/topk_jit/kernel_templates",
             tkj_installed_data);
    const char *installed = template_case_place(&c, below);
    template_case_write_set(
        template_case_place(&c, "prefix/lib/a/b/share/topk_jit/kernel_templates"));
    template_case_write_set(installed);
    template_case_write(installed, "scan.cuh", "below the prefix");
    assert_int_equal(template_case_load(&c, (tkj_template_search){.own_directory = own}),
                     TOPK_JIT_OK);
    assert_string_equal(template_case_text(&c, "scan.cuh"), "below the prefix");
    template_case_close(&c);
}

static void library_without_an_installed_set_is_no_news(void **state)
{
    (void)state;
    template_case c;
    template_case_open(&c);
    tkj_fail_native(TOPK_JIT_OS_FAILED, 5, "an earlier failure");
    assert_int_equal(template_case_load(&c, (tkj_template_search){.own_directory = c.dir}),
                     TOPK_JIT_OK);
    assert_ptr_equal(c.set.files[0].text, tkj_embedded_templates[0].text);
    assert_int_equal(c.log.count, 0);
    assert_string_equal(topk_jit_last_error()->message, "an earlier failure");
    assert_int_equal(topk_jit_last_error()->status, TOPK_JIT_OS_FAILED);
    assert_int_equal(topk_jit_last_error()->native_code, 5);
    template_case_close(&c);
}

/* Expects that the installed set is not used, one log line, and no last error. */
static void expect_skipped(template_case *c, const char *rest)
{
    char line[2048];
    const char *installed = tkj_test_path(c->dir, "share/topk_jit/kernel_templates");
    snprintf(line, sizeof line, "template directory %s%s; not used", installed, rest);
    tkj_fail(TOPK_JIT_OS_FAILED, "an earlier failure");
    assert_int_equal(template_case_load(c, (tkj_template_search){.own_directory = c->dir}),
                     TOPK_JIT_OK);
    assert_ptr_equal(c->set.files[0].text, tkj_embedded_templates[0].text);
    assert_null(c->set.directory);
    assert_int_equal(c->log.count, 1);
    assert_int_equal(c->log.level, TOPK_JIT_LOG_WARNING);
    assert_string_equal(c->log.text, line);
    assert_string_equal(topk_jit_last_error()->message, "an earlier failure");
}

static void unusable_installed_set_is_skipped_with_a_log_line(void **state)
{
    (void)state;
    char rest[128];
    template_case c;
    template_case_open(&c);
    const char *installed = template_case_place(&c, "share/topk_jit/kernel_templates");
    template_case_write_set(installed);
    template_case_write(installed, "params.h", OTHER_ABI);
    snprintf(rest, sizeof rest, ": TKJ_TEMPLATE_ABI is 4711, expected %d", TKJ_TEMPLATE_ABI);
    expect_skipped(&c, rest);
    assert_int_equal(unlink(tkj_test_path(installed, "window.cuh")), 0);
    expect_skipped(&c, ": window.cuh cannot be read: No such file or directory");
    assert_int_equal(chmod(installed, 0770), 0);
    expect_skipped(&c, " is writable by its group or by everybody");
    template_case_close(&c);
}

/* Fails every allocation of a load in turn: each is reported, and nothing leaks. */
static void run_out_of_memory_everywhere(template_case *c, tkj_template_search search, int least)
{
    int failures = 0;
    for (int fail_at = 1;; fail_at++) {
        tkj_template_set set;
        tkj_test_allocator memory;
        tkj_test_allocator_init(&memory, fail_at);
        topk_jit_status status = tkj_templates_load(&memory.allocator, &c->logger, &search, &set);
        bool failed = tkj_test_allocator_failed(&memory);
        assert_int_equal(status, failed ? TOPK_JIT_OUT_OF_MEMORY : TOPK_JIT_OK);
        if (failed)
            assert_int_equal(topk_jit_last_error()->status, TOPK_JIT_OUT_OF_MEMORY);
        tkj_templates_free(&memory.allocator, &set);
        assert_int_equal(memory.live, 0);
        if (!failed)
            break;
        failures++;
    }
    assert_true(failures >= least);
}

static void every_failed_allocation_is_reported_and_nothing_leaks(void **state)
{
    (void)state;
    const int files = (int)tkj_embedded_template_count;
    template_case c;
    template_case_open(&c);
    template_case_write_set(c.dir);
    template_case_write_set(template_case_place(&c, "share/topk_jit/kernel_templates"));
    run_out_of_memory_everywhere(&c, (tkj_template_search){0}, files);
    run_out_of_memory_everywhere(&c, (tkj_template_search){.option_dir = c.dir}, 2 * files);
    run_out_of_memory_everywhere(&c, (tkj_template_search){.own_directory = c.dir}, 2 * files);
    template_case_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(embedded_set_serves_where_no_place_is_given),
        cmocka_unit_test(directory_of_the_option_is_read),
        cmocka_unit_test(same_files_have_the_digest_of_the_embedded_ones),
        cmocka_unit_test(path_time_and_other_files_do_not_change_the_digest),
        cmocka_unit_test(content_of_every_file_changes_the_digest),
        cmocka_unit_test(text_that_moves_to_the_next_file_changes_the_digest),
        cmocka_unit_test(option_beats_environment_beats_installed),
        cmocka_unit_test(set_below_the_prefix_beats_that_below_the_library),
        cmocka_unit_test(library_without_an_installed_set_is_no_news),
        cmocka_unit_test(unusable_installed_set_is_skipped_with_a_log_line),
        cmocka_unit_test(every_failed_allocation_is_reported_and_nothing_leaks),
    };
    return cmocka_run_group_tests_name("template", tests, NULL, NULL);
}
