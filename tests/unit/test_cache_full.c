/* SPDX-License-Identifier: Apache-2.0 */
/* A cache that holds too much: what a put removes, when it looks, and that this is nobody's
 * failure. */
#include "testing.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cache_case.h"
#include "memory.h"

/* ---- what happens at a call; linked with --wrap ---- */

static atomic_int scans;                /* of the root for what it holds */
static const char *at_directory;        /* of v1; a scan goes from 00 to ff */
static void (*at_scan)(cache_case *it); /* called by the next one that comes to it, once */
static cache_case *scanned;
static int unlink_error; /* 0 = unlinkat works */

int __real_openat(int fd, const char *path, int flags, ...);
int __wrap_openat(int fd, const char *path, int flags, mode_t mode);
int __wrap_openat(int fd, const char *path, int flags, mode_t mode)
{
    const bool directory = (flags & O_DIRECTORY) != 0;
    if (directory && strcmp(path, "00") == 0)
        atomic_fetch_add(&scans, 1);
    if (directory && strcmp(path, at_directory) == 0) {
        void (*act)(cache_case * it) = at_scan;
        at_scan = NULL;
        if (act != NULL)
            act(scanned);
    }
    return __real_openat(fd, path, flags, mode);
}

int __real_unlinkat(int fd, const char *path, int flags);
int __wrap_unlinkat(int fd, const char *path, int flags);
int __wrap_unlinkat(int fd, const char *path, int flags)
{
    errno = unlink_error;
    return unlink_error != 0 ? -1 : __real_unlinkat(fd, path, flags);
}

/* ---- a cache of numbered entries ---- */

/* Opens a cache that may hold so many entries. */
static void open_with_room_for(cache_case *it, uint64_t entries)
{
    tkj_cache_options options = cache_case_options(it);
    options.max_bytes = entries * it->bytes.size;
    cache_case_open(it, &options);
}

static int set_up(void **state)
{
    cache_case_set_up(state);
    at_directory = "00";
    at_scan = NULL;
    scanned = *state;
    unlink_error = 0;
    atomic_store(&scans, 0);
    return 0;
}

static tkj_cache_key numbered(const cache_case *it, unsigned number)
{
    tkj_cache_key key = it->key;
    key.digest[0] = (uint8_t)(number * 37 + 1); /* not in the order of the directories; never 00 */
    key.digest[1] = (uint8_t)number;
    return key;
}

static topk_jit_status put(cache_case *it, unsigned number)
{
    const tkj_cache_key key = numbered(it, number);
    return tkj_cache_put(it->cache, &key, CACHE_CASE_MAJOR, &it->bytes);
}

static tkj_cache_outcome get(cache_case *it, unsigned number)
{
    tkj_cache_query query = cache_case_query(it);
    query.key = numbered(it, number);
    return cache_case_ask(it, &query);
}

static const char *path_of(const cache_case *it, unsigned number)
{
    char name[TKJ_ENTRY_FILE_SIZE];
    const tkj_cache_key key = numbered(it, number);
    tkj_entry_file(&key, CACHE_CASE_MAJOR, name);
    return cache_case_path(it, name);
}

static bool is_there(const cache_case *it, unsigned number)
{
    return access(path_of(it, number), F_OK) == 0;
}

/* As if it had been stored so long ago. */
static void set_age(const cache_case *it, unsigned number, time_t seconds)
{
    const struct timespec then = {.tv_sec = time(NULL) - seconds};
    const struct timespec times[2] = {then, then};
    assert_int_equal(utimensat(AT_FDCWD, path_of(it, number), times, 0), 0);
}

/* Puts the entries 0 .. count - 1, the first one the oldest, all of them hours ago. */
static void fill(cache_case *it, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(put(it, i), TOPK_JIT_OK);
        set_age(it, i, 100000 - (time_t)i);
    }
}

static size_t stored(const cache_case *it)
{
    return tkj_test_file_count(cache_case_path(it, "v1"));
}

static void assert_evicted(cache_case *it, uint64_t entries)
{
    assert_int_equal(tkj_cache_counts(it->cache)->evictions, entries);
    assert_int_equal(tkj_cache_counts(it->cache)->bytes_evicted, entries * it->bytes.size);
    assert_int_equal(tkj_cache_counts(it->cache)->failed_stores, 0);
    assert_int_equal(atomic_load(&it->warnings), 0);
}

/* ---- what goes ---- */

static void full_cache_loses_nothing(void **state)
{
    cache_case *it = *state;
    open_with_room_for(it, 8);
    fill(it, 8);
    assert_int_equal(stored(it), 8);
    assert_evicted(it, 0);
}

static void overfull_cache_loses_the_oldest_down_to_seven_eighths(void **state)
{
    cache_case *it = *state;
    open_with_room_for(it, 8);
    fill(it, 8);
    assert_int_equal(put(it, 8), TOPK_JIT_OK);
    assert_int_equal(stored(it), 7);
    assert_false(is_there(it, 0) || is_there(it, 1));
    assert_true(is_there(it, 2) && is_there(it, 8));
    assert_evicted(it, 2);
    assert_int_equal(get(it, 8), TKJ_CACHE_HIT);
}

static void entry_larger_than_the_cap_stays_and_all_others_go(void **state)
{
    cache_case *it = *state;
    fill(it, 3);
    tkj_cache_options options = cache_case_options(it);
    options.max_bytes = it->bytes.size - 1;
    cache_case_open(it, &options);
    assert_int_equal(put(it, 3), TOPK_JIT_OK);
    assert_int_equal(stored(it), 1);
    assert_int_equal(get(it, 3), TKJ_CACHE_HIT);
    assert_evicted(it, 3);
}

static void hit_keeps_an_entry_alive(void **state)
{
    cache_case *it = *state;
    open_with_room_for(it, 8);
    fill(it, 8);
    assert_int_equal(get(it, 0), TKJ_CACHE_HIT);
    assert_int_equal(put(it, 8), TOPK_JIT_OK);
    assert_true(is_there(it, 0));
    assert_false(is_there(it, 1) || is_there(it, 2));
}

/* ---- when it looks ---- */

static void without_a_limit_nothing_is_looked_at(void **state)
{
    cache_case *it = *state;
    tkj_cache_options options = cache_case_options(it);
    options.max_bytes = UINT64_MAX;
    cache_case_open(it, &options);
    fill(it, 8);
    assert_int_equal(atomic_load(&scans), 0);
    assert_int_equal(stored(it), 8);
}

static void only_the_first_store_looks_until_there_is_too_much(void **state)
{
    cache_case *it = *state;
    fill(it, 4); /* by another process, as far as the next one knows */
    open_with_room_for(it, 8);
    atomic_store(&scans, 0);
    for (unsigned i = 4; i < 8; i++) {
        assert_int_equal(put(it, i), TOPK_JIT_OK);
        assert_int_equal(atomic_load(&scans), 1);
    }
    assert_int_equal(put(it, 8), TOPK_JIT_OK);
    assert_int_equal(atomic_load(&scans), 2);
    assert_evicted(it, 2);
    assert_int_equal(put(it, 9), TOPK_JIT_OK); /* an eighth is free again */
    assert_int_equal(atomic_load(&scans), 2);
    assert_int_equal(stored(it), 8);
}

static void what_others_left_is_removed_by_the_first_store(void **state)
{
    cache_case *it = *state;
    fill(it, 16);
    open_with_room_for(it, 8);
    assert_int_equal(put(it, 16), TOPK_JIT_OK);
    assert_int_equal(stored(it), 7);
    assert_evicted(it, 10);
}

static void failed_store_does_not_look(void **state)
{
    cache_case *it = *state;
    tkj_test_file_write(it->root, "a file", 6);
    assert_int_equal(put(it, 0), TOPK_JIT_CACHE_FAILED);
    assert_int_equal(atomic_load(&scans), 0);
}

/* ---- what fails, and who is at it ---- */

static void without_memory_to_count_the_store_succeeds_and_the_next_one_looks(void **state)
{
    cache_case *it = *state;
    fill(it, 9);
    open_with_room_for(it, 8);
    assert_int_equal(get(it, 0), TKJ_CACHE_HIT); /* finds the layers */
    atomic_store(&scans, 0);
    it->test.fail_at = atomic_load(&it->test.asked) + 1;
    assert_int_equal(put(it, 9), TOPK_JIT_OK);
    assert_true(tkj_test_allocator_failed(&it->test));
    assert_int_equal(stored(it), 10);
    assert_evicted(it, 0);
    assert_int_equal(put(it, 10), TOPK_JIT_OK);
    assert_int_equal(atomic_load(&scans), 2);
    assert_int_equal(stored(it), 7);
    assert_evicted(it, 4);
}

static void entries_that_cannot_be_removed_are_nobodys_failure(void **state)
{
    cache_case *it = *state;
    fill(it, 9);
    open_with_room_for(it, 8);
    unlink_error = EROFS;
    assert_int_equal(put(it, 9), TOPK_JIT_OK);
    assert_int_equal(stored(it), 10);
    assert_evicted(it, 0);
    unlink_error = 0;
    assert_int_equal(put(it, 10), TOPK_JIT_OK); /* it knows that there is too much */
    assert_int_equal(stored(it), 7);
    assert_evicted(it, 4);
}

static void *put_two(void *argument)
{
    const bool ok = put(argument, 10) == TOPK_JIT_OK && put(argument, 11) == TOPK_JIT_OK;
    return (void *)(intptr_t)ok;
}

static void let_another_thread_put(cache_case *it)
{
    pthread_t thread;
    void *ok = NULL;
    assert_int_equal(pthread_create(&thread, NULL, put_two, it), 0);
    assert_int_equal(pthread_join(thread, &ok), 0);
    assert_non_null(ok);
}

static void put_beside(cache_case *it, const char *directory)
{
    fill(it, 9);
    open_with_room_for(it, 8);
    atomic_store(&scans, 0);
    at_directory = directory;
    at_scan = let_another_thread_put;
    assert_int_equal(put(it, 9), TOPK_JIT_OK);
    assert_true(is_there(it, 9) && is_there(it, 10) && is_there(it, 11));
}

static void of_two_threads_one_looks(void **state)
{
    cache_case *it = *state;
    put_beside(it, "00");
    assert_int_equal(atomic_load(&scans), 2); /* it cannot know that it saw what the other stored */
    assert_int_equal(stored(it), 7);
    assert_evicted(it, 5);
}

static void what_is_stored_beside_a_look_is_looked_for(void **state)
{
    cache_case *it = *state;
    put_beside(it, "ff");
    assert_int_equal(atomic_load(&scans), 2);
    assert_int_equal(stored(it), 7);
    assert_evicted(it, 5);
}

/* Waits until the gate is closed, stores one entry as a process of its own, and tells what became
   of it. */
static pid_t start_process(cache_case *it, unsigned number, const int gate[2])
{
    char byte;
    pid_t child = fork();
    if (child != 0)
        return child;
    open_with_room_for(it, 16);
    const bool opened = close(gate[1]) == 0 && read(gate[0], &byte, 1) == 0;
    _exit(opened && put(it, number) == TOPK_JIT_OK && get(it, number) == TKJ_CACHE_HIT ? 0 : 1);
}

static void processes_at_once_remove_no_more_than_one_of_them_would(void **state)
{
    cache_case *it = *state;
    pid_t children[6];
    int gate[2];
    fill(it, 64);
    assert_int_equal(pipe(gate), 0);
    for (unsigned i = 0; i < 6; i++) {
        children[i] = start_process(it, 64 + i, gate);
        assert_true(children[i] > 0);
    }
    assert_int_equal(close(gate[0]), 0);
    assert_int_equal(close(gate[1]), 0); /* all go */
    for (unsigned i = 0; i < 6; i++) {
        int status = -1;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
        assert_true(is_there(it, 64 + i));
    }
    /* Each leaves 14 of those it has seen; others may have stored since. */
    assert_in_range(stored(it), 14, 14 + 5);
    assert_true(is_there(it, 63) && is_there(it, 63 - 7));
}

#define IN_CACHE(test) cmocka_unit_test_setup_teardown(test, set_up, cache_case_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_CACHE(full_cache_loses_nothing),
        IN_CACHE(overfull_cache_loses_the_oldest_down_to_seven_eighths),
        IN_CACHE(entry_larger_than_the_cap_stays_and_all_others_go),
        IN_CACHE(hit_keeps_an_entry_alive),
        IN_CACHE(without_a_limit_nothing_is_looked_at),
        IN_CACHE(only_the_first_store_looks_until_there_is_too_much),
        IN_CACHE(what_others_left_is_removed_by_the_first_store),
        IN_CACHE(failed_store_does_not_look),
        IN_CACHE(without_memory_to_count_the_store_succeeds_and_the_next_one_looks),
        IN_CACHE(entries_that_cannot_be_removed_are_nobodys_failure),
        IN_CACHE(of_two_threads_one_looks),
        IN_CACHE(what_is_stored_beside_a_look_is_looked_for),
        IN_CACHE(processes_at_once_remove_no_more_than_one_of_them_would),
    };
    return cmocka_run_group_tests_name("cache_full", tests, NULL, NULL);
}
