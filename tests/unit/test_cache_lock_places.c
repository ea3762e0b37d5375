/* SPDX-License-Identifier: Apache-2.0 */
/* Where the file of the locks is, and which places are passed over. */
#include "testing.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lock.h"

/* ---- what the linker puts in the place of system calls ---- */

static const char *shared_memory; /* stands for /dev/shm; NULL = there is none */

static const char *redirected(const char *path)
{
    static _Thread_local char other[PATH_MAX];
    if (strncmp(path, "/dev/shm", strlen("/dev/shm")) != 0)
        return path;
    snprintf(other, sizeof other, "%s%s", shared_memory != NULL ? shared_memory : "/proc/nowhere",
             path + strlen("/dev/shm"));
    return other;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode)
{
    return __real_open(redirected(path), flags, mode);
}

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode)
{
    return __real_access(redirected(path), mode);
}

int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode)
{
    return __real_mkdir(redirected(path), mode);
}

int __real_stat(const char *path, struct stat *status);
int __wrap_stat(const char *path, struct stat *status);
int __wrap_stat(const char *path, struct stat *status)
{
    return __real_stat(redirected(path), status);
}

/* ---- a directory with a place of each kind ---- */

typedef struct lock_case {
    char *directory;
    char runtime[PATH_MAX];
    char memory[PATH_MAX];
    char root[PATH_MAX];
} lock_case;

static void make_place(const char *directory, const char *name, char place[PATH_MAX])
{
    snprintf(place, PATH_MAX, "%s/%s", directory, name);
    assert_int_equal(__real_mkdir(place, 0700), 0);
}

static int set_up(void **state)
{
    static lock_case it;
    it.directory = tkj_test_dir_create();
    make_place(it.directory, "run", it.runtime);
    make_place(it.directory, "shm", it.memory);
    make_place(it.directory, "root", it.root);
    shared_memory = it.memory;
    *state = &it;
    return 0;
}

static int tear_down(void **state)
{
    lock_case *it = *state;
    tkj_test_dir_remove(it->directory);
    return 0;
}

/* ---- the order of places ---- */

/* Asserts that a descriptor is that of "place/locks", which has the mode; closes it. */
static void assert_is_in(int fd, const char *place, mode_t mode)
{
    struct stat opened, named;
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &opened), 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(__real_stat(tkj_test_path(place, "locks"), &named), 0);
    assert_int_equal(opened.st_ino, named.st_ino);
    assert_int_equal(named.st_mode, S_IFREG | mode);
    assert_int_equal(named.st_size, 0);
}

static const char *own_memory(const lock_case *it)
{
    char name[64];
    snprintf(name, sizeof name, "topk-jit-%lu", (unsigned long)geteuid());
    return tkj_test_path(it->memory, name);
}

/* Looks for the place, which creates nothing, and opens the file: both find the same one. */
static int look_and_open(const lock_case *it, const char *runtime, tkj_trust trust)
{
    tkj_lock_place place = {.fd = -1};
    const size_t before = tkj_test_file_count(it->directory);
    const bool seen = tkj_lock_look(runtime, it->root, trust, &place);
    assert_int_equal(tkj_test_file_count(it->directory), before);
    const int fd = tkj_lock_open(runtime, it->root, trust);
    assert_int_equal(seen, fd >= 0);
    if (fd < 0)
        return fd;
    struct stat opened, named;
    assert_int_equal(fstat(fd, &opened), 0);
    assert_int_equal(stat(tkj_test_path(place.directory, "locks"), &named), 0);
    assert_int_equal(opened.st_ino, named.st_ino);
    if (place.fd >= 0) { /* it was there before */
        assert_int_equal(fstat(place.fd, &named), 0);
        assert_int_equal(opened.st_ino, named.st_ino);
        assert_int_equal(close(place.fd), 0);
    }
    return fd;
}

static int open_for_owner(const lock_case *it, const char *runtime)
{
    return look_and_open(it, runtime, TKJ_TRUST_OWNER);
}

static void runtime_directory_is_the_first_place(void **state)
{
    const lock_case *it = *state;
    mode_t before = umask(0);
    int fd = open_for_owner(it, it->runtime);
    umask(before);
    struct stat status;
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_is_in(fd, tkj_test_path(it->runtime, "topk-jit"), 0600);
    assert_int_equal(stat(tkj_test_path(it->runtime, "topk-jit"), &status), 0);
    assert_int_equal(status.st_mode, S_IFDIR | 0700);
    assert_int_equal(tkj_test_file_count(it->directory), 1);
}

static void shared_memory_is_the_second_place(void **state)
{
    const lock_case *it = *state;
    assert_is_in(open_for_owner(it, NULL), own_memory(it), 0600);
    assert_is_in(open_for_owner(it, "run"), own_memory(it), 0600);
    assert_int_equal(tkj_test_file_count(it->directory), 1);
}

static void place_of_no_use_gives_way_to_the_next_one(void **state)
{
    const lock_case *it = *state;
    const char *below = tkj_test_path(it->runtime, "topk-jit");
    tkj_test_file_write(below, "", 0);
    assert_is_in(open_for_owner(it, it->runtime), own_memory(it), 0600);
    assert_int_equal(unlink(below), 0);
    assert_int_equal(symlink(it->memory, below), 0);
    assert_is_in(open_for_owner(it, it->runtime), own_memory(it), 0600);
    assert_int_equal(unlink(below), 0);
    assert_int_equal(mkdir(below, 0700), 0);
    assert_int_equal(chmod(below, 0777), 0);
    assert_is_in(open_for_owner(it, it->runtime), own_memory(it), 0600);
    assert_int_equal(chmod(own_memory(it), 0777), 0);
    assert_is_in(open_for_owner(it, it->runtime), it->root, 0600);
}

static void root_is_the_last_place(void **state)
{
    const lock_case *it = *state;
    shared_memory = NULL;
    assert_is_in(open_for_owner(it, NULL), it->root, 0600);
    assert_int_equal(chmod(it->root, 0777), 0);
    assert_int_equal(open_for_owner(it, NULL), -1);
}

static void group_that_shares_a_cache_locks_in_its_root(void **state)
{
    const lock_case *it = *state;
    mode_t before = umask(077);
    int fd = look_and_open(it, it->runtime, TKJ_TRUST_GROUP);
    umask(before);
    assert_is_in(fd, it->root, 0660);
    assert_int_equal(tkj_test_file_count(it->directory), 1);
}

static void what_is_no_file_in_the_lock_files_place_is_not_opened(void **state)
{
    const lock_case *it = *state;
    const char *file = tkj_test_path(it->root, "locks");
    shared_memory = NULL;
    tkj_test_file_write(tkj_test_path(it->directory, "target"), "", 0);
    assert_int_equal(symlink(tkj_test_path(it->directory, "target"), file), 0);
    assert_int_equal(open_for_owner(it, NULL), -1);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(mkfifo(file, 0600), 0);
    assert_int_equal(open_for_owner(it, NULL), -1);
}

static void path_that_is_too_long_is_no_place(void **state)
{
    const lock_case *it = *state;
    char path[PATH_MAX + 1];
    memset(path, '/', PATH_MAX);
    path[PATH_MAX] = '\0';
    assert_is_in(open_for_owner(it, path), own_memory(it), 0600);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(runtime_directory_is_the_first_place),
        TEST(shared_memory_is_the_second_place),
        TEST(place_of_no_use_gives_way_to_the_next_one),
        TEST(root_is_the_last_place),
        TEST(group_that_shares_a_cache_locks_in_its_root),
        TEST(what_is_no_file_in_the_lock_files_place_is_not_opened),
        TEST(path_that_is_too_long_is_no_place),
    };
    return cmocka_run_group_tests_name("cache_lock_places", tests, NULL, NULL);
}
