/* SPDX-License-Identifier: Apache-2.0 */
/* What a limit of the process, or somebody who may write where the cache is, can do to a store:
   nothing to anything else. */
#include "testing.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache_case.h"
#include "fault_case.h"
#include "lock.h"

static void open_shared(cache_case *it)
{
    tkj_cache_options options = cache_case_options(it);
    options.trust = TKJ_TRUST_GROUP;
    cache_case_open(it, &options);
}

static mode_t mode_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 07777;
}

/* ---- RLIMIT_FSIZE: a write beyond it is SIGXFSZ, which ends a process ---- */

static void store_beyond_the_limit(void *user, int number)
{
    cache_case *it = user;
    const struct rlimit limit = {(rlim_t)number, (rlim_t)number};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(cache_case_put(it), TOPK_JIT_CACHE_FAILED);
    assert_int_equal(topk_jit_last_error()->native_code, EFBIG);
    assert_int_equal(cache_case_put(it), TOPK_JIT_CACHE_FAILED); /* in the pause */
    assert_int_equal(atomic_load(&it->warnings), 1);
    assert_int_equal(tkj_test_file_count(cache_case_path(it, "tmp")), 0);
}

static void limit_on_the_size_of_files_fails_a_store_and_ends_no_process(void **state)
{
    cache_case *it = *state;
    const int limits[] = {0, 1, 100, (int)it->bytes.size - 1};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        fault_assert_done(fault_start(store_beyond_the_limit, it, limits[i]));
    assert_int_equal(cache_case_get(it), TKJ_CACHE_ABSENT);
}

static void store_below_the_limit(void *user, int number)
{
    const struct rlimit limit = {(rlim_t)number, (rlim_t)number};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(cache_case_put(user), TOPK_JIT_OK);
}

static void limit_that_an_entry_just_meets_is_none(void **state)
{
    cache_case *it = *state;
    fault_assert_done(fault_start(store_below_the_limit, it, (int)it->bytes.size));
    assert_int_equal(cache_case_get(it), TKJ_CACHE_HIT);
}

/* ---- names that lead elsewhere ---- */

/* Puts a symbolic link to a directory outside the cache in the place of one inside. */
static void lead_elsewhere(cache_case *it, const char *name, const char *elsewhere)
{
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    char gone[512];
    snprintf(gone, sizeof gone, "%s", tkj_test_path(it->directory, "gone"));
    assert_int_equal(mkdir(elsewhere, 0700), 0);
    assert_int_equal(rename(cache_case_path(it, name), gone), 0);
    assert_int_equal(symlink(elsewhere, cache_case_path(it, name)), 0);
}

static void assert_nothing_goes_elsewhere(cache_case *it, const char *name)
{
    char elsewhere[512];
    snprintf(elsewhere, sizeof elsewhere, "%s", tkj_test_path(it->directory, "elsewhere"));
    lead_elsewhere(it, name, elsewhere);
    assert_int_equal(cache_case_put(it), TOPK_JIT_CACHE_FAILED);
    assert_int_equal(tkj_test_file_count(elsewhere), 0);
    assert_int_equal(mode_of(elsewhere), 0700);
}

static void layout_that_is_a_link_is_not_stored_to(void **state)
{
    assert_nothing_goes_elsewhere(*state, "v1");
}

static void directory_of_entries_that_is_a_link_is_not_stored_to(void **state)
{
    assert_nothing_goes_elsewhere(*state, "v1/00");
}

static void directory_of_temporary_files_that_is_a_link_is_not_used(void **state)
{
    assert_nothing_goes_elsewhere(*state, "tmp");
}

static void group_that_shares_a_cache_is_given_no_other_directory(void **state)
{
    open_shared(*state);
    assert_nothing_goes_elsewhere(*state, "v1/00");
}

/* ---- a lock file that is another file, too ---- */

static void lock_file_that_is_another_file_too_is_left_as_it_is(void **state)
{
    cache_case *it = *state;
    char own[512];
    snprintf(own, sizeof own, "%s", tkj_test_path(it->directory, "mine"));
    tkj_test_file_write(own, "secret", 6);
    open_shared(it);
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(link(own, cache_case_path(it, "locks")), 0);
    assert_int_equal(tkj_lock_open(NULL, it->root, TKJ_TRUST_GROUP), -1);
    assert_int_equal(mode_of(own), 0600);
}

static void lock_file_that_is_there_keeps_its_mode(void **state)
{
    cache_case *it = *state;
    open_shared(it);
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    tkj_test_file_write(cache_case_path(it, "locks"), "", 0);
    int fd = tkj_lock_open(NULL, it->root, TKJ_TRUST_GROUP);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(mode_of(cache_case_path(it, "locks")), 0600);
}

/* ---- somebody who locks all keys and never lets go ---- */

static void key_that_is_never_released_is_waited_for_once(void **state)
{
    cache_case *it = *state;
    tkj_cache_options options = cache_case_options(it);
    options.lock_timeout_ns = 50000000;
    cache_case_open(it, &options);
    int fd = tkj_lock_open(it->directory, it->root, TKJ_TRUST_OWNER);
    assert_true(fd >= 0);
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &all), 0);
    fault_stop_clock();
    const uint64_t began = fault.now_ns;
    for (int i = 0; i < 20; i++) {
        tkj_cache_query query = cache_case_query(it);
        tkj_cache_turn turn;
        tkj_blob bytes;
        tkj_entry entry;
        query.key.digest[15] = (uint8_t)i;
        assert_false(tkj_cache_await_turn(it->cache, &query, &turn, &bytes, &entry));
        tkj_cache_end_turn(it->cache, &turn);
    }
    assert_in_range(fault.now_ns - began, 50000000, 100000000);
    assert_int_equal(atomic_load(&tkj_cache_counts(it->cache)->lock_timeouts), 1);
    assert_int_equal(atomic_load(&it->warnings), 1);
    fault.now_ns += UINT64_C(61000000000); /* a minute later it is tried again */
    tkj_cache_query query = cache_case_query(it);
    tkj_cache_turn turn;
    tkj_blob bytes;
    tkj_entry entry;
    assert_int_equal(close(fd), 0);
    assert_false(tkj_cache_await_turn(it->cache, &query, &turn, &bytes, &entry));
    assert_true(turn.fd >= 0);
    tkj_cache_end_turn(it->cache, &turn);
}

static int set_up(void **state)
{
    fault_reset();
    return cache_case_set_up(state);
}

#define IN_CACHE(test) cmocka_unit_test_setup_teardown(test, set_up, cache_case_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_CACHE(limit_on_the_size_of_files_fails_a_store_and_ends_no_process),
        IN_CACHE(limit_that_an_entry_just_meets_is_none),
        IN_CACHE(layout_that_is_a_link_is_not_stored_to),
        IN_CACHE(directory_of_entries_that_is_a_link_is_not_stored_to),
        IN_CACHE(directory_of_temporary_files_that_is_a_link_is_not_used),
        IN_CACHE(group_that_shares_a_cache_is_given_no_other_directory),
        IN_CACHE(lock_file_that_is_another_file_too_is_left_as_it_is),
        IN_CACHE(lock_file_that_is_there_keeps_its_mode),
        IN_CACHE(key_that_is_never_released_is_waited_for_once),
    };
    return cmocka_run_group_tests_name("hostile_places", tests, NULL, NULL);
}
