/* SPDX-License-Identifier: Apache-2.0 */
#include "new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "complain.h"
#include "ending_signals.h"
#include "os.h"

static bool refuse(const char *path, const char *why)
{
    warm_complain("%s: %s", path, why);
    return false;
}

bool warm_new_file_check(const char *path, bool replaces)
{
    struct stat status;
    if (lstat(path, &status) != 0)
        return errno == ENOENT || refuse(path, strerror(errno));
    if (!S_ISREG(status.st_mode)) /* the target of a link is nobody's to guess */
        return refuse(path, "it is there, and no regular file");
    return replaces || refuse(path, "it is already there; --force replaces it");
}

/* ---- signals ---- */

static void hold_signals(warm_new_file *file)
{
    file->ends = warm_ending_signals();
    pthread_sigmask(SIG_BLOCK, &file->ends, &file->before);
}

/** Whether one of them arrived: it does what it does when they are let through again. */
static bool is_to_end(const warm_new_file *file)
{
    sigset_t pending;
    sigpending(&pending);
    sigandset(&pending, &pending, &file->ends);
    return !sigisemptyset(&pending);
}

/* ---- the file ---- */

/** @return false if the name does not fit */
static bool name_temporary(const char *path, char name[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    const int folder = slash != NULL ? (int)(slash + 1 - path) : 0;
    return snprintf(name, PATH_MAX, "%.*s" WARM_NEW_FILE_PREFIX "XXXXXX", folder, path) < PATH_MAX;
}

bool warm_new_file_open(const char *path, bool replaces, warm_new_file *out)
{
    *out = (warm_new_file){.path = path, .replaces = replaces, .fd = -1};
    hold_signals(out);
    if (!name_temporary(path, out->temporary))
        errno = ENAMETOOLONG;
    else
        out->fd = mkostemp(out->temporary, O_CLOEXEC);
    if (out->fd >= 0)
        return true;
    out->temporary[0] = '\0'; /* there is none */
    return refuse(path, strerror(errno));
}

bool warm_new_file_write(warm_new_file *file, const void *bytes, size_t size)
{
    if (is_to_end(file))
        return false;
    return tkj_os_write_all(file->fd, bytes, size) == 0 || refuse(file->path, strerror(errno));
}

/** Not every file system can rename without replacing: NFS can link. */
static int rename_to_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if ((errno != EINVAL && errno != ENOSYS) || link(from, to) != 0)
        return -1;
    unlink(from);
    return 0;
}

/** The mode is set here, for the umask has cut it. After EINTR of close the descriptor is gone and
 *  what fsync promised still holds. @return 0, or -1 with errno */
static int complete(warm_new_file *file)
{
    if (fchmod(file->fd, 0644) != 0 || fsync(file->fd) != 0)
        return -1;
    const int fd = file->fd;
    file->fd = -1;
    return close(fd) == 0 || errno == EINTR ? 0 : -1;
}

/** @return 0, or -1 with errno */
static int put_in_place(const warm_new_file *file)
{
    return file->replaces ? rename(file->temporary, file->path)
                          : rename_to_new(file->temporary, file->path);
}

bool warm_new_file_finish(warm_new_file *file)
{
    const bool placed = complete(file) == 0 && !is_to_end(file) && put_in_place(file) == 0;
    if (placed)
        file->temporary[0] = '\0';
    else if (!is_to_end(file))
        refuse(file->path, strerror(errno));
    warm_new_file_abandon(file);
    return placed;
}

void warm_new_file_abandon(warm_new_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
    if (file->temporary[0] != '\0')
        unlink(file->temporary);
    file->temporary[0] = '\0';
    pthread_sigmask(SIG_SETMASK, &file->before, NULL);
}
