/* SPDX-License-Identifier: Apache-2.0 */
/* The directory goes away under a process, the clock is set back, a path has odd characters: no
   more than another compilation. */
#include "plan_case.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fault_case.h"

static int set_up(void **state)
{
    fault_reset();
    return plan_case_set_up(state);
}

static size_t assert_prepares(plan_case *it, int64_t topk)
{
    const topk_jit_spec spec = plan_case_spec(topk);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    assert_non_null(plan_case_find(it, &spec, SM90));
    return plan_case_kernels(&spec, SM90);
}

static void assert_counts(const plan_case *it, uint64_t user_hits, uint64_t compiles,
                          uint64_t stores)
{
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.user_hits, user_hits);
    assert_int_equal(s.misses, compiles);
    assert_int_equal(s.compiles, compiles);
    assert_int_equal(s.stores, stores);
    assert_int_equal(s.failed_stores, 0);
    assert_int_equal(s.corrupt_entries, 0);
    assert_int_equal(it->logged[TOPK_JIT_LOG_WARNING], 0);
}

static void reopen(plan_case *it, const char *root)
{
    topk_jit_options options = plan_case_options(it);
    options.cache_dir = root;
    plan_case_open(it, &options);
}

/* ---- a directory that is removed ---- */

static void remove_root(void *user, int number)
{
    plan_case *it = user;
    (void)number;
    tkj_test_dir_remove(it->root); /* the string, too: of this process */
}

static void let_another_process_remove_the_root(plan_case *it)
{
    fault_assert_done(fault_start(remove_root, it, 0));
    assert_int_equal(access(it->root, F_OK), -1);
}

/* Between the get, which missed, and the put: once. */
static void remove_root_before_compiling(void *user, const char *entry)
{
    (void)entry;
    fault.on_compile = NULL;
    let_another_process_remove_the_root(user);
}

static void directory_removed_before_a_store_is_made_again(void **state)
{
    plan_case *it = *state;
    assert_prepares(it, 1024);
    reopen(it, it->root);
    fault.user = it;
    fault.on_compile = remove_root_before_compiling;
    const size_t kernels = assert_prepares(it, 2048);
    assert_null(fault.on_compile);
    assert_counts(it, 0, kernels, kernels);
    assert_int_equal(plan_case_entries(it, 13), kernels);
}

static void directory_removed_between_calls_is_made_again(void **state)
{
    plan_case *it = *state;
    const size_t first = assert_prepares(it, 2048);
    let_another_process_remove_the_root(it);
    assert_prepares(it, 2048); /* from memory */
    const size_t second = assert_prepares(it, 1024);
    assert_counts(it, 0, first + second, first + second);
    assert_int_equal(plan_case_entries(it, 13), second);
    reopen(it, it->root);
    assert_prepares(it, 1024);
    assert_counts(it, second, 0, 0);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *position)
{
    (void)status, (void)type, (void)position;
    (void)remove(path); /* somebody may have put something there meanwhile */
    return 0;
}

/* The first one removes all there is, again and again; the others need it. */
static void remove_or_prepare(void *user, int number)
{
    plan_case *it = user;
    for (int i = 0; i < 20; i++) {
        if (number == 0) {
            nftw(it->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
            continue;
        }
        reopen(it, it->root);
        assert_prepares(it, 2048);
        assert_int_equal(plan_case_statistics(it).corrupt_entries, 0);
    }
}

static void directory_that_is_removed_at_any_time_harms_nobody(void **state)
{
    plan_case *it = *state;
    fault_assert_all_done(4, remove_or_prepare, it);
    reopen(it, it->root);
    assert_prepares(it, 2048);
    assert_int_equal(plan_case_statistics(it).failed_stores, 0);
    assert_int_equal(plan_case_statistics(it).corrupt_entries, 0);
}

/* ---- clocks ---- */

static void move_to_tomorrow(const char *path, void *user)
{
    const struct timespec tomorrow = {.tv_sec = time(NULL) + 86400};
    const struct timespec times[2] = {tomorrow, tomorrow};
    (void)user;
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void assert_is_not_in_the_future(const char *path, void *user)
{
    struct stat status;
    (void)user;
    assert_int_equal(stat(path, &status), 0);
    assert_true(status.st_mtime <= time(NULL) + 1);
}

static void entries_of_the_future_hit_and_get_the_present_time(void **state)
{
    plan_case *it = *state;
    const size_t kernels = assert_prepares(it, 2048);
    assert_int_equal(plan_case_each_file(it->root, ".tkc", move_to_tomorrow, NULL), kernels);
    reopen(it, it->root);
    assert_prepares(it, 2048);
    assert_counts(it, kernels, 0, 0);
    plan_case_each_file(it->root, ".tkc", assert_is_not_in_the_future, NULL);
}

/* They were used last, as far as anybody can tell; they must not keep the new one out. */
static void entries_of_the_future_do_not_keep_new_ones_out(void **state)
{
    plan_case *it = *state;
    assert_prepares(it, 2048);
    plan_case_each_file(it->root, ".tkc", move_to_tomorrow, NULL);
    topk_jit_options options = plan_case_options(it);
    options.cache_max_bytes = 1;
    plan_case_open(it, &options);
    const size_t kernels = assert_prepares(it, 1024);
    assert_counts(it, 0, kernels, kernels);
    assert_true(plan_case_statistics(it).evictions > 0);
    assert_int_equal(plan_case_entries(it, 13), 1); /* the last one that was stored */
}

/* ---- paths ---- */

/** numba-cuda#861 */
static void roots_with_odd_characters_work(void **state)
{
    static const char *const names[] = {
        "with some spaces",   "two\nlines\n",   "100% %s %n", "a:b", "-",
        "\xff\xfe not utf-8", "quotes\"'`$(x)", "slash//es/"};
    plan_case *it = *state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *root = tkj_test_path(it->directory, names[i]);
        reopen(it, root);
        const size_t kernels = assert_prepares(it, 2048);
        assert_counts(it, 0, kernels, kernels);
        assert_int_equal(plan_case_each_file(root, ".tkc", NULL, NULL), kernels);
        reopen(it, root);
        assert_prepares(it, 2048);
        assert_counts(it, kernels, 0, 0);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(directory_removed_before_a_store_is_made_again),
        TEST(directory_removed_between_calls_is_made_again),
        TEST(directory_that_is_removed_at_any_time_harms_nobody),
        TEST(entries_of_the_future_hit_and_get_the_present_time),
        TEST(entries_of_the_future_do_not_keep_new_ones_out),
        TEST(roots_with_odd_characters_work),
    };
    return cmocka_run_group_tests_name("moving_ground", tests, NULL, NULL);
}
