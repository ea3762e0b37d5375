/* SPDX-License-Identifier: Apache-2.0 */
/* Options and variables that are words and numbers: which one counts, and what none of them may
 * be. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

#define MILLISECOND UINT64_C(1000000)

static bool other_user;

uid_t __real_geteuid(void);
uid_t __wrap_geteuid(void);
uid_t __wrap_geteuid(void)
{
    return __real_geteuid() + (other_user ? 1 : 0);
}

static int set_up(void **state)
{
    static const char *const variables[] = {
        "TOPK_JIT_MODE",
        "TOPK_JIT_TOOLCHAIN",
        "TOPK_JIT_SHARED",
        "TOPK_JIT_LOCK_TIMEOUT_MS",
        "TOPK_JIT_CACHE_MAX_BYTES",
        "TOPK_JIT_RO_DIRS",
        "TOPK_JIT_LOG",
    };
    (void)state;
    other_user = false;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        assert_int_equal(unsetenv(variables[i]), 0);
    return 0;
}

static void set(const char *variable, const char *value)
{
    assert_int_equal(setenv(variable, value, 1), 0);
}

/* Resolves options that must be right. */
static tkj_config_values resolve(const topk_jit_options *options)
{
    tkj_config config;
    if (tkj_config_resolve(options, &config) != TOPK_JIT_OK)
        fail_msg("%s", topk_jit_last_error()->message);
    tkj_config_values values = config.values;
    tkj_config_release(&config);
    return values;
}

static void assert_refused(const topk_jit_options *options, const char *message)
{
    tkj_config config;
    assert_int_equal(tkj_config_resolve(options, &config), TOPK_JIT_INVALID_ARGUMENT);
    assert_string_equal(topk_jit_last_error()->message, message);
    tkj_config_release(&config);
}

/* A value of a variable that must be refused by its name. */
static void assert_variable_refused(const char *variable, const char *value, const char *expected)
{
    char message[256];
    set(variable, value);
    snprintf(message, sizeof message, "%s is \"%s\", expected %s", variable, value, expected);
    assert_refused(NULL, message);
    assert_int_equal(unsetenv(variable), 0);
}

/* ---- defaults ---- */

static void without_a_word_all_is_default(void **state)
{
    (void)state;
    const tkj_config_values values = resolve(NULL);
    assert_int_equal(values.mode, TOPK_JIT_MODE_AUTO);
    assert_int_equal(values.toolchain, TOPK_JIT_TOOLCHAIN_ANY);
    assert_int_equal(values.trust, TKJ_TRUST_OWNER);
    assert_int_equal(values.lock_timeout_ns, 30000 * MILLISECOND);
    assert_int_equal(values.cache_max_bytes, UINT64_C(1) << 30);
}

static void empty_variable_is_as_if_absent(void **state)
{
    set("TOPK_JIT_MODE", "");
    set("TOPK_JIT_TOOLCHAIN", "");
    set("TOPK_JIT_SHARED", "");
    set("TOPK_JIT_LOCK_TIMEOUT_MS", "");
    set("TOPK_JIT_CACHE_MAX_BYTES", "");
    set("TOPK_JIT_RO_DIRS", "");
    without_a_word_all_is_default(state);
}

static void variables_are_not_believed_where_ids_differ(void **state)
{
    set("TOPK_JIT_MODE", "off");
    set("TOPK_JIT_TOOLCHAIN", "exact");
    set("TOPK_JIT_SHARED", "1");
    set("TOPK_JIT_LOCK_TIMEOUT_MS", "5");
    set("TOPK_JIT_CACHE_MAX_BYTES", "wrong");
    set("TOPK_JIT_RO_DIRS", "relative");
    other_user = true;
    without_a_word_all_is_default(state);
}

/* ---- words ---- */

static topk_jit_mode mode_of(topk_jit_mode option)
{
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    options.mode = option;
    return resolve(&options).mode;
}

static void mode_is_the_option_else_the_variable(void **state)
{
    static const char *const words[] = {NULL, "auto", "readonly", "offline", "off"};
    (void)state;
    for (int i = TOPK_JIT_MODE_AUTO; i <= TOPK_JIT_MODE_OFF; i++) {
        set("TOPK_JIT_MODE", words[i]);
        assert_int_equal(mode_of(TOPK_JIT_MODE_DEFAULT), i);
        for (int option = TOPK_JIT_MODE_AUTO; option <= TOPK_JIT_MODE_OFF; option++)
            assert_int_equal(mode_of((topk_jit_mode)option), option);
    }
}

static topk_jit_toolchain toolchain_of(topk_jit_toolchain option)
{
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    options.toolchain = option;
    return resolve(&options).toolchain;
}

static void toolchain_is_the_option_else_the_variable(void **state)
{
    (void)state;
    set("TOPK_JIT_TOOLCHAIN", "exact");
    assert_int_equal(toolchain_of(TOPK_JIT_TOOLCHAIN_DEFAULT), TOPK_JIT_TOOLCHAIN_EXACT);
    assert_int_equal(toolchain_of(TOPK_JIT_TOOLCHAIN_ANY), TOPK_JIT_TOOLCHAIN_ANY);
    set("TOPK_JIT_TOOLCHAIN", "any");
    assert_int_equal(toolchain_of(TOPK_JIT_TOOLCHAIN_DEFAULT), TOPK_JIT_TOOLCHAIN_ANY);
    assert_int_equal(toolchain_of(TOPK_JIT_TOOLCHAIN_EXACT), TOPK_JIT_TOOLCHAIN_EXACT);
}

static tkj_trust trust_of(topk_jit_switch option)
{
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    options.shared = option;
    return resolve(&options).trust;
}

static void sharing_is_the_option_else_the_variable(void **state)
{
    (void)state;
    set("TOPK_JIT_SHARED", "1");
    assert_int_equal(trust_of(TOPK_JIT_SWITCH_DEFAULT), TKJ_TRUST_GROUP);
    assert_int_equal(trust_of(TOPK_JIT_SWITCH_OFF), TKJ_TRUST_OWNER);
    set("TOPK_JIT_SHARED", "0");
    assert_int_equal(trust_of(TOPK_JIT_SWITCH_DEFAULT), TKJ_TRUST_OWNER);
    assert_int_equal(trust_of(TOPK_JIT_SWITCH_ON), TKJ_TRUST_GROUP);
}

static void word_that_is_unknown_is_refused_by_its_variable(void **state)
{
    static const char *const wrong[] = {"AUTO", "auto ", "read-only", "0", "autooff"};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_variable_refused("TOPK_JIT_MODE", wrong[i], "auto, readonly, offline or off");
    assert_variable_refused("TOPK_JIT_TOOLCHAIN", "same", "any or exact");
    assert_variable_refused("TOPK_JIT_SHARED", "yes", "1 or 0");
    assert_variable_refused("TOPK_JIT_SHARED", "2", "1 or 0");
}

static void wrong_variable_is_no_matter_where_the_option_counts(void **state)
{
    (void)state;
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    options.mode = TOPK_JIT_MODE_OFF;
    options.toolchain = TOPK_JIT_TOOLCHAIN_EXACT;
    options.shared = TOPK_JIT_SWITCH_ON;
    options.lock_timeout_ms = 1;
    options.cache_max_bytes = 1;
    options.ro_dirs = "/one";
    set("TOPK_JIT_MODE", "wrong");
    set("TOPK_JIT_TOOLCHAIN", "wrong");
    set("TOPK_JIT_SHARED", "wrong");
    set("TOPK_JIT_LOCK_TIMEOUT_MS", "wrong");
    set("TOPK_JIT_CACHE_MAX_BYTES", "wrong");
    set("TOPK_JIT_RO_DIRS", "wrong");
    assert_int_equal(resolve(&options).mode, TOPK_JIT_MODE_OFF);
}

static void option_that_is_no_enumerator_is_refused_by_its_name(void **state)
{
    (void)state;
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    options.mode = (topk_jit_mode)(TOPK_JIT_MODE_OFF + 1);
    assert_refused(&options, "options.mode is 5, expected 0 to 4");
    options.mode = TOPK_JIT_MODE_OFF;
    options.toolchain = (topk_jit_toolchain)3;
    assert_refused(&options, "options.toolchain is 3, expected 0 to 2");
    options.toolchain = TOPK_JIT_TOOLCHAIN_ANY;
    options.shared = (topk_jit_switch)-1;
    assert_refused(&options, "options.shared is -1, expected 0 to 2");
}

/* ---- numbers ---- */

static uint64_t timeout_of(int32_t option)
{
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    options.lock_timeout_ms = option;
    return resolve(&options).lock_timeout_ns;
}

static void lock_timeout_is_the_option_else_the_variable(void **state)
{
    (void)state;
    assert_int_equal(timeout_of(1), MILLISECOND);
    assert_int_equal(timeout_of(INT32_MAX), INT32_MAX * MILLISECOND);
    assert_int_equal(timeout_of(-1), 0);
    assert_int_equal(timeout_of(INT32_MIN), 0);
    set("TOPK_JIT_LOCK_TIMEOUT_MS", "250");
    assert_int_equal(timeout_of(0), 250 * MILLISECOND);
    assert_int_equal(timeout_of(7), 7 * MILLISECOND);
    assert_int_equal(timeout_of(-7), 0);
    set("TOPK_JIT_LOCK_TIMEOUT_MS", "0");
    assert_int_equal(timeout_of(0), 0);
    set("TOPK_JIT_LOCK_TIMEOUT_MS", "2147483647");
    assert_int_equal(timeout_of(0), INT32_MAX * MILLISECOND);
}

static uint64_t most_of(uint64_t option)
{
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    options.cache_max_bytes = option;
    return resolve(&options).cache_max_bytes;
}

static void size_is_the_option_else_the_variable(void **state)
{
    (void)state;
    assert_int_equal(most_of(1), 1);
    assert_true(most_of(UINT64_MAX) == UINT64_MAX);
    set("TOPK_JIT_CACHE_MAX_BYTES", "5000000000");
    assert_true(most_of(0) == UINT64_C(5000000000));
    assert_int_equal(most_of(7), 7);
    set("TOPK_JIT_CACHE_MAX_BYTES", "1");
    assert_int_equal(most_of(0), 1);
    set("TOPK_JIT_CACHE_MAX_BYTES", "18446744073709551615");
    assert_true(most_of(0) == UINT64_MAX);
}

static void number_that_is_none_or_too_large_is_refused_by_its_variable(void **state)
{
    static const char *const wrong[] = {"-1", "+1", " 1", "1 ", "1k", "1.5", "0x10", "lots"};
    const char *timeouts = "a number from 0 to 2147483647";
    const char *sizes = "a number from 1 to 18446744073709551615";
    (void)state;
    assert_variable_refused("TOPK_JIT_CACHE_MAX_BYTES", "0", sizes); /* not to empty it */
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_variable_refused("TOPK_JIT_LOCK_TIMEOUT_MS", wrong[i], timeouts);
        assert_variable_refused("TOPK_JIT_CACHE_MAX_BYTES", wrong[i], sizes);
    }
    assert_variable_refused("TOPK_JIT_LOCK_TIMEOUT_MS", "2147483648", timeouts);
    assert_variable_refused("TOPK_JIT_LOCK_TIMEOUT_MS", "18446744073709551617", timeouts);
    assert_variable_refused("TOPK_JIT_CACHE_MAX_BYTES", "18446744073709551616", sizes);
    assert_variable_refused("TOPK_JIT_CACHE_MAX_BYTES", "18446744073709551620", sizes);
    assert_variable_refused("TOPK_JIT_CACHE_MAX_BYTES", "99999999999999999999999999", sizes);
}

/* ---- paths ---- */

static void assert_ro_dirs(const char *option, const char *expected)
{
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    tkj_config config;
    options.ro_dirs = option;
    assert_int_equal(tkj_config_resolve(&options, &config), TOPK_JIT_OK);
    if (expected == NULL)
        assert_null(config.ro_dirs);
    else
        assert_string_equal(config.ro_dirs, expected);
    tkj_config_release(&config);
}

static void read_only_directories_are_the_option_else_the_variable(void **state)
{
    (void)state;
    assert_ro_dirs(NULL, NULL);
    assert_ro_dirs("", NULL);
    assert_ro_dirs("/one:/two.tkp", "/one:/two.tkp");
    set("TOPK_JIT_RO_DIRS", "/variable::/and/another:");
    assert_ro_dirs(NULL, "/variable::/and/another:");
    assert_ro_dirs("", "/variable::/and/another:");
    assert_ro_dirs("/option", "/option");
}

static void relative_read_only_directory_is_refused_wherever_it_stands(void **state)
{
    (void)state;
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    options.ro_dirs = "cache";
    assert_refused(&options, "options.ro_dirs has \"cache\", expected absolute paths");
    options.ro_dirs = "/one:./two:/three";
    assert_refused(&options, "options.ro_dirs has \"./two\", expected absolute paths");
    set("TOPK_JIT_RO_DIRS", "/one::~/two");
    assert_refused(NULL, "TOPK_JIT_RO_DIRS has \"~/two\", expected absolute paths");
}

#define CLEAN(test) cmocka_unit_test_setup(test, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLEAN(without_a_word_all_is_default),
        CLEAN(empty_variable_is_as_if_absent),
        CLEAN(variables_are_not_believed_where_ids_differ),
        CLEAN(mode_is_the_option_else_the_variable),
        CLEAN(toolchain_is_the_option_else_the_variable),
        CLEAN(sharing_is_the_option_else_the_variable),
        CLEAN(word_that_is_unknown_is_refused_by_its_variable),
        CLEAN(wrong_variable_is_no_matter_where_the_option_counts),
        CLEAN(option_that_is_no_enumerator_is_refused_by_its_name),
        CLEAN(lock_timeout_is_the_option_else_the_variable),
        CLEAN(size_is_the_option_else_the_variable),
        CLEAN(number_that_is_none_or_too_large_is_refused_by_its_variable),
        CLEAN(read_only_directories_are_the_option_else_the_variable),
        CLEAN(relative_read_only_directory_is_refused_wherever_it_stands),
    };
    return cmocka_run_group_tests_name("config_values", tests, NULL, NULL);
}
