/* SPDX-License-Identifier: Apache-2.0 */
/* A process dies before, or after, any system call of a turn and a store: readers get a hit or a
   miss, and nobody is held up. (vllm#41871, pytorch#189245) */
#include "cache_case.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fault_case.h"
#include "memory.h"

/* ---- the system calls; linked with --wrap ---- */

/** Where this process dies; 0 = nowhere. */
static struct {
    int call; /* 1 = the first from now */
    bool after;
    int calls;
} death;

static void before_call(void)
{
    death.calls += death.call > 0;
    if (death.call > 0 && death.calls == death.call && !death.after)
        raise(SIGKILL);
}

static long after_call(long result)
{
    if (death.call > 0 && death.calls == death.call && death.after)
        raise(SIGKILL);
    return result;
}

#define WRAP(type, name, parameters, arguments)                                                    \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        before_call();                                                                             \
        return (type)after_call(__real_##name arguments);                                          \
    }

WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode))
WRAP(int, mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode))
WRAP(int, open, (const char *path, int flags, mode_t mode), (path, flags, mode))
WRAP(ssize_t, write, (int fd, const void *bytes, size_t size), (fd, bytes, size))
WRAP(ssize_t, pread, (int fd, void *bytes, size_t size, off_t offset), (fd, bytes, size, offset))
WRAP(int, close, (int fd), (fd))
WRAP(int, renameat, (int from_fd, const char *from, int to_fd, const char *to),
     (from_fd, from, to_fd, to))
WRAP(int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags))
WRAP(int, fstat, (int fd, struct stat *status), (fd, status))
WRAP(int, fstatat, (int fd, const char *path, struct stat *status, int flags),
     (fd, path, status, flags))
WRAP(int, fcntl, (int fd, int command, void *argument), (fd, command, argument))

/* Eviction looks into 256 directories, of which one is as good to die in as another: not counted.
 */
static bool is_one_of_many(const char *path, int flags)
{
    return (flags & O_DIRECTORY) != 0 && strncmp(path, "v1/", 3) == 0;
}

int __real_openat(int fd, const char *path, int flags, mode_t mode);
int __wrap_openat(int fd, const char *path, int flags, mode_t mode);
int __wrap_openat(int fd, const char *path, int flags, mode_t mode)
{
    if (is_one_of_many(path, flags))
        return __real_openat(fd, path, flags, mode);
    before_call();
    return (int)after_call(__real_openat(fd, path, flags, mode));
}

int __wrap_fsync(int fd);
int __wrap_fsync(int fd) /* the disk's speed does not matter here */
{
    (void)fd;
    before_call();
    return (int)after_call(0);
}

/* ---- who dies ---- */

static bool take_turn(cache_case *it)
{
    tkj_cache_turn turn;
    tkj_blob bytes;
    tkj_entry entry;
    const tkj_cache_query query = cache_case_query(it);
    bool stored = tkj_cache_await_turn(it->cache, &query, &turn, &bytes, &entry);
    tkj_free(&it->test.allocator, bytes.bytes);
    tkj_cache_end_turn(it->cache, &turn);
    return stored;
}

/* As the one whose turn it is to compile; there is no entry yet, or one that is to be replaced. */
static void store_in_turn(void *user, int call)
{
    cache_case *it = user;
    tkj_cache_turn turn;
    tkj_blob bytes;
    tkj_entry entry;
    const tkj_cache_query query = cache_case_query(it);
    death.call = call;
    tkj_cache_await_turn(it->cache, &query, &turn, &bytes, &entry);
    tkj_free(&it->test.allocator, bytes.bytes);
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    tkj_cache_end_turn(it->cache, &turn);
    death.call = 0;
}

/* ---- who comes later ---- */

/** What stood in the root before. */
typedef enum before {
    NOTHING,
    SAME_ENTRY,
    OTHER_ENTRIES, /* more bytes than may stay */
} before;

#define OTHERS 4

static cache_case *make_case(before what)
{
    void *state = NULL;
    cache_case_set_up(&state);
    cache_case *it = state;
    tkj_cache_options options = cache_case_options(it);
    if (what == SAME_ENTRY)
        assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    for (int i = 0; what == OTHER_ENTRIES && i < OTHERS; i++) {
        it->key.digest[0] = (uint8_t)(0x80 + i);
        assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    }
    it->key.digest[0] = 0;
    options.max_bytes = what == OTHER_ENTRIES ? 2 * it->bytes.size : UINT64_MAX;
    cache_case_open(it, &options); /* one that knows nothing of what was stored */
    return it;
}

/** Whole or not there: entries of other keys, of which some may have been evicted. */
static void assert_others_are_sound(cache_case *it)
{
    for (int i = 0; i < OTHERS; i++) {
        it->key.digest[0] = (uint8_t)(0x80 + i);
        assert_in_set(cache_case_get(it),
                      ((const unsigned long[]){TKJ_CACHE_HIT, TKJ_CACHE_ABSENT}), 2);
    }
    it->key.digest[0] = 0;
}

static void make_two_hours_old(const char *path)
{
    const struct timespec then = {.tv_sec = time(NULL) - 7200};
    const struct timespec times[2] = {then, then};
    assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void make_temporary_files_old(const cache_case *it)
{
    DIR *directory = opendir(cache_case_path(it, "tmp"));
    assert_non_null(directory);
    for (struct dirent *file = readdir(directory); file != NULL; file = readdir(directory))
        if (file->d_name[0] != '.')
            make_two_hours_old(tkj_test_path(cache_case_path(it, "tmp"), file->d_name));
    closedir(directory);
}

static void assert_tag_is_whole(const cache_case *it)
{
    struct stat status;
    assert_int_equal(stat(cache_case_path(it, "CACHEDIR.TAG"), &status), 0);
    assert_true(status.st_size > 0);
}

static void assert_nobody_minds(cache_case *it, before what)
{
    const tkj_cache_counters *counters = tkj_cache_counts(it->cache);
    const tkj_cache_outcome found = cache_case_get(it);
    assert_true(found == TKJ_CACHE_HIT || (found == TKJ_CACHE_ABSENT && what != SAME_ENTRY));
    assert_others_are_sound(it);
    assert_true(take_turn(it) == (found == TKJ_CACHE_HIT));
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_HIT);
    assert_int_equal(counters->waits, 0);
    assert_int_equal(counters->corrupt, 0);
    assert_int_equal(atomic_load(&it->warnings), 0);
    assert_tag_is_whole(it);
    assert_in_range(tkj_test_file_count(cache_case_path(it, "tmp")), 0, 1);
    make_temporary_files_old(it);
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(tkj_test_file_count(cache_case_path(it, "tmp")), 0);
}

/** A process for each call, until one survives. @return the number of calls */
static int kill_at_each_call(before what, bool after)
{
    bool killed = true;
    int call = 0;
    while (killed) {
        cache_case *it = make_case(what);
        void *state = it;
        death.after = after;
        killed = fault_was_killed(fault_start(store_in_turn, it, ++call));
        assert_nobody_minds(it, what);
        cache_case_tear_down(&state);
    }
    return call - 1;
}

static void check_all_deaths(before what)
{
    const int calls = kill_at_each_call(what, false);
    assert_true(calls > 20);
    assert_int_equal(kill_at_each_call(what, true), calls);
}

static void store_that_dies_in_an_empty_cache_leaves_a_hit_or_a_miss(void **state)
{
    (void)state;
    check_all_deaths(NOTHING);
}

static void store_that_dies_over_an_entry_leaves_a_hit(void **state)
{
    (void)state;
    check_all_deaths(SAME_ENTRY);
}

static void store_that_dies_while_it_evicts_leaves_sound_entries(void **state)
{
    (void)state;
    check_all_deaths(OTHER_ENTRIES);
}

static void temporary_file_of_a_process_that_may_be_alive_stays(void **state)
{
    cache_case *it = *state;
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    tkj_test_file_write(cache_case_path(it, "tmp/new-0123456789abcdef"), "half", 4);
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(tkj_test_file_count(cache_case_path(it, "tmp")), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(store_that_dies_in_an_empty_cache_leaves_a_hit_or_a_miss),
        cmocka_unit_test(store_that_dies_over_an_entry_leaves_a_hit),
        cmocka_unit_test(store_that_dies_while_it_evicts_leaves_sound_entries),
        cmocka_unit_test_setup_teardown(temporary_file_of_a_process_that_may_be_alive_stays,
                                        cache_case_set_up, cache_case_tear_down),
    };
    return cmocka_run_group_tests_name("killed_store", tests, NULL, NULL);
}
