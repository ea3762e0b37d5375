/* SPDX-License-Identifier: Apache-2.0 */
/* The command in the message of an offline miss, run by a shell as it stands: the same call hits
 * then, though the environment of the command says offline, too. */
#include "offline_case.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* As somebody would paste it who has topk-jit-warm in the PATH; what it prints is another test's.
 */
static int run_in_shell(const char *command)
{
    char path[4096];
    pid_t child;
    posix_spawn_file_actions_t quiet;
    int status = 0;
    const char *before = getenv("PATH");
    char *const arguments[] = {"sh", "-c", (char *)(uintptr_t)command, NULL};
    snprintf(path, sizeof path, "%s:%s", WARM_DIRECTORY, before != NULL ? before : "/usr/bin:/bin");
    assert_int_equal(setenv("PATH", path, 1), 0);
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&quiet, STDOUT_FILENO, STDERR_FILENO);
    assert_int_equal(posix_spawn(&child, "/bin/sh", &quiet, NULL, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&quiet);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A context that is what the environment makes it. */
static void open_from_environment(plan_case *it)
{
    topk_jit_options options = plan_case_options(it);
    options.cache_dir = NULL;
    options.nvrtc_path = NULL;
    plan_case_open(it, &options);
}

static int set_up(void **state)
{
    int result = plan_case_set_up(state);
    plan_case *it = *state;
    const char *root = tkj_test_path(it->directory, "a b/it's \"$HOME\" `odd` \\ * \xc3\xa9");
    assert_int_equal(setenv("TOPK_JIT_MODE", "offline", 1), 0);
    assert_int_equal(setenv("TOPK_JIT_NVRTC", FAKE_NVRTC_PATH, 1), 0);
    assert_int_equal(setenv("TOPK_JIT_CACHE_DIR", root, 1), 0);
    open_from_environment(it);
    return result;
}

static int tear_down(void **state)
{
    assert_int_equal(unsetenv("TOPK_JIT_MODE"), 0);
    return plan_case_tear_down(state);
}

static void assert_command_helps(plan_case *it, const topk_jit_spec *given)
{
    const topk_jit_spec spec = tkj_spec_canonical(given);
    const offline_message parts = offline_case_miss(it, &spec);
    assert_int_equal(run_in_shell(parts.command), 0);
    if (plan_case_prepare(it, &spec, SM90) != TOPK_JIT_OK)
        fail_msg("%s\ndid not help: %s", parts.command, topk_jit_last_error()->message);
    open_from_environment(it);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    assert_int_equal(plan_case_statistics(it).user_hits, plan_case_kernels(&spec, SM90));
    assert_int_equal(nvrtc->calls("nvrtcVersion"), 0);
}

static void command_helps_with_a_plain_selection(void **state)
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    assert_command_helps(*state, &spec);
}

static void command_helps_with_pages(void **state)
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.layout = TOPK_JIT_LAYOUT_PAGED;
    spec.page_size = 64;
    spec.dtype = TOPK_JIT_BFLOAT16;
    assert_command_helps(*state, &spec);
}

static void command_helps_with_ragged_buffers_and_wide_indices(void **state)
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.layout = TOPK_JIT_LAYOUT_RAGGED;
    spec.dtype = TOPK_JIT_FLOAT16;
    spec.index_dtype = TOPK_JIT_INT64;
    assert_command_helps(*state, &spec);
}

static void command_helps_with_every_single_option(void **state)
{
    for (int option = 0; option < 6; option++) {
        topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
        spec.topk = 9001 + option;
        spec.sorted = option == 0;
        spec.deterministic = option == 1;
        spec.nan_last = option == 2;
        spec.check = option == 3;
        spec.tie_break = option == 4   ? TOPK_JIT_TIE_BREAK_SMALLEST
                         : option == 5 ? TOPK_JIT_TIE_BREAK_LARGEST
                                       : TOPK_JIT_TIE_BREAK_NONE;
        assert_command_helps(*state, &spec);
    }
}

static void command_helps_with_all_options_together(void **state)
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.sorted = spec.deterministic = spec.nan_last = spec.check = 1;
    spec.tie_break = TOPK_JIT_TIE_BREAK_LARGEST;
    assert_command_helps(*state, &spec);
}

static void command_helps_with_fast_topk(void **state)
{
    static const topk_jit_dtype dtypes[] = {TOPK_JIT_FLOAT32, TOPK_JIT_INT64};
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
        spec.operation = TOPK_JIT_OPERATION_FAST_TOPK;
        spec.dtype = dtypes[i];
        spec.index_dtype = TOPK_JIT_INT64;
        spec.topk = 1 + (int64_t)i * 100;
        assert_command_helps(*state, &spec);
    }
}

/* A group that shares the cache, and a pack in front of it that does not have the kernel. */
static void command_helps_where_more_is_set(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048), other = plan_case_spec(512);
    plan_layers_warm(it, tkj_test_path(it->directory, "other"), &other);
    plan_layers_pack(tkj_test_path(it->directory, "other"),
                     tkj_test_path(it->directory, "other.tkp"));
    assert_int_equal(setenv("TOPK_JIT_RO_DIRS", tkj_test_path(it->directory, "other.tkp"), 1), 0);
    assert_int_equal(setenv("TOPK_JIT_SHARED", "1", 1), 0);
    open_from_environment(it);
    nvrtc->reset();
    assert_command_helps(it, &spec);
}

/* The entry is there already, which is not enough under the policy that the environment has. */
static void command_helps_where_another_compiler_made_the_entry(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(9004);
    nvrtc->set_version(13, 1);
    plan_layers_warm(it, getenv("TOPK_JIT_CACHE_DIR"), &spec);
    nvrtc->reset();
    assert_int_equal(setenv("TOPK_JIT_TOOLCHAIN", "exact", 1), 0);
    open_from_environment(it);
    const offline_message parts = offline_case_miss(it, &spec);
    assert_non_null(strstr(parts.places, "another toolchain compiled it"));
    assert_int_equal(run_in_shell(parts.command), 0);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    assert_int_equal(nvrtc->calls("nvrtcCompileProgram"), 0);
}

/* --nvrtc takes a file, so a name for the loader is handed on by the variable. */
static void command_names_a_library_that_the_loader_finds(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(9004);
    topk_jit_options options = plan_case_options(it);
    options.cache_dir = NULL;
    options.nvrtc_path = "libnvrtc.so.13";
    plan_case_open(it, &options);
    const offline_message parts = offline_case_miss(it, &spec);
    const char begins[] = "TOPK_JIT_NVRTC='libnvrtc.so.13' topk-jit-warm --arch ";
    assert_memory_equal(parts.command, begins, sizeof begins - 1);
    assert_null(strstr(parts.command, "--nvrtc"));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(command_helps_with_a_plain_selection),
        TEST(command_helps_with_pages),
        TEST(command_helps_with_ragged_buffers_and_wide_indices),
        TEST(command_helps_with_every_single_option),
        TEST(command_helps_with_all_options_together),
        TEST(command_helps_with_fast_topk),
        TEST(command_helps_where_more_is_set),
        TEST(command_helps_where_another_compiler_made_the_entry),
        TEST(command_names_a_library_that_the_loader_finds),
    };
    return cmocka_run_group_tests_name("plan_offline_command", tests, NULL, NULL);
}
