/* SPDX-License-Identifier: Apache-2.0 */
/* Every system call of a get and a put fails in turn: the caller is unharmed, the disk is clean. */
#include "testing.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache_case.h"
#include "memory.h"

/* System calls that can be made to fail; linked with --wrap. */
typedef enum call {
    CALL_NONE,
    CALL_MAKE_ROOT,
    CALL_MAKE_DIRECTORY,
    CALL_OPEN_TEMPORARY_DIRECTORY,
    CALL_CREATE,
    CALL_WRITE,
    CALL_FSYNC,
    CALL_CLOSE,
    CALL_RENAME,
    CALL_TAG,
    CALL_OPEN_ENTRY,
    CALL_READ,
} call;

static const call publish_calls[] = {
    CALL_MAKE_ROOT, CALL_MAKE_DIRECTORY, CALL_OPEN_TEMPORARY_DIRECTORY,
    CALL_CREATE,    CALL_WRITE,          CALL_FSYNC,
    CALL_CLOSE,     CALL_RENAME,
};

/* The failure that is scripted. Set while one thread runs; threads only count it down. */
static struct {
    call failing;
    int error;
    atomic_int skipped; /* calls that succeed first */
    atomic_int times;   /* calls that fail then */
} fault;
static atomic_int calls; /* of any kind, since the last reset */
static atomic_int renames;
static size_t write_at_most; /* 0 = all */
static bool owner_is_somebody_else;
static uint64_t clock_ns;

static void script(call failing, int error, int times)
{
    fault.failing = failing;
    fault.error = error;
    atomic_store(&fault.skipped, 0);
    atomic_store(&fault.times, times);
    atomic_store(&calls, 0);
    atomic_store(&renames, 0);
}

static bool strike(call which)
{
    atomic_fetch_add(&calls, 1);
    if (which != fault.failing || atomic_fetch_sub(&fault.skipped, 1) > 0 ||
        atomic_fetch_sub(&fault.times, 1) <= 0)
        return false;
    errno = fault.error;
    return true;
}

uint64_t __wrap_tkj_os_now_ns(void);
uint64_t __wrap_tkj_os_now_ns(void)
{
    return clock_ns;
}

int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode)
{
    return strike(CALL_MAKE_ROOT) ? -1 : __real_mkdir(path, mode);
}

int __real_mkdirat(int fd, const char *path, mode_t mode);
int __wrap_mkdirat(int fd, const char *path, mode_t mode);
int __wrap_mkdirat(int fd, const char *path, mode_t mode)
{
    return strike(CALL_MAKE_DIRECTORY) ? -1 : __real_mkdirat(fd, path, mode);
}

static call kind_of_openat(const char *path, int flags)
{
    if (strcmp(path, "CACHEDIR.TAG") == 0)
        return CALL_TAG;
    if ((flags & O_CREAT) != 0)
        return CALL_CREATE;
    return (flags & O_DIRECTORY) != 0 ? CALL_OPEN_TEMPORARY_DIRECTORY : CALL_OPEN_ENTRY;
}

int __real_openat(int fd, const char *path, int flags, ...);
int __wrap_openat(int fd, const char *path, int flags, mode_t mode);
int __wrap_openat(int fd, const char *path, int flags, mode_t mode)
{
    if (strike(kind_of_openat(path, flags)))
        return -1;
    return (flags & O_CREAT) != 0 ? __real_openat(fd, path, flags, mode)
                                  : __real_openat(fd, path, flags);
}

ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
    if (strike(CALL_WRITE))
        return -1;
    return __real_write(fd, bytes,
                        write_at_most > 0 && size > write_at_most ? write_at_most : size);
}

ssize_t __real_pread(int fd, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset)
{
    return strike(CALL_READ) ? -1 : __real_pread(fd, bytes, size, offset);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    return strike(CALL_FSYNC) ? -1 : __real_fsync(fd);
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    int result = __real_close(fd); /* as on Linux: gone, whatever close says */
    return strike(CALL_CLOSE) ? -1 : result;
}

int __real_renameat(int from_fd, const char *from, int to_fd, const char *to);
int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to);
int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    atomic_fetch_add(&renames, 1);
    return strike(CALL_RENAME) ? -1 : __real_renameat(from_fd, from, to_fd, to);
}

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
    script(CALL_NONE, 0, 0);
    write_at_most = 0;
    owner_is_somebody_else = false;
    clock_ns = 1;
    return cache_case_set_up(state);
}

static void assert_nothing_stored(cache_case *it)
{
    assert_int_equal(tkj_test_file_count(cache_case_path(it, "tmp")), 0);
    assert_int_equal(tkj_test_file_count(cache_case_path(it, "v1")), 0);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_ABSENT);
}

static void assert_put_fails(cache_case *it, int error)
{
    assert_int_equal(cache_case_put(it), TOPK_JIT_CACHE_FAILED);
    assert_int_equal(topk_jit_last_error()->status, TOPK_JIT_CACHE_FAILED);
    assert_int_equal(topk_jit_last_error()->native_code, error);
    cache_case_assert_message(strerror(error));
    cache_case_assert_message(it->root);
}

static void assert_stored(cache_case *it)
{
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_HIT);
    assert_int_equal(tkj_test_file_count(cache_case_path(it, "tmp")), 0);
}

/* One publish step fails with an error that the next store would meet too. */
static void check_lasting_failure(call failing, int error)
{
    void *state = NULL;
    set_up(&state);
    cache_case *it = state;
    size_t files = tkj_test_open_files();
    script(failing, error, 100);
    assert_put_fails(it, error);
    script(CALL_NONE, 0, 0);
    assert_put_fails(it, error);
    assert_int_equal(atomic_load(&calls), 0); /* the pause does not touch the disk */
    assert_int_equal(atomic_load(&it->warnings), 1);
    assert_nothing_stored(it);
    assert_int_equal(tkj_test_open_files(), files);
    clock_ns += UINT64_C(60000000000);
    assert_stored(it);
    assert_int_equal(tkj_test_open_files(), files);
    cache_case_tear_down(&state);
}

static void lasting_failure_of_any_step_pauses_stores_and_leaves_nothing(void **state)
{
    (void)state;
    static const int errors[] = {ENOSPC, EDQUOT, EROFS, EACCES, EPERM, ESTALE, EIO};
    for (size_t i = 0; i < sizeof publish_calls / sizeof publish_calls[0]; i++)
        for (size_t j = 0; j < sizeof errors / sizeof errors[0]; j++)
            check_lasting_failure(publish_calls[i], errors[j]);
}

static void passing_failure_of_any_step_does_not_pause_stores(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof publish_calls / sizeof publish_calls[0]; i++) {
        void *own = NULL;
        set_up(&own);
        cache_case *it = own;
        script(publish_calls[i], EMFILE, 100);
        assert_put_fails(it, EMFILE);
        script(CALL_NONE, 0, 0);
        assert_nothing_stored(it);
        assert_stored(it);
        assert_int_equal(atomic_load(&it->warnings), 1);
        cache_case_tear_down(&own);
    }
}

static void pause_lasts_a_minute_and_the_next_one_is_logged_again(void **state)
{
    cache_case *it = *state;
    script(CALL_FSYNC, ENOSPC, 1000);
    assert_put_fails(it, ENOSPC);
    clock_ns += UINT64_C(59999999999);
    assert_put_fails(it, ENOSPC);
    assert_int_equal(atomic_load(&it->warnings), 1);
    clock_ns += 1;
    assert_put_fails(it, ENOSPC);
    assert_put_fails(it, ENOSPC);
    assert_int_equal(atomic_load(&it->warnings), 2);
}

static void entry_that_is_there_survives_a_failed_store(void **state)
{
    (void)state;
    for (size_t i = 1; i < sizeof publish_calls / sizeof publish_calls[0]; i++) {
        void *own = NULL;
        set_up(&own);
        cache_case *it = own;
        assert_stored(it);
        script(publish_calls[i], ENOSPC, 100);
        assert_put_fails(it, ENOSPC);
        script(CALL_NONE, 0, 0);
        assert_int_equal(cache_case_get(it), TKJ_CACHE_HIT);
        assert_int_equal(tkj_test_file_count(cache_case_path(it, "tmp")), 0);
        cache_case_tear_down(&own);
    }
}

static void disk_that_fills_up_in_the_middle_leaves_no_part(void **state)
{
    cache_case *it = *state;
    assert_stored(it); /* writes the tag, so that the next writes are the entry's */
    it->key.digest[15] = 0xff;
    write_at_most = it->bytes.size / 2;
    script(CALL_WRITE, ENOSPC, 1);
    atomic_store(&fault.skipped, 1);
    assert_put_fails(it, ENOSPC);
    script(CALL_NONE, 0, 0);
    assert_int_equal(tkj_test_file_count(cache_case_path(it, "v1")), 1);
    assert_int_equal(tkj_test_file_count(cache_case_path(it, "tmp")), 0);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_ABSENT);
}

static void interruptions_and_short_writes_are_resumed(void **state)
{
    (void)state;
    static const call resumed[] = {CALL_CREATE, CALL_WRITE,      CALL_FSYNC,
                                   CALL_CLOSE,  CALL_OPEN_ENTRY, CALL_READ};
    for (size_t i = 0; i < sizeof resumed / sizeof resumed[0]; i++) {
        void *own = NULL;
        set_up(&own);
        write_at_most = 1000;
        script(resumed[i], EINTR, 3);
        assert_stored(own);
        assert_true(atomic_load(&fault.times) <= 0);
        cache_case_tear_down(&own);
    }
}

static void interrupted_rename_is_a_failure_that_leaves_nothing(void **state)
{
    cache_case *it = *state;
    script(CALL_RENAME, EINTR, 1);
    assert_put_fails(it, EINTR);
    assert_nothing_stored(it);
    assert_stored(it);
}

static void cache_that_is_cleared_meanwhile_is_tried_once_more(void **state)
{
    cache_case *it = *state;
    script(CALL_RENAME, ENOENT, 1);
    assert_stored(it);
    assert_int_equal(atomic_load(&renames), 2);
    script(CALL_RENAME, ENOENT, 100);
    assert_put_fails(it, ENOENT);
    assert_int_equal(atomic_load(&renames), 2);
    assert_int_equal(tkj_test_file_count(cache_case_path(it, "tmp")), 0);
}

static void taken_temporary_name_gives_way_to_another(void **state)
{
    cache_case *it = *state;
    script(CALL_CREATE, EEXIST, 3);
    assert_stored(it);
    script(CALL_CREATE, EEXIST, 1000);
    assert_put_fails(it, EEXIST);
}

static void tag_that_cannot_be_written_is_nobodys_failure(void **state)
{
    cache_case *it = *state;
    script(CALL_TAG, EACCES, 100);
    assert_stored(it);
    assert_int_equal(access(cache_case_path(it, "CACHEDIR.TAG"), F_OK), -1);
    assert_int_equal(atomic_load(&it->warnings), 0);
}

static void half_a_tag_is_removed(void **state)
{
    cache_case *it = *state;
    script(CALL_WRITE, ENOSPC, 1);
    assert_stored(it);
    assert_int_equal(access(cache_case_path(it, "CACHEDIR.TAG"), F_OK), -1);
}

static void entry_that_cannot_be_read_is_a_logged_miss(void **state)
{
    cache_case *it = *state;
    assert_stored(it);
    script(CALL_OPEN_ENTRY, EACCES, 1);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_UNREADABLE);
    script(CALL_READ, EIO, 1);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_UNREADABLE);
    assert_int_equal(atomic_load(&it->warnings), 2);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_HIT);
}

static void root_of_somebody_else_is_not_used(void **state)
{
    cache_case *it = *state;
    assert_stored(it);
    owner_is_somebody_else = true;
    assert_int_equal(cache_case_get(it), TKJ_CACHE_UNUSABLE);
    assert_put_fails(it, EPERM);
    cache_case_assert_message("belongs to another user");
    clock_ns += UINT64_C(60000000000);
    assert_put_fails(it, EPERM);
    assert_int_equal(atomic_load(&it->warnings), 1);
    assert_non_null(strstr(it->warning, "belongs to another user"));
}

static void *put_ten_times(void *argument)
{
    intptr_t failed = 0;
    for (int i = 0; i < 10; i++)
        failed += cache_case_put(argument) == TOPK_JIT_CACHE_FAILED;
    return (void *)failed;
}

static void full_disk_costs_all_threads_one_warning(void **state)
{
    cache_case *it = *state;
    script(CALL_FSYNC, ENOSPC, 1000);
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, put_ten_times, it), 0);
    for (size_t i = 0; i < 4; i++) {
        void *failed = NULL;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_int_equal((intptr_t)failed, 10);
    }
    assert_int_equal(atomic_load(&it->warnings), 1);
    assert_nothing_stored(it);
}

#define IN_CACHE(test) cmocka_unit_test_setup_teardown(test, set_up, cache_case_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lasting_failure_of_any_step_pauses_stores_and_leaves_nothing),
        cmocka_unit_test(passing_failure_of_any_step_does_not_pause_stores),
        IN_CACHE(pause_lasts_a_minute_and_the_next_one_is_logged_again),
        cmocka_unit_test(entry_that_is_there_survives_a_failed_store),
        IN_CACHE(disk_that_fills_up_in_the_middle_leaves_no_part),
        cmocka_unit_test(interruptions_and_short_writes_are_resumed),
        IN_CACHE(interrupted_rename_is_a_failure_that_leaves_nothing),
        IN_CACHE(cache_that_is_cleared_meanwhile_is_tried_once_more),
        IN_CACHE(taken_temporary_name_gives_way_to_another),
        IN_CACHE(tag_that_cannot_be_written_is_nobodys_failure),
        IN_CACHE(half_a_tag_is_removed),
        IN_CACHE(entry_that_cannot_be_read_is_a_logged_miss),
        IN_CACHE(root_of_somebody_else_is_not_used),
        IN_CACHE(full_disk_costs_all_threads_one_warning),
    };
    return cmocka_run_group_tests_name("cache_faults", tests, NULL, NULL);
}
