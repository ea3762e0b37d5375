/* SPDX-License-Identifier: Apache-2.0 */
#include "publish.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAME_SIZE 64

/* One without content is of a process that died before it wrote it. */
static void remove_empty_tag(int root_fd)
{
    struct stat status;
    if (fstatat(root_fd, TKJ_PUBLISH_TAG, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(status.st_mode) && status.st_size == 0)
        unlinkat(root_fd, TKJ_PUBLISH_TAG, 0);
}

/* A file of one fixed content: whoever comes first writes it. It matters to backups only, so its
   failures are nobody's. */
static void write_tag(int root_fd, tkj_trust trust)
{
    static const char tag[] =
        "Signature: 8a477f597d28d172789f06886806bc55\n"
        "# This file is a cache directory tag created by topk_jit.\n"
        "# For information about cache directory tags see https://bford.info/cachedir/\n";
    remove_empty_tag(root_fd);
    int fd = openat(root_fd, TKJ_PUBLISH_TAG, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    tkj_os_file_mode(trust));
    if (fd < 0)
        return;
    int written = tkj_os_write_all(fd, tag, sizeof tag - 1);
    if (trust == TKJ_TRUST_GROUP)
        (void)fchmod(fd, tkj_os_file_mode(trust)); /* the umask may have cut it */
    if (close(fd) != 0 || written != 0)
        unlinkat(root_fd, TKJ_PUBLISH_TAG, 0);
}

/* Opens a directory, created if it is missing; one that is not to be trusted is none. @return a
   descriptor, or -1 with errno */
static int enter_dir(int dir_fd, const char *name, tkj_trust trust)
{
    if (tkj_os_make_dir(dir_fd, name, trust) != 0 && errno != EEXIST)
        return -1;
    return tkj_os_enter_dir(dir_fd, name, trust);
}

/* Which step it was that enter_dir failed at, by errno. */
static const char *name_step(const char *otherwise)
{
    return errno == EPERM ? "a directory belongs to another user or others can write it"
                          : otherwise;
}

/* Opens the directory of a file below the root, with each that leads to it. @return as above; leaf:
   the name of the file there */
static int enter_dirs(int root_fd, const char *name, tkj_trust trust, const char **leaf)
{
    char part[NAME_SIZE];
    int fd = openat(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *leaf = name;
    for (const char *slash = strchr(name, '/'); fd >= 0 && slash != NULL;
         slash = strchr(*leaf, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - *leaf), *leaf);
        int below = enter_dir(fd, part, trust);
        tkj_os_close(fd);
        fd = below;
        *leaf = slash + 1;
    }
    return fd;
}

static bool is_stale(int dir_fd, const char *name, time_t now)
{
    struct stat status;
    return strncmp(name, TKJ_PUBLISH_PREFIX, strlen(TKJ_PUBLISH_PREFIX)) == 0 &&
           fstatat(dir_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
           tkj_os_is_far(status.st_mtime, now, TKJ_PUBLISH_STALE_SECONDS);
}

/* Finds what dead processes left. @return how many */
static size_t sweep(int tmp_fd, bool removes)
{
    size_t count = 0;
    int fd = openat(tmp_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    DIR *directory = fdopendir(fd);
    if (directory == NULL) {
        close(fd);
        return 0;
    }
    time_t now = time(NULL);
    for (struct dirent *file = readdir(directory); file != NULL; file = readdir(directory)) {
        if (!is_stale(tmp_fd, file->d_name, now))
            continue;
        count++;
        if (removes)
            unlinkat(tmp_fd, file->d_name, 0);
    }
    closedir(directory);
    return count;
}

size_t tkj_publish_count_stale(int root_fd, tkj_trust trust)
{
    const int fd = tkj_os_enter_dir(root_fd, TKJ_PUBLISH_DIR, trust);
    const size_t count = fd >= 0 ? sweep(fd, false) : 0;
    if (fd >= 0)
        close(fd);
    return count;
}

/* Creates a file of a new name. Process ids do not tell hosts on one file system apart, so the
   name is random, and O_EXCL makes sure. @return a descriptor, or -1 with errno */
static int create_temporary(int tmp_fd, char name[NAME_SIZE])
{
    int fd = -1;
    for (int attempt = 0; attempt < 16; attempt++) {
        uint64_t number;
        if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number)
            number = tkj_os_now_ns() ^ ((uint64_t)getpid() << 32);
        snprintf(name, NAME_SIZE, TKJ_PUBLISH_PREFIX "%016" PRIx64, number);
        fd = openat(tmp_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 || (errno != EEXIST && errno != EINTR))
            break;
    }
    return fd;
}

static int sync_file(int fd)
{
    int result;
    do
        result = fsync(fd);
    while (result != 0 && errno == EINTR);
    return result;
}

/* On NFS and with quotas, close is where a lost write shows. After EINTR the descriptor is gone
   and what fsync promised still holds. */
static int close_file(int fd)
{
    return close(fd) == 0 || errno == EINTR ? 0 : -1;
}

/* Writes the bytes to a new file in tmp and renames it to its name in its directory. */
static int write_and_rename(int dir_fd, int tmp_fd, const char *name, const tkj_blob *bytes,
                            tkj_trust trust, const char **step)
{
    int error;
    char temporary[NAME_SIZE];
    *step = "no temporary file can be created";
    int fd = create_temporary(tmp_fd, temporary);
    if (fd < 0)
        return -1;
    *step = "an entry cannot be written";
    if (tkj_os_write_all(fd, bytes->bytes, bytes->size) != 0)
        goto cleanup;
    *step = "an entry cannot be shared";
    if (trust == TKJ_TRUST_GROUP && fchmod(fd, tkj_os_file_mode(trust)) != 0)
        goto cleanup;
    *step = "an entry cannot be synced";
    if (sync_file(fd) != 0)
        goto cleanup;
    *step = "an entry cannot be closed";
    int closing = fd;
    fd = -1;
    if (close_file(closing) != 0)
        goto cleanup;
    *step = "an entry cannot be renamed";
    if (renameat(tmp_fd, temporary, dir_fd, name) == 0)
        return 0;
cleanup:
    error = errno;
    if (fd >= 0)
        close(fd);
    unlinkat(tmp_fd, temporary, 0);
    errno = error;
    return -1;
}

int tkj_publish(int root_fd, const char *name, const tkj_blob *bytes, tkj_trust trust,
                const char **step)
{
    const char *leaf;
    write_tag(root_fd, trust);
    int dir_fd = enter_dirs(root_fd, name, trust, &leaf);
    if (dir_fd < 0) {
        *step = name_step("no directory can be created");
        return -1;
    }
    int result = -1;
    int tmp_fd = enter_dir(root_fd, TKJ_PUBLISH_DIR, trust);
    if (tmp_fd >= 0) {
        sweep(tmp_fd, true);
        result = write_and_rename(dir_fd, tmp_fd, leaf, bytes, trust, step);
        tkj_os_close(tmp_fd);
    } else {
        *step = name_step("the directory of temporary files cannot be opened");
    }
    tkj_os_close(dir_fd);
    return result;
}
