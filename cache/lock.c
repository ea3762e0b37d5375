/* SPDX-License-Identifier: Apache-2.0 */
#include "lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Opens the lock file, created if it is missing. Only one that is created here gets the group's
   mode: another may be a second name of any file of ours. */
static int open_file(int dir_fd, tkj_trust trust)
{
    const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    int fd = openat(dir_fd, TKJ_LOCK_FILE, flags | O_CREAT | O_EXCL, tkj_os_file_mode(trust));
    if (fd >= 0 && trust == TKJ_TRUST_GROUP)
        (void)fchmod(fd, tkj_os_file_mode(trust)); /* the umask may have cut it */
    return fd >= 0 || errno != EEXIST ? fd : openat(dir_fd, TKJ_LOCK_FILE, flags);
}

/* Locks of NFS may hang beyond any bound. (pytorch#189245) */
static bool is_on_nfs(int dir_fd)
{
    struct statfs system;
    return fstatfs(dir_fd, &system) == 0 && system.f_type == NFS_SUPER_MAGIC;
}

/* A file of one name, which cannot be another's as well. */
static bool is_lock_file(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1;
}

/* The lock file in a directory, which is created if it is missing and must be one to trust. */
static int open_in(const char *directory, tkj_trust trust)
{
    const char *why;
    if (tkj_os_make_dirs(directory, trust) != 0)
        return -1;
    int dir_fd = tkj_os_open_trusted_dir(directory, trust, &why);
    if (dir_fd < 0)
        return -1;
    int fd = is_on_nfs(dir_fd) ? -1 : open_file(dir_fd, trust);
    close(dir_fd);
    if (fd >= 0 && is_lock_file(fd))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* In a directory of ours below one that must be there: a /dev/shm that root made here, for itself,
   would be of use to nobody else. @return false also if the path is too long */
static bool name_below(const char *parent, const char *name, char path[PATH_MAX])
{
    const int length = snprintf(path, PATH_MAX, "%s/%s", parent, name);
    return length > 0 && length < PATH_MAX && access(parent, F_OK) == 0;
}

#define PLACE_COUNT 3

/* The places in their order. @return false if this one is none here */
static bool name_place(size_t index, const char *runtime_dir, const char *root, tkj_trust trust,
                       char path[PATH_MAX])
{
    if (index == PLACE_COUNT - 1) {
        const int length = snprintf(path, PATH_MAX, "%s", root);
        return length > 0 && length < PATH_MAX;
    }
    if (trust != TKJ_TRUST_OWNER)
        return false;
    if (index == 0)
        return runtime_dir != NULL && tkj_os_is_absolute(runtime_dir) &&
               name_below(runtime_dir, "topk-jit", path);
    char name[64];
    snprintf(name, sizeof name, "topk-jit-%lu", (unsigned long)geteuid());
    return name_below("/dev/shm", name, path);
}

int tkj_lock_open(const char *runtime_dir, const char *root, tkj_trust trust)
{
    int fd = -1;
    char path[PATH_MAX];
    for (size_t i = 0; i < PLACE_COUNT && fd < 0; i++)
        if (name_place(i, runtime_dir, root, trust, path))
            fd = open_in(path, trust);
    return fd;
}

/* What open_in would find, or could make. */
static bool look_in(const char *directory, tkj_trust trust, int *fd)
{
    const char *why;
    *fd = -1;
    const int dir_fd = tkj_os_open_trusted_dir(directory, trust, &why);
    if (dir_fd < 0)
        return errno == ENOENT && tkj_os_can_make_dirs(directory);
    bool usable = !is_on_nfs(dir_fd);
    if (usable) {
        *fd = openat(dir_fd, TKJ_LOCK_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        const bool is_missing = *fd < 0 && errno == ENOENT;
        usable = (is_missing || is_lock_file(*fd)) &&
                 faccessat(dir_fd, is_missing ? "." : TKJ_LOCK_FILE, W_OK, AT_EACCESS) == 0;
    }
    close(dir_fd);
    if (!usable && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return usable;
}

bool tkj_lock_look(const char *runtime_dir, const char *root, tkj_trust trust, tkj_lock_place *out)
{
    for (size_t i = 0; i < PLACE_COUNT; i++)
        if (name_place(i, runtime_dir, root, trust, out->directory) &&
            look_in(out->directory, trust, &out->fd))
            return true;
    return false;
}

/* The byte of a key: its low 62 bits, for an offset is not negative. */
static struct flock byte_of(const tkj_cache_key *key, short type)
{
    uint64_t bits = 0;
    for (size_t i = TKJ_DIGEST_SIZE - sizeof bits; i < TKJ_DIGEST_SIZE; i++)
        bits = bits << 8 | key->digest[i];
    return (struct flock){
        .l_type = type,
        .l_whence = SEEK_SET,
        .l_start = (off_t)(bits & (UINT64_MAX >> 2)),
        .l_len = 1,
    };
}

/* Locks of the open file, not of the process: those vanish when any descriptor of the file is
   closed, whoever opened it, and do not keep threads apart. */
static int set_lock(int fd, const tkj_cache_key *key, short type)
{
    struct flock lock = byte_of(key, type);
    int result;
    do
        result = fcntl(fd, F_OFD_SETLK, &lock);
    while (result != 0 && errno == EINTR);
    return result;
}

tkj_lock_result tkj_lock_try(int fd, const tkj_cache_key *key)
{
    if (set_lock(fd, key, F_WRLCK) == 0)
        return TKJ_LOCK_HELD;
    return errno == EAGAIN || errno == EACCES ? TKJ_LOCK_BUSY : TKJ_LOCK_IMPOSSIBLE;
}

void tkj_lock_release(int fd, const tkj_cache_key *key)
{
    (void)set_lock(fd, key, F_UNLCK);
}

size_t tkj_lock_count(int fd)
{
    size_t count = 0;
    off_t start = 0;
    for (;;) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start};
        if (fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK)
            return count;
        count++;
        if (lock.l_len == 0)
            return count;
        start = lock.l_start + lock.l_len;
    }
}
