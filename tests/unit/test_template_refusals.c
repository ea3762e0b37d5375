/* SPDX-License-Identifier: Apache-2.0 */
/* Template directories that were asked for by name and cannot be used. */
#include "template_case.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "params.h"

/* Which fstat from now on finds a file of another user: 1 = the next; 0 = none does. */
static int foreign_at;

int __real_fstat(int fd, struct stat *status);
int __wrap_fstat(int fd, struct stat *status);
int __wrap_fstat(int fd, struct stat *status)
{
    int result = __real_fstat(fd, status);
    if (result == 0 && foreign_at > 0 && --foreign_at == 0)
        status->st_uid = geteuid() + 1;
    return result;
}

/* A named directory: expects a refusal whose message is "template directory DIR<rest>". */
static void expect_refusal(template_case *c, const char *dir, topk_jit_status status,
                           const char *rest)
{
    char message[sizeof topk_jit_last_error()->message];
    snprintf(message, sizeof message, "template directory %s%s", dir, rest);
    for (int environment = 0; environment < 2; environment++) {
        int foreign = foreign_at;
        tkj_template_search search = {.own_directory = "/nonexistent"};
        *(environment ? &search.environment_dir : &search.option_dir) = dir;
        assert_int_equal(template_case_load(c, search), status);
        assert_string_equal(topk_jit_last_error()->message, message);
        assert_int_equal(topk_jit_last_error()->status, status);
        foreign_at = foreign;
    }
    assert_int_equal(c->log.count, 0);
}

static void missing_directory_is_not_found(void **state)
{
    (void)state;
    template_case c;
    template_case_open(&c);
    expect_refusal(&c, tkj_test_path(c.dir, "nowhere"), TOPK_JIT_TEMPLATE_NOT_FOUND,
                   " does not exist");
    template_case_write(c.dir, "file", "x");
    expect_refusal(&c, tkj_test_path(c.dir, "file"), TOPK_JIT_TEMPLATE_NOT_FOUND,
                   " is not a directory");
    template_case_close(&c);
}

static void each_missing_file_is_named(void **state)
{
    (void)state;
    template_case c;
    template_case_open(&c);
    template_case_write_set(c.dir);
    for (size_t i = 0; i < tkj_embedded_template_count; i++) {
        char rest[256];
        assert_int_equal(unlink(tkj_test_path(c.dir, tkj_embedded_templates[i].name)), 0);
        snprintf(rest, sizeof rest, ": %s cannot be read: No such file or directory",
                 tkj_embedded_templates[i].name);
        expect_refusal(&c, c.dir, TOPK_JIT_TEMPLATE_NOT_FOUND, rest);
        template_case_write_embedded(c.dir, i);
    }
    template_case_close(&c);
}

static void file_that_is_none_is_not_found(void **state)
{
    (void)state;
    template_case c;
    template_case_open(&c);
    template_case_write_set(c.dir);
    assert_int_equal(unlink(tkj_test_path(c.dir, "scan.cuh")), 0);
    assert_int_equal(mkdir(tkj_test_path(c.dir, "scan.cuh"), 0700), 0);
    expect_refusal(&c, c.dir, TOPK_JIT_TEMPLATE_NOT_FOUND,
                   ": scan.cuh cannot be read: Invalid argument");
    template_case_close(&c);
}

static void file_beyond_a_mebibyte_is_no_template(void **state)
{
    (void)state;
    template_case c;
    template_case_open(&c);
    template_case_write_set(c.dir);
    assert_int_equal(truncate(tkj_test_path(c.dir, "sort.cuh"), (1 << 20) + 1), 0);
    expect_refusal(&c, c.dir, TOPK_JIT_TEMPLATE_NOT_FOUND,
                   ": sort.cuh cannot be read: File too large");
    assert_int_equal(truncate(tkj_test_path(c.dir, "sort.cuh"), 1 << 20), 0);
    assert_int_equal(template_case_load(&c, (tkj_template_search){.option_dir = c.dir}),
                     TOPK_JIT_OK);
    template_case_close(&c);
}

static void other_abi_has_its_own_status(void **state)
{
    (void)state;
    char rest[128];
    template_case c;
    template_case_open(&c);
    template_case_write_set(c.dir);
    template_case_write(c.dir, "params.h", OTHER_ABI);
    snprintf(rest, sizeof rest, ": TKJ_TEMPLATE_ABI is 4711, expected %d", TKJ_TEMPLATE_ABI);
    expect_refusal(&c, c.dir, TOPK_JIT_TEMPLATE_ABI, rest);
    template_case_write(c.dir, "params.h", "");
    snprintf(rest, sizeof rest, ": TKJ_TEMPLATE_ABI is -1, expected %d", TKJ_TEMPLATE_ABI);
    expect_refusal(&c, c.dir, TOPK_JIT_TEMPLATE_ABI, rest);
    template_case_close(&c);
}

static void directory_that_others_can_write_is_not_trusted(void **state)
{
    (void)state;
    static const mode_t modes[] = {0770, 0702, 0777};
    template_case c;
    template_case_open(&c);
    template_case_write_set(c.dir);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        assert_int_equal(chmod(c.dir, modes[i]), 0);
        expect_refusal(&c, c.dir, TOPK_JIT_TEMPLATE_UNTRUSTED,
                       " is writable by its group or by everybody");
    }
    template_case_close(&c);
}

static void file_that_others_can_write_is_not_trusted(void **state)
{
    (void)state;
    template_case c;
    template_case_open(&c);
    template_case_write_set(c.dir);
    assert_int_equal(chmod(tkj_test_path(c.dir, "emit.cuh"), 0660), 0);
    expect_refusal(&c, c.dir, TOPK_JIT_TEMPLATE_UNTRUSTED,
                   ": emit.cuh belongs to another user or is writable by its group or by "
                   "everybody");
    template_case_close(&c);
}

static void what_belongs_to_another_user_is_not_trusted(void **state)
{
    (void)state;
    char rest[256];
    template_case c;
    template_case_open(&c);
    template_case_write_set(c.dir);
    foreign_at = 1;
    expect_refusal(&c, c.dir, TOPK_JIT_TEMPLATE_UNTRUSTED, " belongs to another user");
    foreign_at = 3;
    snprintf(rest, sizeof rest,
             ": %s belongs to another user or is writable by its group or by everybody",
             tkj_embedded_templates[1].name);
    expect_refusal(&c, c.dir, TOPK_JIT_TEMPLATE_UNTRUSTED, rest);
    foreign_at = 0;
    template_case_close(&c);
}

static void symbolic_links_are_not_followed(void **state)
{
    (void)state;
    template_case c;
    template_case_open(&c);
    const char *real = template_case_place(&c, "real"), *link = template_case_place(&c, "link");
    template_case_write_set(real);
    assert_int_equal(symlink("real", link), 0);
    expect_refusal(&c, link, TOPK_JIT_TEMPLATE_UNTRUSTED, " is a symbolic link");
    assert_int_equal(unlink(tkj_test_path(real, "radix.cuh")), 0);
    assert_int_equal(symlink("scan.cuh", tkj_test_path(real, "radix.cuh")), 0);
    expect_refusal(&c, real, TOPK_JIT_TEMPLATE_UNTRUSTED, ": radix.cuh is a symbolic link");
    template_case_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_directory_is_not_found),
        cmocka_unit_test(each_missing_file_is_named),
        cmocka_unit_test(file_that_is_none_is_not_found),
        cmocka_unit_test(file_beyond_a_mebibyte_is_no_template),
        cmocka_unit_test(other_abi_has_its_own_status),
        cmocka_unit_test(directory_that_others_can_write_is_not_trusted),
        cmocka_unit_test(file_that_others_can_write_is_not_trusted),
        cmocka_unit_test(what_belongs_to_another_user_is_not_trusted),
        cmocka_unit_test(symbolic_links_are_not_followed),
    };
    return cmocka_run_group_tests_name("template_refusals", tests, NULL, NULL);
}
