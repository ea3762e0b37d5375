/* SPDX-License-Identifier: Apache-2.0 */
#include "testing.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>

#include "memory.h"
#include "root.h"

/* The password database's answer; linked with --wrap. */
static const char *password_home; /* NULL = this user is not in it */
static int password_error;

int __wrap_getpwuid_r(uid_t uid, struct passwd *record, char *buffer, size_t size,
                      struct passwd **found);
int __wrap_getpwuid_r(uid_t uid, struct passwd *record, char *buffer, size_t size,
                      struct passwd **found)
{
    (void)uid;
    *found = NULL;
    if (password_error != 0 || password_home == NULL)
        return password_error;
    size_t home_size = strlen(password_home) + 1;
    assert_true(home_size <= size);
    memset(record, 0, sizeof *record);
    record->pw_dir = memcpy(buffer, password_home, home_size);
    *found = record;
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    password_home = NULL;
    password_error = 0;
    return 0;
}

/* Asserts that these places give this root by this rule, NULL for none. */
static void assert_rule(tkj_cache_places places, const char *expected, const char *expected_rule)
{
    tkj_test_allocator test;
    tkj_test_allocator_init(&test, 0);
    char *root = NULL;
    const char *rule = "none";
    assert_int_equal(tkj_cache_root_choose(&test.allocator, &places, &root, &rule), TOPK_JIT_OK);
    if (expected == NULL) {
        assert_null(root);
        assert_null(rule);
    } else {
        assert_string_equal(root, expected);
        assert_string_equal(rule, expected_rule);
    }
    tkj_free(&test.allocator, root);
    assert_int_equal(atomic_load(&test.live), 0);
}

static void first_place_that_is_given_wins(void **state)
{
    (void)state;
    password_home = "/pw";
    assert_rule((tkj_cache_places){"/option", "/environment", "/xdg", "/home/u"}, "/option",
                "the option cache_dir");
    assert_rule((tkj_cache_places){NULL, "/environment", "/xdg", "/home/u"}, "/environment",
                "TOPK_JIT_CACHE_DIR");
    assert_rule((tkj_cache_places){NULL, NULL, "/xdg", "/home/u"}, "/xdg/topk-jit",
                "XDG_CACHE_HOME");
    assert_rule((tkj_cache_places){NULL, NULL, NULL, "/home/u"}, "/home/u/.cache/topk-jit", "HOME");
    assert_rule((tkj_cache_places){NULL, NULL, NULL, NULL}, "/pw/.cache/topk-jit",
                "the password database");
}

static void empty_place_is_not_given(void **state)
{
    (void)state;
    password_home = "/pw";
    assert_rule((tkj_cache_places){"", "", "", "/home/u"}, "/home/u/.cache/topk-jit", "HOME");
    assert_rule((tkj_cache_places){"", "", "", ""}, "/pw/.cache/topk-jit", "the password database");
}

static void relative_place_is_ignored(void **state)
{
    (void)state;
    assert_rule((tkj_cache_places){NULL, "cache", "/xdg", NULL}, "/xdg/topk-jit", "XDG_CACHE_HOME");
    assert_rule((tkj_cache_places){NULL, NULL, ".cache", "/home/u"}, "/home/u/.cache/topk-jit",
                "HOME");
    assert_rule((tkj_cache_places){NULL, NULL, NULL, "home/u"}, NULL, NULL);
}

static void home_of_slashes_is_no_home(void **state)
{
    (void)state;
    assert_rule((tkj_cache_places){NULL, NULL, NULL, "/"}, NULL, NULL);
    assert_rule((tkj_cache_places){NULL, NULL, NULL, "//"}, NULL, NULL);
    password_home = "/pw";
    assert_rule((tkj_cache_places){NULL, NULL, NULL, "/"}, "/pw/.cache/topk-jit",
                "the password database");
}

static void user_without_a_home_has_no_root(void **state)
{
    (void)state;
    const tkj_cache_places none = {NULL, NULL, NULL, NULL};
    assert_rule(none, NULL, NULL);
    password_home = "/";
    assert_rule(none, NULL, NULL);
    password_home = "";
    assert_rule(none, NULL, NULL);
    password_home = "relative";
    assert_rule(none, NULL, NULL);
    password_error = EIO;
    assert_rule(none, NULL, NULL);
}

static void path_with_spaces_works(void **state)
{
    (void)state;
    assert_rule((tkj_cache_places){NULL, NULL, "/my caches", NULL}, "/my caches/topk-jit",
                "XDG_CACHE_HOME");
}

static void every_choice_without_memory_is_out_of_memory(void **state)
{
    (void)state;
    const tkj_cache_places choices[] = {
        {"/option", NULL, NULL, NULL}, {NULL, "/environment", NULL, NULL},
        {NULL, NULL, "/xdg", NULL},    {NULL, NULL, NULL, "/home/u"},
        {NULL, NULL, NULL, NULL},
    };
    password_home = "/pw";
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
        tkj_test_allocator test;
        tkj_test_allocator_init(&test, 1);
        char *root = (char *)1;
        const char *rule;
        assert_int_equal(tkj_cache_root_choose(&test.allocator, &choices[i], &root, &rule),
                         TOPK_JIT_OUT_OF_MEMORY);
        assert_null(root);
    }
}

#define CLEAN(test) cmocka_unit_test_setup(test, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLEAN(first_place_that_is_given_wins),
        CLEAN(empty_place_is_not_given),
        CLEAN(relative_place_is_ignored),
        CLEAN(home_of_slashes_is_no_home),
        CLEAN(user_without_a_home_has_no_root),
        CLEAN(path_with_spaces_works),
        CLEAN(every_choice_without_memory_is_out_of_memory),
    };
    return cmocka_run_group_tests_name("cache_root", tests, NULL, NULL);
}
