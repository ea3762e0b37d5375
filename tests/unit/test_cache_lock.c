/* SPDX-License-Identifier: Apache-2.0 */
/* Locks on keys: who keeps whom out, and who lets go. */
#include "testing.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lock.h"

/* ---- what the linker puts in the place of a system call ---- */

static int lock_error;         /* of every lock; 0 = none */
static int lock_interruptions; /* so many locks end with EINTR first */

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, void *argument);
int __wrap_fcntl(int fd, int command, void *argument)
{
    if (lock_error != 0 || lock_interruptions > 0) {
        errno = lock_error != 0 ? lock_error : EINTR;
        lock_interruptions -= lock_error == 0;
        return -1;
    }
    return __real_fcntl(fd, command, argument);
}

static int set_up(void **state)
{
    lock_error = lock_interruptions = 0;
    *state = tkj_test_dir_create();
    return 0;
}

static int tear_down(void **state)
{
    tkj_test_dir_remove(*state);
    return 0;
}

/* ---- keys ---- */

/* A key of which two bytes are set: one of the upper half, and the first of the lower one. */
static tkj_cache_key key_of(uint8_t upper, uint8_t lower)
{
    tkj_cache_key key = {{0}};
    key.digest[0] = upper;
    key.digest[TKJ_DIGEST_SIZE / 2] = lower;
    return key;
}

static const tkj_cache_key one = {{[TKJ_DIGEST_SIZE - 1] = 1}};
static const tkj_cache_key two = {{[TKJ_DIGEST_SIZE - 1] = 2}};

static int open_lock(const char *directory)
{
    int fd = tkj_lock_open(directory, directory, TKJ_TRUST_OWNER);
    assert_true(fd >= 0);
    return fd;
}

static void descriptors_of_one_process_keep_each_other_out(void **state)
{
    int first = open_lock(*state), second = open_lock(*state);
    assert_int_equal(tkj_lock_try(first, &one), TKJ_LOCK_HELD);
    assert_int_equal(tkj_lock_try(second, &one), TKJ_LOCK_BUSY);
    assert_int_equal(tkj_lock_try(first, &one), TKJ_LOCK_HELD);
    tkj_lock_release(first, &one);
    assert_int_equal(tkj_lock_try(second, &one), TKJ_LOCK_HELD);
    assert_int_equal(tkj_lock_try(first, &one), TKJ_LOCK_BUSY);
    close(first);
    close(second);
}

static void other_keys_are_free(void **state)
{
    int first = open_lock(*state), second = open_lock(*state);
    assert_int_equal(tkj_lock_try(first, &one), TKJ_LOCK_HELD);
    assert_int_equal(tkj_lock_try(second, &two), TKJ_LOCK_HELD);
    assert_int_equal(tkj_lock_try(first, &two), TKJ_LOCK_BUSY);
    close(first);
    close(second);
}

/* An offset has 62 bits: keys that differ only above them wait for each other, which costs time
   and no more. */
static void keys_share_a_byte_where_their_low_62_bits_are_the_same(void **state)
{
    const tkj_cache_key key = key_of(0, 0x3f), same[] = {key_of(0, 0x7f), key_of(0, 0xbf),
                                                         key_of(0, 0xff), key_of(1, 0x3f)};
    const tkj_cache_key others[] = {key_of(0, 0x1f), key_of(0, 0x3e)};
    int first = open_lock(*state), second = open_lock(*state);
    assert_int_equal(tkj_lock_try(first, &key), TKJ_LOCK_HELD);
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        assert_int_equal(tkj_lock_try(second, &same[i]), TKJ_LOCK_BUSY);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_int_equal(tkj_lock_try(second, &others[i]), TKJ_LOCK_HELD);
    close(first);
    close(second);
}

/* ---- who lets go ---- */

static void closing_releases(void **state)
{
    int first = open_lock(*state), second = open_lock(*state);
    assert_int_equal(tkj_lock_try(first, &one), TKJ_LOCK_HELD);
    close(first);
    assert_int_equal(tkj_lock_try(second, &one), TKJ_LOCK_HELD);
    close(second);
}

/* Locks of POSIX vanish then. */
static void closing_another_descriptor_of_the_file_releases_nothing(void **state)
{
    int first = open_lock(*state), second = open_lock(*state);
    assert_int_equal(tkj_lock_try(first, &one), TKJ_LOCK_HELD);
    close(open_lock(*state));
    assert_int_equal(tkj_lock_try(second, &one), TKJ_LOCK_BUSY);
    close(first);
    close(second);
}

/* A child holds a copy of the descriptor: the release is for both. */
static void release_is_one_of_inherited_descriptors_too(void **state)
{
    int first = open_lock(*state), second = open_lock(*state);
    assert_int_equal(tkj_lock_try(first, &one), TKJ_LOCK_HELD);
    int inherited = dup(first);
    tkj_lock_release(first, &one);
    close(first);
    assert_int_equal(tkj_lock_try(second, &one), TKJ_LOCK_HELD);
    close(inherited);
    close(second);
}

static void lock_of_a_process_that_dies_is_free(void **state)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        int fd = tkj_lock_open(*state, *state, TKJ_TRUST_OWNER);
        if (fd < 0 || tkj_lock_try(fd, &one) != TKJ_LOCK_HELD || write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_true(child > 0);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    int fd = open_lock(*state);
    assert_int_equal(tkj_lock_try(fd, &one), TKJ_LOCK_BUSY);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(tkj_lock_try(fd, &one), TKJ_LOCK_HELD);
    close(fd);
}

/* ---- file systems ---- */

static void system_without_such_locks_has_none(void **state)
{
    static const int errors[] = {EINVAL, ENOLCK, ENOSYS, EOPNOTSUPP};
    int fd = open_lock(*state);
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        lock_error = errors[i];
        assert_int_equal(tkj_lock_try(fd, &one), TKJ_LOCK_IMPOSSIBLE);
    }
    close(fd);
}

static void both_words_for_a_lock_that_is_taken_are_understood(void **state)
{
    int fd = open_lock(*state);
    lock_error = EACCES;
    assert_int_equal(tkj_lock_try(fd, &one), TKJ_LOCK_BUSY);
    lock_error = EAGAIN;
    assert_int_equal(tkj_lock_try(fd, &one), TKJ_LOCK_BUSY);
    close(fd);
}

static void signal_does_not_end_an_attempt(void **state)
{
    int fd = open_lock(*state);
    lock_interruptions = 2;
    assert_int_equal(tkj_lock_try(fd, &one), TKJ_LOCK_HELD);
    assert_int_equal(lock_interruptions, 0);
    close(fd);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(descriptors_of_one_process_keep_each_other_out),
        TEST(other_keys_are_free),
        TEST(keys_share_a_byte_where_their_low_62_bits_are_the_same),
        TEST(closing_releases),
        TEST(closing_another_descriptor_of_the_file_releases_nothing),
        TEST(release_is_one_of_inherited_descriptors_too),
        TEST(lock_of_a_process_that_dies_is_free),
        TEST(system_without_such_locks_has_none),
        TEST(both_words_for_a_lock_that_is_taken_are_understood),
        TEST(signal_does_not_end_an_attempt),
    };
    return cmocka_run_group_tests_name("cache_lock", tests, NULL, NULL);
}
