/* SPDX-License-Identifier: Apache-2.0 */
#include "testing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_SECONDS 15

/* Stands before each block; as wide as malloc's alignment. */
typedef union block_head {
    uint64_t mark;
    max_align_t alignment;
} block_head;

#define LIVE_MARK UINT64_C(0x6c69766520626c6b)

static void *allocate(void *user, size_t size)
{
    tkj_test_allocator *test = user;
    if (atomic_fetch_add(&test->asked, 1) + 1 == test->fail_at)
        return NULL;
    block_head *head = malloc(sizeof *head + size);
    if (head == NULL)
        return NULL;
    head->mark = LIVE_MARK;
    atomic_fetch_add(&test->live, 1);
    return memset(head + 1, 0xA5, size);
}

static void release(void *user, void *memory)
{
    tkj_test_allocator *test = user;
    assert_non_null(memory);
    block_head *head = (block_head *)memory - 1;
    assert_true(head->mark == LIVE_MARK);
    head->mark = 0;
    atomic_fetch_sub(&test->live, 1);
    free(head);
}

void tkj_test_allocator_init(tkj_test_allocator *test, int fail_at)
{
    test->allocator = (topk_jit_allocator){allocate, release, test};
    test->fail_at = fail_at;
    atomic_init(&test->asked, 0);
    atomic_init(&test->live, 0);
}

bool tkj_test_allocator_failed(const tkj_test_allocator *test)
{
    return test->fail_at > 0 && atomic_load(&test->asked) >= test->fail_at;
}

char *tkj_test_dir_create(void)
{
    const char *parent = getenv("TMPDIR");
    char *path = NULL;
    assert_true(asprintf(&path, "%s/topk-jit-test-XXXXXX",
                         parent != NULL && *parent ? parent : "/tmp") > 0);
    assert_non_null(mkdtemp(path));
    return path;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

void tkj_test_dir_remove(char *path)
{
    assert_int_equal(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
    free(path);
}

const char *tkj_test_path(const char *directory, const char *name)
{
    static _Thread_local char paths[8][PATH_MAX];
    static _Thread_local unsigned next;
    char *path = paths[next++ % 8];
    assert_in_range(snprintf(path, PATH_MAX, "%s/%s", directory, name), 1, PATH_MAX - 1);
    return path;
}

void tkj_test_file_write(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    assert_int_equal(close(fd), 0);
}

static _Thread_local size_t files_seen;

static int count_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)path;
    (void)status;
    (void)walk;
    files_seen += type != FTW_D;
    return 0;
}

size_t tkj_test_file_count(const char *directory)
{
    files_seen = 0;
    if (access(directory, F_OK) == 0)
        assert_int_equal(nftw(directory, count_one, 16, FTW_PHYS), 0);
    return files_seen;
}

size_t tkj_test_open_files(void)
{
    DIR *directory = opendir("/proc/self/fd");
    assert_non_null(directory);
    size_t count = 0;
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count - 3; /* ".", ".." and the directory itself */
}

int tkj_test_run_child(int (*work)(void *user), void *user)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        alarm(CHILD_SECONDS);
        _exit(work(user));
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}
