/* SPDX-License-Identifier: Apache-2.0 */
#include "disk_watch.h"

#include "testing.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

disk_watch watched;

static const char *directory_watched;
static const char *refused_path;
static int refused_error;
static bool disowned;

void disk_watch_start(const char *directory)
{
    directory_watched = directory;
    refused_path = NULL;
    disowned = false;
    atomic_store(&watched.opens, 0);
    atomic_store(&watched.writes, 0);
    atomic_store(&watched.touches, 0);
    atomic_store(&watched.locks, 0);
}

void disk_watch_refuse(const char *path, int error)
{
    refused_path = path;
    refused_error = error;
}

void disk_watch_disown(void)
{
    disowned = true;
}

static void look(const char *path)
{
    if (directory_watched != NULL &&
        strncmp(path, directory_watched, strlen(directory_watched)) == 0)
        atomic_fetch_add(&watched.opens, 1);
}

/* @return false if it is to fail, with errno */
static bool open_is_fine(const char *path, int flags)
{
    look(path);
    if ((flags & (O_CREAT | O_WRONLY | O_RDWR | O_TRUNC)) != 0)
        atomic_fetch_add(&watched.writes, 1);
    if (refused_path == NULL || strcmp(path, refused_path) != 0)
        return true;
    errno = refused_error;
    return false;
}

/* ---- what the linker puts in the place of system calls ---- */

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode)
{
    return open_is_fine(path, flags) ? __real_open(path, flags, mode) : -1;
}

int __real_openat(int fd, const char *path, int flags, ...);
int __wrap_openat(int fd, const char *path, int flags, mode_t mode);
int __wrap_openat(int fd, const char *path, int flags, mode_t mode)
{
    return open_is_fine(path, flags) ? __real_openat(fd, path, flags, mode) : -1;
}

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode)
{
    look(path);
    return __real_access(path, mode);
}

int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode)
{
    atomic_fetch_add(&watched.writes, 1);
    return __real_mkdir(path, mode);
}

int __real_mkdirat(int fd, const char *path, mode_t mode);
int __wrap_mkdirat(int fd, const char *path, mode_t mode);
int __wrap_mkdirat(int fd, const char *path, mode_t mode)
{
    atomic_fetch_add(&watched.writes, 1);
    return __real_mkdirat(fd, path, mode);
}

int __real_renameat(int from_fd, const char *from, int to_fd, const char *to);
int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to);
int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    atomic_fetch_add(&watched.writes, 1);
    return __real_renameat(from_fd, from, to_fd, to);
}

int __real_unlinkat(int fd, const char *path, int flags);
int __wrap_unlinkat(int fd, const char *path, int flags);
int __wrap_unlinkat(int fd, const char *path, int flags)
{
    atomic_fetch_add(&watched.writes, 1);
    return __real_unlinkat(fd, path, flags);
}

int __real_futimens(int fd, const struct timespec times[2]);
int __wrap_futimens(int fd, const struct timespec times[2]);
int __wrap_futimens(int fd, const struct timespec times[2])
{
    atomic_fetch_add(&watched.touches, 1);
    if (disowned && times != NULL &&
        (times[0].tv_nsec != UTIME_NOW || times[1].tv_nsec != UTIME_NOW)) {
        errno = EPERM;
        return -1;
    }
    return __real_futimens(fd, times);
}

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, void *argument);
int __wrap_fcntl(int fd, int command, void *argument)
{
    if (command == F_OFD_SETLK || command == F_SETLK)
        atomic_fetch_add(&watched.locks, 1);
    return __real_fcntl(fd, command, argument);
}

/* ---- states of directories ---- */

static _Thread_local struct {
    char *lines[1024];
    size_t count;
} listing;

static int list_one(const char *path, const struct stat *status, int type, struct FTW *position)
{
    (void)type, (void)position;
    assert_true(listing.count < sizeof listing.lines / sizeof listing.lines[0]);
    assert_true(asprintf(&listing.lines[listing.count++],
                         "%s %o %lld inode %llu at %lld.%09ld changed %lld.%09ld\n", path,
                         (unsigned)status->st_mode, (long long)status->st_size,
                         (unsigned long long)status->st_ino, (long long)status->st_mtim.tv_sec,
                         status->st_mtim.tv_nsec, (long long)status->st_ctim.tv_sec,
                         status->st_ctim.tv_nsec) > 0);
    return 0;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char *disk_snapshot(const char *directory)
{
    listing.count = 0;
    assert_int_equal(nftw(directory, list_one, 16, FTW_PHYS), 0);
    qsort(listing.lines, listing.count, sizeof listing.lines[0], compare_lines);
    size_t size = 1;
    for (size_t i = 0; i < listing.count; i++)
        size += strlen(listing.lines[i]);
    char *text = calloc(size, 1);
    assert_non_null(text);
    for (size_t i = 0, used = 0; i < listing.count; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s", listing.lines[i]);
        free(listing.lines[i]);
    }
    return text;
}

void disk_assert_as_before(const char *directory, char *snapshot)
{
    char *now = disk_snapshot(directory);
    assert_string_equal(now, snapshot);
    free(now);
    free(snapshot);
}

void disk_set_age(const char *path, long seconds)
{
    const struct timespec then = {time(NULL) - seconds, 0};
    const struct timespec times[] = {then, then};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

long disk_age(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return (long)(time(NULL) - status.st_mtime);
}
