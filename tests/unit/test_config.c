/* SPDX-License-Identifier: Apache-2.0 */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

/* Ids that the tests bend; linked with --wrap. */
static bool other_user, other_group;

uid_t __real_geteuid(void);
uid_t __wrap_geteuid(void);
uid_t __wrap_geteuid(void)
{
    return __real_geteuid() + (other_user ? 1 : 0);
}

gid_t __real_getegid(void);
gid_t __wrap_getegid(void);
gid_t __wrap_getegid(void)
{
    return __real_getegid() + (other_group ? 1 : 0);
}

static const char *const variables[] = {
    "TOPK_JIT_CACHE_DIR", "TOPK_JIT_TEMPLATE_DIR", "TOPK_JIT_NVRTC",  "XDG_CACHE_HOME", "HOME",
    "CUDA_HOME",          "TOPK_JIT_LOG",          "XDG_RUNTIME_DIR",
};

static int set_up(void **state)
{
    (void)state;
    other_user = other_group = false;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        unsetenv(variables[i]);
    return 0;
}

static void set_every_variable(const char *suffix)
{
    char value[64];
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        snprintf(value, sizeof value, "%s%s", variables[i], suffix);
        assert_int_equal(setenv(variables[i], *suffix != '\0' ? value : "", 1), 0);
    }
}

static void ignore_text(void *user, topk_jit_log_level level, const char *text)
{
    (void)user;
    (void)level;
    (void)text;
}

static void assert_nothing_from_the_environment(const tkj_config *config)
{
    assert_null(config->env_cache_dir);
    assert_null(config->env_template_dir);
    assert_null(config->env_nvrtc);
    assert_null(config->env_xdg_cache_home);
    assert_null(config->env_xdg_runtime_dir);
    assert_null(config->env_home);
    assert_null(config->env_cuda_home);
    assert_null(config->logger.callback);
}

static void without_options_and_environment_all_is_default(void **state)
{
    (void)state;
    tkj_config config;
    assert_int_equal(tkj_config_resolve(NULL, &config), TOPK_JIT_OK);
    assert_non_null(config.allocator.allocate);
    assert_non_null(config.allocator.release);
    assert_null(config.cache_dir);
    assert_null(config.template_dir);
    assert_null(config.nvrtc_path);
    assert_null(config.nvrtc_hint);
    assert_null(config.ro_dirs);
    assert_non_null(config.own_directory);
    assert_int_equal(config.own_directory[0], '/');
    assert_nothing_from_the_environment(&config);
    tkj_config_release(&config);
    assert_null(config.own_directory);
}

static void options_are_copied(void **state)
{
    (void)state;
    char cache[] = "/cache", template[] = "/templates", nvrtc[] = "/nvrtc.so", hint[] = "/hint",
         ro_dirs[] = "/read:/only";
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    options.cache_dir = cache;
    options.template_dir = template;
    options.nvrtc_path = nvrtc;
    options.nvrtc_hint = hint;
    options.ro_dirs = ro_dirs;
    tkj_config config;
    assert_int_equal(tkj_config_resolve(&options, &config), TOPK_JIT_OK);
    cache[1] = template[1] = nvrtc[1] = hint[1] = ro_dirs[1] = '#';
    assert_string_equal(config.cache_dir, "/cache");
    assert_string_equal(config.template_dir, "/templates");
    assert_string_equal(config.nvrtc_path, "/nvrtc.so");
    assert_string_equal(config.nvrtc_hint, "/hint");
    assert_string_equal(config.ro_dirs, "/read:/only");
    tkj_config_release(&config);
}

static void environment_is_copied_beside_the_options(void **state)
{
    (void)state;
    set_every_variable("=1");
    tkj_config config;
    assert_int_equal(tkj_config_resolve(NULL, &config), TOPK_JIT_OK);
    set_every_variable("=2");
    assert_string_equal(config.env_cache_dir, "TOPK_JIT_CACHE_DIR=1");
    assert_string_equal(config.env_template_dir, "TOPK_JIT_TEMPLATE_DIR=1");
    assert_string_equal(config.env_nvrtc, "TOPK_JIT_NVRTC=1");
    assert_string_equal(config.env_xdg_cache_home, "XDG_CACHE_HOME=1");
    assert_string_equal(config.env_xdg_runtime_dir, "XDG_RUNTIME_DIR=1");
    assert_string_equal(config.env_home, "HOME=1");
    assert_string_equal(config.env_cuda_home, "CUDA_HOME=1");
    assert_null(config.cache_dir);
    tkj_config_release(&config);
}

static void empty_string_is_as_if_absent(void **state)
{
    (void)state;
    set_every_variable("");
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    options.cache_dir = options.template_dir = options.nvrtc_path = options.nvrtc_hint = "";
    tkj_config config;
    assert_int_equal(tkj_config_resolve(&options, &config), TOPK_JIT_OK);
    assert_null(config.cache_dir);
    assert_null(config.template_dir);
    assert_null(config.nvrtc_path);
    assert_null(config.nvrtc_hint);
    assert_nothing_from_the_environment(&config);
    tkj_config_release(&config);
}

static void environment_is_ignored_where_user_ids_differ(void **state)
{
    (void)state;
    set_every_variable("=1");
    other_user = true;
    tkj_config config;
    assert_int_equal(tkj_config_resolve(NULL, &config), TOPK_JIT_OK);
    assert_nothing_from_the_environment(&config);
    tkj_config_release(&config);
}

static void environment_is_ignored_where_group_ids_differ(void **state)
{
    (void)state;
    set_every_variable("=1");
    other_group = true;
    tkj_config config;
    assert_int_equal(tkj_config_resolve(NULL, &config), TOPK_JIT_OK);
    assert_nothing_from_the_environment(&config);
    tkj_config_release(&config);
}

static tkj_logger resolve_logger(topk_jit_log_callback callback, topk_jit_log_level level,
                                 const char *variable)
{
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    options.log_callback = callback;
    options.log_user = &options;
    options.log_level = level;
    if (variable != NULL)
        assert_int_equal(setenv("TOPK_JIT_LOG", variable, 1), 0);
    else
        unsetenv("TOPK_JIT_LOG");
    tkj_config config;
    assert_int_equal(tkj_config_resolve(&options, &config), TOPK_JIT_OK);
    tkj_logger logger = config.logger;
    tkj_config_release(&config);
    assert_ptr_equal(logger.user, &options);
    return logger;
}

static void log_goes_to_the_callback_else_to_stderr_if_asked_for(void **state)
{
    (void)state;
    assert_null(resolve_logger(NULL, TOPK_JIT_LOG_DEBUG, NULL).callback);
    assert_true(resolve_logger(NULL, 0, "debug").callback == tkj_log_to_stderr);
    assert_true(resolve_logger(ignore_text, 0, NULL).callback == ignore_text);
    assert_true(resolve_logger(ignore_text, 0, "debug").callback == ignore_text);
}

static void log_level_is_the_option_then_the_variable_then_warning(void **state)
{
    (void)state;
    assert_int_equal(resolve_logger(ignore_text, TOPK_JIT_LOG_ERROR, "debug").level,
                     TOPK_JIT_LOG_ERROR);
    assert_int_equal(resolve_logger(ignore_text, 0, "debug").level, TOPK_JIT_LOG_DEBUG);
    assert_int_equal(resolve_logger(ignore_text, 0, NULL).level, TOPK_JIT_LOG_WARNING);
    assert_int_equal(resolve_logger(NULL, 0, "error").level, TOPK_JIT_LOG_ERROR);
    assert_int_equal(resolve_logger(NULL, 0, "1").level, TOPK_JIT_LOG_INFO);
    assert_int_equal(resolve_logger(NULL, TOPK_JIT_LOG_DEBUG, "error").level, TOPK_JIT_LOG_DEBUG);
}

static void assert_refused(const topk_jit_options *options, topk_jit_status status,
                           const char *message)
{
    tkj_config config;
    assert_int_equal(tkj_config_resolve(options, &config), status);
    if (strstr(topk_jit_last_error()->message, message) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", message, topk_jit_last_error()->message);
    tkj_config_release(&config);
}

static void relative_cache_dir_is_refused(void **state)
{
    (void)state;
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    options.cache_dir = "foo";
    assert_refused(&options, TOPK_JIT_INVALID_ARGUMENT,
                   "options.cache_dir is \"foo\", expected an absolute path");
}

static void half_an_allocator_is_refused(void **state)
{
    (void)state;
    tkj_test_allocator test;
    tkj_test_allocator_init(&test, 0);
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    options.allocator.allocate = test.allocator.allocate;
    assert_refused(&options, TOPK_JIT_INVALID_ARGUMENT, "options.allocator.release is NULL");
    options.allocator.allocate = NULL;
    options.allocator.release = test.allocator.release;
    assert_refused(&options, TOPK_JIT_INVALID_ARGUMENT, "options.allocator.allocate is NULL");
}

static void options_without_their_size_are_refused(void **state)
{
    (void)state;
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    options.struct_size = 0;
    assert_refused(&options, TOPK_JIT_ABI_MISMATCH, "topk_jit_options.struct_size is 0, expected");
}

static void newer_options_are_taken_unless_they_say_what_is_unknown(void **state)
{
    (void)state;
    struct {
        topk_jit_options options;
        uint64_t later_field;
    } newer = {TOPK_JIT_OPTIONS_INIT, 0};
    newer.options.struct_size = sizeof newer;
    newer.options.nvrtc_hint = "/hint";
    tkj_config config;
    assert_int_equal(tkj_config_resolve(&newer.options, &config), TOPK_JIT_OK);
    assert_string_equal(config.nvrtc_hint, "/hint");
    tkj_config_release(&config);
    newer.later_field = 1;
    assert_refused(&newer.options, TOPK_JIT_ABI_MISMATCH, "topk_jit_options.struct_size is");
}

static void older_options_have_defaults_in_later_fields(void **state)
{
    (void)state;
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    options.struct_size = offsetof(topk_jit_options, nvrtc_hint);
    options.nvrtc_path = "/nvrtc.so";
    options.nvrtc_hint = (const char *)1; /* memory that is not the caller's struct */
    tkj_config config;
    assert_int_equal(tkj_config_resolve(&options, &config), TOPK_JIT_OK);
    assert_string_equal(config.nvrtc_path, "/nvrtc.so");
    assert_null(config.nvrtc_hint);
    tkj_config_release(&config);
}

static void every_failing_allocation_is_out_of_memory_without_a_leak(void **state)
{
    (void)state;
    set_every_variable("=1");
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    options.cache_dir = options.template_dir = options.nvrtc_path = options.nvrtc_hint = "/x";
    options.ro_dirs = "/x";
    int failures = 0;
    for (topk_jit_status status = TOPK_JIT_OUT_OF_MEMORY; status != TOPK_JIT_OK;) {
        tkj_test_allocator test;
        tkj_test_allocator_init(&test, failures + 1);
        options.allocator = test.allocator;
        tkj_config config;
        status = tkj_config_resolve(&options, &config);
        assert_int_equal(status,
                         tkj_test_allocator_failed(&test) ? TOPK_JIT_OUT_OF_MEMORY : TOPK_JIT_OK);
        tkj_config_release(&config);
        assert_int_equal(atomic_load(&test.live), 0);
        failures += status != TOPK_JIT_OK;
    }
    assert_int_equal(failures, 13); /* five options, seven variables, the own directory */
}

#define CLEAN(test) cmocka_unit_test_setup(test, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLEAN(without_options_and_environment_all_is_default),
        CLEAN(options_are_copied),
        CLEAN(environment_is_copied_beside_the_options),
        CLEAN(empty_string_is_as_if_absent),
        CLEAN(environment_is_ignored_where_user_ids_differ),
        CLEAN(environment_is_ignored_where_group_ids_differ),
        CLEAN(log_goes_to_the_callback_else_to_stderr_if_asked_for),
        CLEAN(log_level_is_the_option_then_the_variable_then_warning),
        CLEAN(relative_cache_dir_is_refused),
        CLEAN(half_an_allocator_is_refused),
        CLEAN(options_without_their_size_are_refused),
        CLEAN(newer_options_are_taken_unless_they_say_what_is_unknown),
        CLEAN(older_options_have_defaults_in_later_fields),
        CLEAN(every_failing_allocation_is_out_of_memory_without_a_leak),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
