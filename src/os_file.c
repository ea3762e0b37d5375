/* SPDX-License-Identifier: Apache-2.0 */
#include "os.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"

bool tkj_os_is_absolute(const char *path)
{
    return path[0] == '/';
}

void tkj_os_close(int fd)
{
    int error = errno;
    close(fd);
    errno = error;
}

static int fail_with(int error)
{
    errno = error;
    return -1;
}

/* Copies a path without trailing slashes: with one, O_NOFOLLOW would follow the link before it. */
static int copy_trimmed(const char *path, char copy[PATH_MAX])
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (length >= PATH_MAX)
        return fail_with(ENAMETOOLONG);
    memcpy(copy, path, length);
    copy[length] = '\0';
    return 0;
}

/* More groups than these are none of any use: then the effective one counts alone. */
#define GROUPS_MAX 1024

static bool is_own_group(gid_t group)
{
    gid_t groups[GROUPS_MAX];
    int count = getgroups((int)(sizeof groups / sizeof groups[0]), groups);
    for (int i = 0; i < count; i++)
        if (groups[i] == group)
            return true;
    return group == getegid();
}

/* Code that is read back will be run: nobody but this user, root and, where sharing is asked for,
   members of a group of this process may have written it. (pycuda#54, cuda-python PR#2857) */
static const char *distrust(const struct stat *status, tkj_trust trust)
{
    bool shared = trust == TKJ_TRUST_GROUP && is_own_group(status->st_gid);
    if (status->st_uid != geteuid() && status->st_uid != 0 && !shared)
        return "belongs to another user";
    if ((status->st_mode & S_IWOTH) != 0 || ((status->st_mode & S_IWGRP) != 0 && !shared))
        return "is writable by its group or by everybody";
    return NULL;
}

/* With O_DIRECTORY the kernel reports a symlink as ENOTDIR: look again to say which it is. */
static int explain_open_failure(const char *path, const char **why)
{
    int error = errno;
    struct stat status;
    *why = error == ENOENT ? "does not exist" : "cannot be opened";
    if ((error == ENOTDIR || error == ELOOP) && lstat(path, &status) == 0) {
        if (S_ISLNK(status.st_mode)) {
            *why = "is a symbolic link";
            error = EPERM;
        } else if (!S_ISDIR(status.st_mode)) {
            *why = "is not a directory";
        }
    }
    return fail_with(error);
}

/* @param[out] why  set if it is not to be trusted. @return the descriptor; -1 with errno, and it is
   closed */
static int close_untrusted(int fd, tkj_trust trust, const char **why)
{
    struct stat status;
    const bool known = fstat(fd, &status) == 0;
    const char *flaw = known ? distrust(&status, trust) : NULL;
    if (known && flaw == NULL)
        return fd;
    tkj_os_close(fd);
    if (!known)
        return -1;
    *why = flaw;
    return fail_with(EPERM);
}

int tkj_os_open_trusted_dir(const char *path, tkj_trust trust, const char **why)
{
    char trimmed[PATH_MAX];
    *why = "cannot be opened";
    if (copy_trimmed(path, trimmed) != 0)
        return -1;
    int fd;
    do /* a network file system's open waits, and may be interrupted */
        fd = open(trimmed, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    return fd < 0 ? explain_open_failure(trimmed, why) : close_untrusted(fd, trust, why);
}

static int open_at(int dir_fd, const char *name, int flags)
{
    int fd;
    do
        fd = openat(dir_fd, name, flags | O_NOFOLLOW | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    return fd;
}

int tkj_os_enter_dir(int dir_fd, const char *name, tkj_trust trust)
{
    const char *why;
    const int fd = open_at(dir_fd, name, O_RDONLY | O_DIRECTORY);
    return fd >= 0 ? close_untrusted(fd, trust, &why) : -1;
}

/* Goes into the directory that a path begins with. @return its descriptor, or -1 with errno */
static int enter(int dir_fd, const char *path, size_t length, tkj_trust trust)
{
    char name[NAME_MAX + 1];
    if (length > NAME_MAX)
        return fail_with(ENAMETOOLONG);
    memcpy(name, path, length);
    name[length] = '\0';
    return tkj_os_enter_dir(dir_fd, name, trust);
}

int tkj_os_open_below(int dir_fd, const char *path, tkj_trust trust, int flags)
{
    int at = dir_fd;
    for (const char *slash; at >= 0 && (slash = strchr(path, '/')) != NULL; path = slash + 1) {
        const int next = enter(at, path, (size_t)(slash - path), trust);
        if (at != dir_fd)
            tkj_os_close(at);
        at = next;
    }
    const int fd = at >= 0 ? open_at(at, path, flags) : -1;
    if (at >= 0 && at != dir_fd)
        tkj_os_close(at);
    return fd;
}

/* O_NONBLOCK: a FIFO in the file's place must not hang the caller. */
static int open_for_reading(int dir_fd, const char *name, tkj_trust trust)
{
    const int flags = O_RDONLY | O_NONBLOCK;
    return dir_fd == AT_FDCWD ? open_at(dir_fd, name, flags)
                              : tkj_os_open_below(dir_fd, name, trust, flags);
}

/* Fills in the size and time of a file that may be read. @return 0, or -1 with errno */
static int check_file(tkj_file *file, tkj_trust trust, size_t limit)
{
    struct stat status;
    if (fstat(file->fd, &status) != 0)
        return -1;
    if (!S_ISREG(status.st_mode))
        return fail_with(EINVAL);
    if (distrust(&status, trust) != NULL)
        return fail_with(EPERM);
    if (status.st_size < 0 || (uintmax_t)status.st_size > limit)
        return fail_with(EFBIG);
    file->size = (size_t)status.st_size;
    file->modified = status.st_mtime;
    file->device = status.st_dev;
    file->inode = status.st_ino;
    return 0;
}

int tkj_os_open_file(int dir_fd, const char *name, tkj_trust trust, size_t limit, tkj_file *out)
{
    *out = (tkj_file){.fd = open_for_reading(dir_fd, name, trust)};
    if (out->fd < 0)
        return -1;
    if (check_file(out, trust, limit) == 0)
        return 0;
    tkj_os_close(out->fd);
    return -1;
}

/* Reads until size bytes or the end of the file, whichever is first. */
static int read_up_to(int fd, uint64_t offset, uint8_t *bytes, size_t size, size_t *done)
{
    *done = 0;
    while (*done < size) {
        ssize_t count = pread(fd, bytes + *done, size - *done, (off_t)(offset + *done));
        if (count < 0 && errno != EINTR)
            return -1;
        if (count == 0)
            break;
        if (count > 0)
            *done += (size_t)count;
    }
    return 0;
}

int tkj_os_read(const topk_jit_allocator *allocator, const tkj_file *file, uint64_t offset,
                size_t size, tkj_blob *out)
{
    tkj_blob bytes = {tkj_alloc(allocator, size + 1, 1), 0};
    *out = (tkj_blob){NULL, 0};
    if (bytes.bytes == NULL)
        return fail_with(ENOMEM);
    if (read_up_to(file->fd, offset, bytes.bytes, size, &bytes.size) != 0) {
        int error = errno;
        tkj_free(allocator, bytes.bytes);
        return fail_with(error);
    }
    bytes.bytes[bytes.size] = 0;
    *out = bytes;
    return 0;
}

int tkj_os_read_file(const topk_jit_allocator *allocator, int dir_fd, const char *name,
                     size_t limit, tkj_blob *out)
{
    tkj_file file;
    *out = (tkj_blob){NULL, 0};
    if (tkj_os_open_file(dir_fd, name, TKJ_TRUST_OWNER, limit, &file) != 0)
        return -1;
    int result = tkj_os_read(allocator, &file, 0, file.size, out);
    tkj_os_close(file.fd);
    return result;
}

/* Beyond RLIMIT_FSIZE a write is a signal, which ends the process. */
static bool is_within_limit(int fd, size_t size)
{
    struct rlimit limit;
    struct stat status;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return true;
    return fstat(fd, &status) != 0 || ((uintmax_t)status.st_size <= limit.rlim_cur &&
                                       size <= limit.rlim_cur - (rlim_t)status.st_size);
}

int tkj_os_write_all(int fd, const void *bytes, size_t size)
{
    const uint8_t *next = bytes;
    if (!is_within_limit(fd, size))
        return fail_with(EFBIG);
    while (size > 0) {
        ssize_t count = write(fd, next, size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return -1;
        if (count == 0) /* no progress and no reason given: never loop on it */
            return fail_with(EIO);
        next += count;
        size -= (size_t)count;
    }
    return 0;
}

mode_t tkj_os_dir_mode(tkj_trust trust)
{
    return trust == TKJ_TRUST_GROUP ? S_ISGID | 0770 : 0700;
}

mode_t tkj_os_file_mode(tkj_trust trust)
{
    return trust == TKJ_TRUST_GROUP ? 0660 : 0600;
}

/* Gives a new directory its mode, which the umask may have cut: through a descriptor, for in a
   directory of a group its name may lead elsewhere by now. */
static int share_dir(int dir_fd, const char *name)
{
    struct stat status;
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int result = fstat(fd, &status);
    if (result == 0 && status.st_uid != geteuid())
        result = fail_with(EPERM);
    if (result == 0)
        result = fchmod(fd, tkj_os_dir_mode(TKJ_TRUST_GROUP));
    tkj_os_close(fd);
    return result;
}

int tkj_os_make_dir(int dir_fd, const char *name, tkj_trust trust)
{
    if (mkdirat(dir_fd, name, tkj_os_dir_mode(trust)) != 0)
        return -1;
    return trust == TKJ_TRUST_GROUP ? share_dir(dir_fd, name) : 0;
}

/* mkdir's own errno is no guide where the directory exists: on an automounter or a read-only
   mount it may be EACCES or EROFS as well as EEXIST. */
static int make_dir(const char *path, tkj_trust trust)
{
    if (mkdir(path, tkj_os_dir_mode(trust)) == 0)
        return trust == TKJ_TRUST_GROUP ? share_dir(AT_FDCWD, path) : 0;
    int error = errno;
    struct stat status;
    if (stat(path, &status) != 0)
        return fail_with(error);
    return S_ISDIR(status.st_mode) ? 0 : fail_with(ENOTDIR);
}

int tkj_os_make_dirs(const char *path, tkj_trust trust)
{
    char prefix[PATH_MAX];
    if (copy_trimmed(path, prefix) != 0)
        return -1;
    for (char *slash = strchr(prefix + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int result = make_dir(prefix, TKJ_TRUST_OWNER); /* others' things may come to be there */
        *slash = '/';
        if (result != 0)
            return -1;
    }
    return make_dir(prefix, trust);
}

bool tkj_os_can_make_dirs(const char *path)
{
    char prefix[PATH_MAX];
    struct stat status;
    if (copy_trimmed(path, prefix) != 0)
        return false;
    while (stat(prefix, &status) != 0) {
        char *slash = strrchr(prefix, '/');
        if (errno != ENOENT || slash == NULL || prefix[1] == '\0')
            return false;
        slash[slash == prefix] = '\0';
    }
    return S_ISDIR(status.st_mode) && faccessat(AT_FDCWD, prefix, W_OK | X_OK, AT_EACCESS) == 0;
}
