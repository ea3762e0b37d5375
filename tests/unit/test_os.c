/* SPDX-License-Identifier: Apache-2.0 */
#include "testing.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"
#include "os.h"

/* System calls that the tests bend; linked with --wrap. */
static bool owner_is_somebody_else;
static int pthread_create_error;
static struct {
    int interruptions; /* so many writes end with EINTR first */
    size_t at_most;    /* a write takes so many bytes; 0 = all */
    int error;         /* every write fails so; 0 = none */
    bool takes_nothing;
} writes;
static int read_interruptions;

int __real_fstat(int fd, struct stat *status);
int __wrap_fstat(int fd, struct stat *status);
int __wrap_fstat(int fd, struct stat *status)
{
    int result = __real_fstat(fd, status);
    if (owner_is_somebody_else)
        status->st_uid = geteuid() + 1;
    return result;
}

ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
    if (writes.error != 0 || writes.interruptions > 0) {
        errno = writes.error != 0 ? writes.error : EINTR;
        writes.interruptions--;
        return -1;
    }
    if (writes.takes_nothing)
        return 0;
    return __real_write(fd, bytes,
                        writes.at_most > 0 && size > writes.at_most ? writes.at_most : size);
}

ssize_t __real_pread(int fd, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset)
{
    if (read_interruptions > 0) {
        read_interruptions--;
        errno = EINTR;
        return -1;
    }
    return __real_pread(fd, bytes, size > 3 ? 3 : size, offset);
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*function)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*function)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*function)(void *), void *argument)
{
    if (pthread_create_error != 0)
        return pthread_create_error;
    return __real_pthread_create(thread, attributes, function, argument);
}

static int set_up(void **state)
{
    owner_is_somebody_else = false;
    pthread_create_error = 0;
    memset(&writes, 0, sizeof writes);
    read_interruptions = 0;
    *state = tkj_test_dir_create();
    return 0;
}

static int tear_down(void **state)
{
    memset(&writes, 0, sizeof writes);
    tkj_test_dir_remove(*state);
    return 0;
}

static void clock_never_goes_back(void **state)
{
    (void)state;
    uint64_t first = tkj_os_now_ns();
    uint64_t second = tkj_os_now_ns();
    assert_true(first > 0 && second >= first);
}

static void paths_from_the_top_are_absolute(void **state)
{
    (void)state;
    assert_true(tkj_os_is_absolute("/"));
    assert_true(tkj_os_is_absolute("/var/cache"));
    assert_false(tkj_os_is_absolute(""));
    assert_false(tkj_os_is_absolute("cache"));
    assert_false(tkj_os_is_absolute("./cache"));
    assert_false(tkj_os_is_absolute("~/cache"));
}

static void assert_not_opened(const char *path, int error, const char *expected_why)
{
    const char *why = NULL;
    errno = 0;
    assert_int_equal(tkj_os_open_trusted_dir(path, TKJ_TRUST_OWNER, &why), -1);
    assert_int_equal(errno, error);
    assert_string_equal(why, expected_why);
}

static void own_directory_is_trusted_and_closed_on_exec(void **state)
{
    const char *why = NULL;
    int fd = tkj_os_open_trusted_dir(*state, TKJ_TRUST_OWNER, &why);
    assert_true(fd >= 0);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
}

static void directory_that_others_can_write_is_not_trusted(void **state)
{
    const mode_t modes[] = {0720, 0702, 0777, 01777, 0770};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        assert_int_equal(chmod(*state, modes[i]), 0);
        assert_not_opened(*state, EPERM, "is writable by its group or by everybody");
    }
}

static void directory_of_somebody_else_is_not_trusted(void **state)
{
    owner_is_somebody_else = true;
    assert_not_opened(*state, EPERM, "belongs to another user");
}

static void symlink_to_a_directory_is_not_trusted(void **state)
{
    const char *link = tkj_test_path(*state, "link");
    assert_int_equal(symlink(*state, link), 0);
    assert_not_opened(link, EPERM, "is a symbolic link");
    assert_not_opened(tkj_test_path(*state, "link//"), EPERM, "is a symbolic link");
}

static void file_and_nothing_are_no_directory(void **state)
{
    const char *file = tkj_test_path(*state, "file");
    tkj_test_file_write(file, "x", 1);
    assert_not_opened(file, ENOTDIR, "is not a directory");
    assert_not_opened(tkj_test_path(*state, "none"), ENOENT, "does not exist");
}

static void overlong_path_is_refused(void **state)
{
    (void)state;
    char path[PATH_MAX + 2];
    memset(path, 'x', sizeof path - 1);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    assert_not_opened(path, ENAMETOOLONG, "cannot be opened");
    assert_false(tkj_os_can_make_dirs(path));
    assert_int_equal(tkj_os_make_dirs(path, TKJ_TRUST_OWNER), -1);
    assert_int_equal(errno, ENAMETOOLONG);
}

/* Reads below the directory through the allocator; asserts that a failure leaves nothing. */
static int read_file(const char *directory, const char *name, size_t limit, int fail_at,
                     char text[64])
{
    tkj_test_allocator test;
    tkj_test_allocator_init(&test, fail_at);
    int dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(dir_fd >= 0);
    tkj_blob blob = {(uint8_t *)text, 99};
    errno = 0;
    int result = tkj_os_read_file(&test.allocator, dir_fd, name, limit, &blob);
    int error = errno;
    close(dir_fd);
    if (result == 0) {
        assert_int_equal(blob.bytes[blob.size], 0);
        assert_int_equal(strlen((char *)blob.bytes), blob.size);
        snprintf(text, 64, "%s", (char *)blob.bytes);
        tkj_free(&test.allocator, blob.bytes);
    } else {
        assert_null(blob.bytes);
        assert_int_equal(blob.size, 0);
    }
    assert_int_equal(atomic_load(&test.live), 0);
    errno = error;
    return result;
}

static void assert_not_read(const char *directory, const char *name, size_t limit, int fail_at,
                            int error)
{
    char text[64];
    assert_int_equal(read_file(directory, name, limit, fail_at, text), -1);
    assert_int_equal(errno, error);
}

static void file_is_read_whole_as_a_string(void **state)
{
    char text[64] = "";
    tkj_test_file_write(tkj_test_path(*state, "file"), "0123456789", 10);
    read_interruptions = 2;
    assert_int_equal(read_file(*state, "file", 10, 0, text), 0);
    assert_string_equal(text, "0123456789");
}

static void empty_file_is_an_empty_string(void **state)
{
    char text[64] = "before";
    tkj_test_file_write(tkj_test_path(*state, "file"), "", 0);
    assert_int_equal(read_file(*state, "file", 0, 0, text), 0);
    assert_string_equal(text, "");
}

static void file_beyond_the_limit_is_not_read(void **state)
{
    tkj_test_file_write(tkj_test_path(*state, "file"), "0123456789", 10);
    assert_not_read(*state, "file", 9, 0, EFBIG);
}

static void only_a_regular_file_of_this_user_is_read(void **state)
{
    tkj_test_file_write(tkj_test_path(*state, "file"), "x", 1);
    assert_int_equal(symlink("file", tkj_test_path(*state, "link")), 0);
    assert_int_equal(mkfifo(tkj_test_path(*state, "fifo"), 0600), 0);
    assert_int_equal(mkdir(tkj_test_path(*state, "directory"), 0700), 0);
    assert_not_read(*state, "none", 9, 0, ENOENT);
    assert_not_read(*state, "link", 9, 0, ELOOP);
    assert_not_read(*state, "fifo", 9, 0, EINVAL);
    assert_not_read(*state, "directory", 1 << 20, 0, EINVAL);
    assert_int_equal(chmod(tkj_test_path(*state, "file"), 0620), 0);
    assert_not_read(*state, "file", 9, 0, EPERM);
    assert_int_equal(chmod(tkj_test_path(*state, "file"), 0600), 0);
    owner_is_somebody_else = true;
    assert_not_read(*state, "file", 9, 0, EPERM);
}

static void no_directory_that_others_can_write_is_on_the_way_to_a_file(void **state)
{
    static const char *const directories[] = {"real", "real/deep"};
    static const mode_t modes[] = {0720, 0702, 0777, 01777, 0770};
    char text[64] = "";
    for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++)
        assert_int_equal(mkdir(tkj_test_path(*state, directories[i]), 0755), 0);
    tkj_test_file_write(tkj_test_path(*state, "real/deep/file"), "x", 1);
    for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++) {
        const char *path = tkj_test_path(*state, directories[i]);
        for (size_t j = 0; j < sizeof modes / sizeof modes[0]; j++) {
            assert_int_equal(chmod(path, modes[j]), 0);
            assert_not_read(*state, "real/deep/file", 9, 0, EPERM);
        }
        assert_int_equal(chmod(path, 0755), 0);
        assert_int_equal(read_file(*state, "real/deep/file", 9, 0, text), 0);
    }
}

static void no_link_on_the_way_to_a_file_is_followed(void **state)
{
    char text[64] = "";
    assert_int_equal(mkdir(tkj_test_path(*state, "real"), 0700), 0);
    assert_int_equal(mkdir(tkj_test_path(*state, "real/deep"), 0700), 0);
    tkj_test_file_write(tkj_test_path(*state, "real/deep/file"), "x", 1);
    assert_int_equal(symlink("real", tkj_test_path(*state, "link")), 0);
    assert_int_equal(symlink("deep", tkj_test_path(*state, "real/link")), 0);
    assert_int_equal(read_file(*state, "real/deep/file", 9, 0, text), 0);
    assert_string_equal(text, "x");
    assert_not_read(*state, "link/deep/file", 9, 0, ENOTDIR);
    assert_not_read(*state, "real/link/file", 9, 0, ENOTDIR);
    assert_not_read(*state, "real/none/file", 9, 0, ENOENT);
    assert_not_read(*state, "real/deep/file/more", 9, 0, ENOTDIR);
}

static void reading_without_memory_fails_with_enomem(void **state)
{
    tkj_test_file_write(tkj_test_path(*state, "file"), "x", 1);
    assert_not_read(*state, "file", 9, 1, ENOMEM);
}

static int new_file(const char *directory)
{
    int fd = open(tkj_test_path(directory, "file"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    return fd;
}

static void write_resumes_after_interruptions_and_short_writes(void **state)
{
    int fd = new_file(*state);
    writes.interruptions = 2;
    writes.at_most = 3;
    assert_int_equal(tkj_os_write_all(fd, "0123456789", 10), 0);
    close(fd);
    char text[64] = "";
    assert_int_equal(read_file(*state, "file", 10, 0, text), 0);
    assert_string_equal(text, "0123456789");
}

static void write_reports_the_reason_of_its_failure(void **state)
{
    int fd = new_file(*state);
    writes.error = ENOSPC;
    assert_int_equal(tkj_os_write_all(fd, "x", 1), -1);
    assert_int_equal(errno, ENOSPC);
    writes.error = 0;
    writes.takes_nothing = true;
    assert_int_equal(tkj_os_write_all(fd, "x", 1), -1);
    assert_int_equal(errno, EIO);
    assert_int_equal(tkj_os_write_all(fd, "", 0), 0);
    close(fd);
}

static void closing_keeps_errno(void **state)
{
    (void)state;
    errno = ENOSPC;
    tkj_os_close(-1);
    assert_int_equal(errno, ENOSPC);
}

static void missing_parents_are_created_for_the_user_alone(void **state)
{
    const char *leaf = tkj_test_path(*state, "a//b/c/");
    mode_t before = umask(0);
    assert_true(tkj_os_can_make_dirs(leaf));
    int result = tkj_os_make_dirs(leaf, TKJ_TRUST_OWNER);
    umask(before);
    assert_int_equal(result, 0);
    struct stat status;
    assert_int_equal(stat(leaf, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    assert_int_equal(stat(tkj_test_path(*state, "a"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    assert_int_equal(tkj_os_make_dirs(leaf, TKJ_TRUST_OWNER), 0);
    assert_int_equal(tkj_os_make_dirs("/", TKJ_TRUST_OWNER), 0);
}

static void no_directory_can_be_made_below_a_file(void **state)
{
    tkj_test_file_write(tkj_test_path(*state, "file"), "x", 1);
    assert_false(tkj_os_can_make_dirs(tkj_test_path(*state, "file/a")));
    assert_int_equal(tkj_os_make_dirs(tkj_test_path(*state, "file"), TKJ_TRUST_OWNER), -1);
    assert_int_equal(errno, ENOTDIR);
    assert_int_equal(tkj_os_make_dirs(tkj_test_path(*state, "file/below"), TKJ_TRUST_OWNER), -1);
    assert_int_equal(errno, ENOTDIR);
}

static void own_directory_is_that_of_the_executable(void **state)
{
    (void)state;
    char expected[PATH_MAX];
    assert_non_null(realpath("/proc/self/exe", expected));
    *strrchr(expected, '/') = '\0';
    tkj_test_allocator test;
    tkj_test_allocator_init(&test, 0);
    char *directory = NULL;
    assert_int_equal(tkj_os_own_directory(&test.allocator, &directory), TOPK_JIT_OK);
    assert_string_equal(directory, expected);
    tkj_free(&test.allocator, directory);
    tkj_test_allocator_init(&test, 1);
    assert_int_equal(tkj_os_own_directory(&test.allocator, &directory), TOPK_JIT_OUT_OF_MEMORY);
    assert_null(directory);
}

/* What a thread saw of itself. */
typedef struct sighting {
    pthread_t thread;
    size_t stack_size;
    int unblocked; /* signals that could be delivered there */
} sighting;

static void look_around(void *argument)
{
    sighting *seen = argument;
    volatile uint8_t deep[8 << 20]; /* beyond what musl and small RLIMIT_STACKs give a thread */
    deep[0] = 1;
    deep[sizeof deep - 1] = deep[0];
    pthread_attr_t attributes;
    sigset_t blocked;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstacksize(&attributes, &seen->stack_size);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    for (int number = 1; number < 32; number++)
        if (number != SIGKILL && number != SIGSTOP)
            seen->unblocked += sigismember(&blocked, number) == 0;
    seen->thread = pthread_self();
}

static void function_runs_on_a_large_stack_with_signals_blocked(void **state)
{
    (void)state;
    sighting seen = {0};
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_int_equal(tkj_os_run_on_stack((size_t)16 << 20, look_around, &seen), 0);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_false(pthread_equal(seen.thread, pthread_self()));
    assert_true(seen.stack_size >= (size_t)16 << 20);
    assert_int_equal(seen.unblocked, 0);
    for (int number = 1; number < 32; number++)
        assert_int_equal(sigismember(&before, number), sigismember(&after, number));
}

static void thread_that_cannot_be_created_is_reported(void **state)
{
    (void)state;
    sighting seen = {0};
    pthread_create_error = EAGAIN;
    assert_int_equal(tkj_os_run_on_stack((size_t)16 << 20, look_around, &seen), EAGAIN);
    pthread_create_error = 0;
    assert_int_equal(tkj_os_run_on_stack(1, look_around, &seen), EINVAL);
    assert_int_equal(seen.stack_size, 0);
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(clock_never_goes_back),
        IN_DIRECTORY(paths_from_the_top_are_absolute),
        IN_DIRECTORY(own_directory_is_trusted_and_closed_on_exec),
        IN_DIRECTORY(directory_that_others_can_write_is_not_trusted),
        IN_DIRECTORY(directory_of_somebody_else_is_not_trusted),
        IN_DIRECTORY(symlink_to_a_directory_is_not_trusted),
        IN_DIRECTORY(file_and_nothing_are_no_directory),
        IN_DIRECTORY(overlong_path_is_refused),
        IN_DIRECTORY(file_is_read_whole_as_a_string),
        IN_DIRECTORY(empty_file_is_an_empty_string),
        IN_DIRECTORY(file_beyond_the_limit_is_not_read),
        IN_DIRECTORY(only_a_regular_file_of_this_user_is_read),
        IN_DIRECTORY(no_directory_that_others_can_write_is_on_the_way_to_a_file),
        IN_DIRECTORY(no_link_on_the_way_to_a_file_is_followed),
        IN_DIRECTORY(reading_without_memory_fails_with_enomem),
        IN_DIRECTORY(write_resumes_after_interruptions_and_short_writes),
        IN_DIRECTORY(write_reports_the_reason_of_its_failure),
        IN_DIRECTORY(closing_keeps_errno),
        IN_DIRECTORY(missing_parents_are_created_for_the_user_alone),
        IN_DIRECTORY(no_directory_can_be_made_below_a_file),
        IN_DIRECTORY(own_directory_is_that_of_the_executable),
        IN_DIRECTORY(function_runs_on_a_large_stack_with_signals_blocked),
        IN_DIRECTORY(thread_that_cannot_be_created_is_reported),
    };
    return cmocka_run_group_tests_name("os", tests, NULL, NULL);
}
