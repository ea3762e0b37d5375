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
   would be of use to nobody else. @return -1 also if the path is too long */
static int open_below(const char *parent, const char *name)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", parent, name);
    if (length <= 0 || (size_t)length >= sizeof path || access(parent, F_OK) != 0)
        return -1;
    return open_in(path, TKJ_TRUST_OWNER);
}

int tkj_lock_open(const char *runtime_dir, const char *root, tkj_trust trust)
{
    int fd = -1;
    char name[64];
    snprintf(name, sizeof name, "topk-jit-%lu", (unsigned long)geteuid());
    if (trust == TKJ_TRUST_OWNER && runtime_dir != NULL && tkj_os_is_absolute(runtime_dir))
        fd = open_below(runtime_dir, "topk-jit");
    if (trust == TKJ_TRUST_OWNER && fd < 0)
        fd = open_below("/dev/shm", name);
    return fd >= 0 ? fd : open_in(root, trust);
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
