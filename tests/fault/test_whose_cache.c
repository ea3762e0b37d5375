/* SPDX-License-Identifier: Apache-2.0 */
/* No home, somebody else's directory, a program with more rights than its user: kernels are made in
   memory, and what is not to be trusted is neither read nor written. (flashinfer#2976, pycuda#54)
 */
#include "plan_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault_case.h"

#define NOBODY 65534

static bool owner_is_somebody_else; /* of what is open: for those who are not root */

int __real_fstat(int fd, struct stat *status);
int __wrap_fstat(int fd, struct stat *status);
int __wrap_fstat(int fd, struct stat *status)
{
    int result = __real_fstat(fd, status);
    if (owner_is_somebody_else)
        status->st_uid = geteuid() + 1;
    return result;
}

static int set_up(void **state)
{
    fault_reset();
    owner_is_somebody_else = false;
    return plan_case_set_up(state);
}

static topk_jit_options options_without_a_root(plan_case *it)
{
    topk_jit_options options = plan_case_options(it);
    options.cache_dir = NULL;
    return options;
}

static size_t assert_prepares(plan_case *it)
{
    const topk_jit_spec spec = plan_case_spec(2048);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    assert_non_null(plan_case_find(it, &spec, SM90));
    return plan_case_kernels(&spec, SM90);
}

/* ---- no place ---- */

/** Kernels are compiled into memory, and nobody is told of a cache that nobody wanted. */
static void assert_memory_only(plan_case *it)
{
    const topk_jit_options options = options_without_a_root(it);
    const bool relative = getenv("TOPK_JIT_CACHE_DIR") != NULL; /* is ignored, and said to be */
    plan_case_open(it, &options);
    assert_null(tkj_cache_root(it->context->cache));
    const size_t kernels = assert_prepares(it);
    assert_prepares(it);
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.compiles, kernels);
    assert_int_equal(s.stores, 0);
    assert_int_equal(s.failed_stores, 0);
    assert_int_equal(it->logged[TOPK_JIT_LOG_WARNING], relative);
    assert_int_equal(tkj_test_file_count(it->directory), 0);
}

static void nobody_without_a_home_has_a_cache(void **state)
{
    plan_case *it = *state;
    assert_int_equal(unsetenv("HOME"), 0);
    assert_memory_only(it);
    assert_int_equal(setenv("HOME", "", 1), 0);
    assert_memory_only(it);
}

static void home_at_the_root_of_all_is_nobodys(void **state)
{
    plan_case *it = *state;
    assert_int_equal(setenv("HOME", "/", 1), 0);
    assert_memory_only(it);
    assert_int_equal(setenv("HOME", "//", 1), 0);
    assert_memory_only(it);
    assert_int_equal(access("/.cache/topk-jit", F_OK), -1);
}

static void relative_paths_name_no_place(void **state)
{
    plan_case *it = *state;
    assert_int_equal(chdir(it->directory), 0);
    assert_int_equal(setenv("HOME", "home", 1), 0);
    assert_int_equal(setenv("XDG_CACHE_HOME", "relative/cache", 1), 0);
    assert_int_equal(setenv("TOPK_JIT_CACHE_DIR", "relative", 1), 0);
    assert_memory_only(it);
    assert_int_equal(chdir("/"), 0);
}

/* ---- a place that is not to be trusted ---- */

typedef void (*spoil)(plan_case *it);

static void give_away(plan_case *it)
{
    owner_is_somebody_else = geteuid() != 0;
    if (!owner_is_somebody_else)
        assert_int_equal(chown(it->root, NOBODY, NOBODY), 0);
}

static void let_anybody_write(plan_case *it)
{
    assert_int_equal(chmod(it->root, 0777), 0);
}

static void let_the_group_write(plan_case *it)
{
    assert_int_equal(chmod(it->root, 0770), 0);
}

static void put_a_symlink_there(plan_case *it)
{
    const char *target = tkj_test_path(it->directory, "elsewhere");
    assert_int_equal(rename(it->root, target), 0);
    assert_int_equal(symlink(target, it->root), 0);
}

/** A root with good entries is spoilt: they are not read, none is added, one warning says so. */
static void check_spoilt_root(plan_case *it, spoil spoil_root)
{
    topk_jit_options options = plan_case_options(it);
    const size_t kernels = assert_prepares(it);
    options.lock_timeout_ms = -1; /* no place for locks is another user's */
    const size_t files = tkj_test_file_count(it->directory);
    spoil_root(it);
    plan_case_open(it, &options);
    assert_prepares(it);
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.user_hits, 0);
    assert_int_equal(s.compiles, kernels);
    assert_int_equal(s.stores, 0);
    assert_int_equal(s.failed_stores, kernels);
    assert_int_equal(it->logged[TOPK_JIT_LOG_WARNING], 1);
    plan_case_assert_logged(it, TOPK_JIT_LOG_WARNING, it->root);
    owner_is_somebody_else = false;
    assert_int_equal(tkj_test_file_count(it->directory),
                     files + (spoil_root == put_a_symlink_there));
}

static void root_of_another_user_is_not_used(void **state)
{
    check_spoilt_root(*state, give_away);
}

static void root_that_anybody_can_write_is_not_used(void **state)
{
    check_spoilt_root(*state, let_anybody_write);
}

static void root_that_a_group_can_write_is_not_used(void **state)
{
    check_spoilt_root(*state, let_the_group_write);
}

static void root_that_is_a_symlink_is_not_used(void **state)
{
    check_spoilt_root(*state, put_a_symlink_there);
}

/* ---- a program with more rights than its user ---- */

enum { SAME_IDS, OTHER_USER, OTHER_GROUP };

static void set_environment(const plan_case *it)
{
    assert_int_equal(setenv("TOPK_JIT_CACHE_DIR", it->root, 1), 0);
    assert_int_equal(setenv("XDG_CACHE_HOME", it->directory, 1), 0);
    assert_int_equal(setenv("HOME", it->directory, 1), 0);
    assert_int_equal(setenv("TOPK_JIT_RO_DIRS", it->directory, 1), 0);
}

/* The ids are those of a child, the environment that of whoever started it. */
static void create_with_ids(void *user, int which)
{
    plan_case *it = user;
    const topk_jit_options options = options_without_a_root(it);
    set_environment(it);
    if (which == OTHER_USER)
        assert_int_equal(setresuid(NOBODY, 0, 0), 0);
    if (which == OTHER_GROUP)
        assert_int_equal(setresgid(NOBODY, 0, 0), 0);
    if (which != SAME_IDS)
        assert_int_equal(setenv("TOPK_JIT_MODE", "offline", 1), 0);
    plan_case_open(it, &options);
    if (which == SAME_IDS)
        assert_string_equal(tkj_cache_root(it->context->cache), it->root);
    else
        assert_null(tkj_cache_root(it->context->cache));
    assert_prepares(it);
    plan_case_close(it);
}

static void check_ids(plan_case *it, int which)
{
    if (geteuid() != 0 || getegid() != 0) {
        print_message("only root can have other ids\n");
        skip();
    }
    fault_assert_done(fault_start(create_with_ids, it, which));
    assert_int_equal(tkj_test_file_count(it->directory) > 0, which == SAME_IDS);
}

static void environment_names_the_cache_of_a_program_with_its_users_rights(void **state)
{
    fault_assert_done(fault_start(create_with_ids, *state, SAME_IDS));
}

static void environment_is_ignored_where_the_real_user_is_another(void **state)
{
    check_ids(*state, OTHER_USER);
}

static void environment_is_ignored_where_the_real_group_is_another(void **state)
{
    check_ids(*state, OTHER_GROUP);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(nobody_without_a_home_has_a_cache),
        TEST(home_at_the_root_of_all_is_nobodys),
        TEST(relative_paths_name_no_place),
        TEST(root_of_another_user_is_not_used),
        TEST(root_that_anybody_can_write_is_not_used),
        TEST(root_that_a_group_can_write_is_not_used),
        TEST(root_that_is_a_symlink_is_not_used),
        TEST(environment_names_the_cache_of_a_program_with_its_users_rights),
        TEST(environment_is_ignored_where_the_real_user_is_another),
        TEST(environment_is_ignored_where_the_real_group_is_another),
    };
    return cmocka_run_group_tests_name("whose_cache", tests, NULL, NULL);
}
