/* SPDX-License-Identifier: Apache-2.0 */
/* A place for locks that cannot be used, or not be trusted, gives way to the next one; where there
   is none, or the file system has no such locks, a process compiles without. */
#include "cache_case.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault_case.h"
#include "memory.h"

#define NOBODY 65534

/* ---- a /dev/shm of the test's own, and what the system refuses; linked with --wrap ---- */

static cache_case *current;
static int refused_opens; /* of lock files, from now on: EACCES */
static int lock_error;    /* of fcntl; 0 = none */

/** "/dev/shm/x" -> "<directory>/shm/x" */
static const char *redirect(const char *path)
{
    static const char shm[] = "/dev/shm";
    if (strncmp(path, shm, strlen(shm)) != 0)
        return path;
    return tkj_test_path(current->directory, path + strlen("/dev/"));
}

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode)
{
    return __real_access(redirect(path), mode);
}

int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode)
{
    return __real_mkdir(redirect(path), mode);
}

int __real_stat(const char *path, struct stat *status);
int __wrap_stat(const char *path, struct stat *status);
int __wrap_stat(const char *path, struct stat *status)
{
    return __real_stat(redirect(path), status);
}

int __real_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode)
{
    return __real_open(redirect(path), flags, mode);
}

int __real_openat(int fd, const char *path, int flags, mode_t mode);
int __wrap_openat(int fd, const char *path, int flags, mode_t mode);
int __wrap_openat(int fd, const char *path, int flags, mode_t mode)
{
    if (strcmp(path, "locks") == 0 && refused_opens > 0) {
        refused_opens--;
        errno = EACCES;
        return -1;
    }
    return __real_openat(fd, path, flags, mode);
}

int __real_fcntl(int fd, int command, void *argument);
int __wrap_fcntl(int fd, int command, void *argument);
int __wrap_fcntl(int fd, int command, void *argument)
{
    if (command == F_OFD_SETLK && lock_error != 0) {
        errno = lock_error;
        return -1;
    }
    return __real_fcntl(fd, command, argument);
}

static int set_up(void **state)
{
    fault_reset();
    refused_opens = 0;
    lock_error = 0;
    cache_case_set_up(state);
    current = *state;
    fault_stop_clock();
    assert_int_equal(mkdir(tkj_test_path(current->directory, "shm"), 0700), 0);
    return 0;
}

/* ---- places, best first ---- */

enum { RUNTIME, SHM, ROOT, NOWHERE };

static const char *place(int which)
{
    char name[64] = "topk-jit";
    if (which == SHM)
        snprintf(name, sizeof name, "shm/topk-jit-%lu", (unsigned long)geteuid());
    return which == ROOT ? current->root : tkj_test_path(current->directory, name);
}

static void assert_lock_is_in(int expected, const tkj_cache_turn *turn)
{
    struct stat held, file;
    if (expected == NOWHERE) {
        assert_int_equal(turn->fd, -1);
        return;
    }
    assert_true(turn->fd >= 0);
    assert_int_equal(fstat(turn->fd, &held), 0);
    assert_int_equal(stat(tkj_test_path(place(expected), "locks"), &file), 0);
    assert_int_equal(held.st_ino, file.st_ino);
    assert_int_equal(held.st_dev, file.st_dev);
}

/** Takes the turn to compile, which must be had at once, and stores the entry. */
static void assert_compiles_with_a_lock_in(int expected)
{
    tkj_cache_turn turn;
    tkj_blob bytes;
    tkj_entry entry;
    cache_case *it = current;
    const tkj_cache_query query = cache_case_query(it);
    assert_false(tkj_cache_await_turn(it->cache, &query, &turn, &bytes, &entry));
    assert_lock_is_in(expected, &turn);
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    tkj_cache_end_turn(it->cache, &turn);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_HIT);
    assert_int_equal(fault.sleeps, 0);
    assert_int_equal(tkj_cache_counts(it->cache)->waits, 0);
    assert_int_equal(atomic_load(&it->warnings), 0);
}

/* ---- what may be wrong with a place ---- */

typedef void (*flaw)(const char *directory);

static void make(const char *directory)
{
    assert_int_equal(mkdir(directory, 0700), 0);
}

static void anybody_can_write(const char *directory)
{
    make(directory);
    assert_int_equal(chmod(directory, 0777), 0);
}

static void is_a_symlink(const char *directory)
{
    const char *target = tkj_test_path(current->directory, "elsewhere");
    assert_true(mkdir(target, 0700) == 0 || errno == EEXIST);
    assert_int_equal(symlink(target, directory), 0);
}

static void is_a_file(const char *directory)
{
    tkj_test_file_write(directory, "", 0);
}

static void is_of_another_owner(const char *directory)
{
    make(directory);
    assert_int_equal(chown(directory, NOBODY, NOBODY), 0);
}

static void has_a_fifo(const char *directory)
{
    make(directory);
    assert_int_equal(mkfifo(tkj_test_path(directory, "locks"), 0600), 0);
}

static void has_a_directory(const char *directory)
{
    make(directory);
    make(tkj_test_path(directory, "locks"));
}

static void has_a_symlink(const char *directory)
{
    const char *target = tkj_test_path(current->directory, "target");
    make(directory);
    tkj_test_file_write(target, "", 0);
    assert_int_equal(symlink(target, tkj_test_path(directory, "locks")), 0);
}

static void check_flaw(flaw spoil, int first_good)
{
    void *state = NULL;
    set_up(&state);
    for (int which = RUNTIME; which < first_good; which++)
        spoil(place(which));
    assert_compiles_with_a_lock_in(first_good);
    cache_case_tear_down(&state);
}

static void sound_places_are_used_in_their_order(void **state)
{
    cache_case *it = *state;
    tkj_cache_options options = cache_case_options(it);
    assert_compiles_with_a_lock_in(RUNTIME);
    options.runtime_dir = NULL;
    cache_case_open(it, &options);
    it->key.digest[15] = 0xff;
    assert_compiles_with_a_lock_in(SHM);
}

static void directory_that_is_not_to_be_trusted_gives_way(void **state)
{
    (void)state;
    static const flaw flaws[] = {anybody_can_write, is_a_symlink, is_a_file};
    for (size_t i = 0; i < sizeof flaws / sizeof flaws[0]; i++) {
        check_flaw(flaws[i], SHM);
        check_flaw(flaws[i], ROOT);
    }
}

static void directory_of_another_owner_gives_way(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("only root can give a directory away\n");
        skip();
    }
    check_flaw(is_of_another_owner, SHM);
    check_flaw(is_of_another_owner, ROOT);
}

static void file_that_is_no_lock_file_gives_way(void **state)
{
    (void)state;
    static const flaw flaws[] = {has_a_fifo, has_a_directory, has_a_symlink};
    for (size_t i = 0; i < sizeof flaws / sizeof flaws[0]; i++)
        for (int first_good = SHM; first_good <= NOWHERE; first_good++)
            check_flaw(flaws[i], first_good);
}

/* Not even by root, whose /dev/shm nobody else could use. */
static void place_that_is_not_there_is_not_made(void **state)
{
    cache_case *it = *state;
    tkj_cache_options options = cache_case_options(it);
    const char *shm = tkj_test_path(it->directory, "shm");
    options.runtime_dir = tkj_test_path(it->directory, "run/user/1000");
    cache_case_open(it, &options);
    assert_int_equal(rmdir(shm), 0);
    assert_compiles_with_a_lock_in(ROOT);
    assert_int_equal(access(shm, F_OK), -1);
    assert_int_equal(access(tkj_test_path(it->directory, "run"), F_OK), -1);
}

static void place_that_cannot_be_written_gives_way(void **state)
{
    (void)state;
    for (int first_good = SHM; first_good <= NOWHERE; first_good++) {
        void *own = NULL;
        set_up(&own);
        refused_opens = first_good;
        assert_compiles_with_a_lock_in(first_good);
        cache_case_tear_down(&own);
    }
}

static void file_system_without_locks_is_done_without(void **state)
{
    (void)state;
    static const int errors[] = {EINVAL, ENOLCK, ENOSYS, EOPNOTSUPP, EIO};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        void *own = NULL;
        set_up(&own);
        lock_error = errors[i];
        assert_compiles_with_a_lock_in(NOWHERE);
        cache_case_tear_down(&own);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, cache_case_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sound_places_are_used_in_their_order),
        cmocka_unit_test(directory_that_is_not_to_be_trusted_gives_way),
        cmocka_unit_test(directory_of_another_owner_gives_way),
        cmocka_unit_test(file_that_is_no_lock_file_gives_way),
        TEST(place_that_is_not_there_is_not_made),
        cmocka_unit_test(place_that_cannot_be_written_gives_way),
        cmocka_unit_test(file_system_without_locks_is_done_without),
    };
    return cmocka_run_group_tests_name("lock_places", tests, NULL, NULL);
}
