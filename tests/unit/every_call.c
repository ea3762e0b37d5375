/* SPDX-License-Identifier: Apache-2.0 */
#include "every_call.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static _Thread_local bool counting;
static every_call_fault scripted;
static int calls;
static const char *struck = "";
static const char *shm;

void every_call_begin(every_call_fault fault, const char *shm_directory)
{
    scripted = fault;
    calls = 0;
    struck = "";
    shm = shm_directory;
    counting = true;
}

const char *every_call_end(void)
{
    counting = false;
    shm = NULL;
    return struck;
}

/* Counts a call. @return true if it is to fail, with errno set */
static bool strikes(const char *name)
{
    if (!counting || (++calls != scripted.nth && scripted.nth != 0))
        return false;
    struck = name;
    if (scripted.shortened)
        return false;
    errno = scripted.error;
    return true;
}

/* What a transfer of this call, which was counted, moves. */
static size_t shortened(size_t size)
{
    const bool now = counting && scripted.shortened && (calls == scripted.nth || scripted.nth == 0);
    return now && size > 1 ? 1 : size;
}

/* The locks of all tests of a user would be in one place: this test has one of its own. */
static const char *here(const char *path, char copy[PATH_MAX])
{
    static const char there[] = "/dev/shm/topk-jit-";
    const size_t length = strlen(there);
    if (shm == NULL || strncmp(path, there, length) != 0 || path[length] < '0' ||
        path[length] > '9')
        return path;
    snprintf(copy, PATH_MAX, "%s/shm-%s", shm, path + length);
    return copy;
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    int result = __real_close(fd); /* gone, whatever it says */
    return strikes("close") ? -1 : result;
}

int __real_openat(int fd, const char *path, int flags, ...);
int __wrap_openat(int fd, const char *path, int flags, mode_t mode);
int __wrap_openat(int fd, const char *path, int flags, mode_t mode)
{
    return strikes("openat") ? -1 : __real_openat(fd, path, flags, mode);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode)
{
    char copy[PATH_MAX];
    return strikes("open") ? -1 : __real_open(here(path, copy), flags, mode);
}

int __real_fstat(int fd, struct stat *status);
int __wrap_fstat(int fd, struct stat *status);
int __wrap_fstat(int fd, struct stat *status)
{
    return strikes("fstat") ? -1 : __real_fstat(fd, status);
}

int __real_stat(const char *path, struct stat *status);
int __wrap_stat(const char *path, struct stat *status);
int __wrap_stat(const char *path, struct stat *status)
{
    char copy[PATH_MAX];
    return strikes("stat") ? -1 : __real_stat(here(path, copy), status);
}

int __real_lstat(const char *path, struct stat *status);
int __wrap_lstat(const char *path, struct stat *status);
int __wrap_lstat(const char *path, struct stat *status)
{
    char copy[PATH_MAX];
    return strikes("lstat") ? -1 : __real_lstat(here(path, copy), status);
}

int __real_fstatat(int fd, const char *path, struct stat *status, int flags);
int __wrap_fstatat(int fd, const char *path, struct stat *status, int flags);
int __wrap_fstatat(int fd, const char *path, struct stat *status, int flags)
{
    return strikes("fstatat") ? -1 : __real_fstatat(fd, path, status, flags);
}

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode)
{
    return strikes("access") ? -1 : __real_access(path, mode);
}

int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    (void)fd; /* the disk's speed does not matter */
    return strikes("fsync") ? -1 : 0;
}

int __real_renameat(int from_fd, const char *from, int to_fd, const char *to);
int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to);
int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    return strikes("renameat") ? -1 : __real_renameat(from_fd, from, to_fd, to);
}

int __real_unlinkat(int fd, const char *path, int flags);
int __wrap_unlinkat(int fd, const char *path, int flags);
int __wrap_unlinkat(int fd, const char *path, int flags)
{
    return strikes("unlinkat") ? -1 : __real_unlinkat(fd, path, flags);
}

int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode)
{
    char copy[PATH_MAX];
    return strikes("mkdir") ? -1 : __real_mkdir(here(path, copy), mode);
}

int __real_mkdirat(int fd, const char *path, mode_t mode);
int __wrap_mkdirat(int fd, const char *path, mode_t mode);
int __wrap_mkdirat(int fd, const char *path, mode_t mode)
{
    return strikes("mkdirat") ? -1 : __real_mkdirat(fd, path, mode);
}

int __real_chmod(const char *path, mode_t mode);
int __wrap_chmod(const char *path, mode_t mode);
int __wrap_chmod(const char *path, mode_t mode)
{
    char copy[PATH_MAX];
    return strikes("chmod") ? -1 : __real_chmod(here(path, copy), mode);
}

int __real_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode)
{
    return strikes("fchmod") ? -1 : __real_fchmod(fd, mode);
}

int __real_fchmodat(int fd, const char *path, mode_t mode, int flags);
int __wrap_fchmodat(int fd, const char *path, mode_t mode, int flags);
int __wrap_fchmodat(int fd, const char *path, mode_t mode, int flags)
{
    return strikes("fchmodat") ? -1 : __real_fchmodat(fd, path, mode, flags);
}

int __real_futimens(int fd, const struct timespec times[2]);
int __wrap_futimens(int fd, const struct timespec times[2]);
int __wrap_futimens(int fd, const struct timespec times[2])
{
    return strikes("futimens") ? -1 : __real_futimens(fd, times);
}

int __real_getgroups(int size, gid_t list[]);
int __wrap_getgroups(int size, gid_t list[]);
int __wrap_getgroups(int size, gid_t list[])
{
    return strikes("getgroups") ? -1 : __real_getgroups(size, list);
}

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, void *argument);
int __wrap_fcntl(int fd, int command, void *argument)
{
    return strikes("fcntl") ? -1 : __real_fcntl(fd, command, argument);
}

DIR *__real_fdopendir(int fd);
DIR *__wrap_fdopendir(int fd);
DIR *__wrap_fdopendir(int fd)
{
    return strikes("fdopendir") ? NULL : __real_fdopendir(fd);
}

struct dirent *__real_readdir(DIR *directory);
struct dirent *__wrap_readdir(DIR *directory);
struct dirent *__wrap_readdir(DIR *directory)
{
    return strikes("readdir") ? NULL : __real_readdir(directory);
}

int __real_closedir(DIR *directory);
int __wrap_closedir(DIR *directory);
int __wrap_closedir(DIR *directory)
{
    int result = __real_closedir(directory); /* gone, whatever it says */
    return strikes("closedir") ? -1 : result;
}

ssize_t __real_getrandom(void *bytes, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *bytes, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *bytes, size_t size, unsigned flags)
{
    return strikes("getrandom") ? -1 : __real_getrandom(bytes, size, flags);
}

ssize_t __real_pread(int fd, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset)
{
    return strikes("pread") ? -1 : __real_pread(fd, bytes, shortened(size), offset);
}

ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
    return strikes("write") ? -1 : __real_write(fd, bytes, shortened(size));
}
