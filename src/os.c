/* SPDX-License-Identifier: Apache-2.0 */
#include "os.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"

uint64_t tkj_os_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

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

/* Code that is read back will be run: nobody but this user and root may have written it.
   (pycuda#54, cuda-python PR#2857) */
static const char *distrust(const struct stat *status)
{
    if (status->st_uid != geteuid() && status->st_uid != 0)
        return "belongs to another user";
    if ((status->st_mode & (S_IWGRP | S_IWOTH)) != 0)
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

int tkj_os_open_trusted_dir(const char *path, const char **why)
{
    char trimmed[PATH_MAX];
    *why = "cannot be opened";
    if (copy_trimmed(path, trimmed) != 0)
        return -1;
    int fd = open(trimmed, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return explain_open_failure(trimmed, why);
    struct stat status;
    if (fstat(fd, &status) != 0) {
        tkj_os_close(fd);
        return -1;
    }
    const char *flaw = distrust(&status);
    if (flaw != NULL) {
        close(fd);
        *why = flaw;
        return fail_with(EPERM);
    }
    return fd;
}

static int open_for_reading(int dir_fd, const char *name)
{
    int fd;
    do /* O_NONBLOCK: a FIFO in the file's place must not hang the caller */
        fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* @return 0 with the size of a file that may be read, or -1 with errno */
static int check_file(int fd, size_t limit, size_t *size)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return -1;
    if (!S_ISREG(status.st_mode))
        return fail_with(EINVAL);
    if (distrust(&status) != NULL)
        return fail_with(EPERM);
    if (status.st_size < 0 || (uintmax_t)status.st_size > limit)
        return fail_with(EFBIG);
    *size = (size_t)status.st_size;
    return 0;
}

/* Reads until size bytes or the end of the file, whichever is first. */
static int read_up_to(int fd, uint8_t *bytes, size_t size, size_t *done)
{
    *done = 0;
    while (*done < size) {
        ssize_t count = read(fd, bytes + *done, size - *done);
        if (count < 0 && errno != EINTR)
            return -1;
        if (count == 0)
            break;
        if (count > 0)
            *done += (size_t)count;
    }
    return 0;
}

int tkj_os_read_file(const topk_jit_allocator *allocator, int dir_fd, const char *name,
                     size_t limit, tkj_blob *out)
{
    int result = -1;
    size_t size = 0;
    tkj_blob file = {NULL, 0};
    *out = file;
    int fd = open_for_reading(dir_fd, name);
    if (fd < 0)
        return -1;
    if (check_file(fd, limit, &size) != 0)
        goto cleanup;
    file.bytes = tkj_alloc(allocator, size + 1, 1);
    if (file.bytes == NULL) {
        errno = ENOMEM;
        goto cleanup;
    }
    if (read_up_to(fd, file.bytes, size, &file.size) != 0)
        goto cleanup;
    file.bytes[file.size] = 0;
    *out = file;
    file.bytes = NULL;
    result = 0;
cleanup:
    tkj_os_close(fd);
    tkj_free(allocator, file.bytes);
    return result;
}

int tkj_os_write_all(int fd, const void *bytes, size_t size)
{
    const uint8_t *next = bytes;
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

/* mkdir's own errno is no guide where the directory exists: on an automounter or a read-only
   mount it may be EACCES or EROFS as well as EEXIST. */
static int make_dir(const char *path)
{
    if (mkdir(path, 0700) == 0)
        return 0;
    int error = errno;
    struct stat status;
    if (stat(path, &status) != 0)
        return fail_with(error);
    return S_ISDIR(status.st_mode) ? 0 : fail_with(ENOTDIR);
}

int tkj_os_make_dirs(const char *path)
{
    char prefix[PATH_MAX];
    if (copy_trimmed(path, prefix) != 0)
        return -1;
    for (char *slash = strchr(prefix + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int result = make_dir(prefix);
        *slash = '/';
        if (result != 0)
            return -1;
    }
    return make_dir(prefix);
}

/* File that holds this very object; the loader has no name for the executable but argv[0], which
   need not be a path. */
static const char *own_file(void)
{
    static const char inside = 0;
    Dl_info info;
    struct link_map *map = NULL;
    if (dladdr1(&inside, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL)
        return NULL;
    return map->l_name[0] != '\0' ? map->l_name : "/proc/self/exe";
}

topk_jit_status tkj_os_own_directory(const topk_jit_allocator *allocator, char **out)
{
    *out = NULL;
    char path[PATH_MAX];
    const char *file = own_file();
    if (file == NULL || realpath(file, path) == NULL)
        return TOPK_JIT_OK;
    char *slash = strrchr(path, '/');
    slash[slash == path] = '\0';
    *out = tkj_strdup(allocator, path);
    return *out != NULL ? TOPK_JIT_OK : TOPK_JIT_OUT_OF_MEMORY;
}

typedef struct thread_call {
    void (*function)(void *argument);
    void *argument;
} thread_call;

static void *enter_thread(void *argument)
{
    thread_call *call = argument;
    call->function(call->argument);
    return NULL;
}

int tkj_os_run_on_stack(size_t stack_size, void (*function)(void *argument), void *argument)
{
    thread_call call = {function, argument};
    pthread_t thread;
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0)
        return error;
    error = pthread_attr_setstacksize(&attributes, stack_size);
    if (error == 0) {
        /* The host's signal handlers must not run on a thread it does not know. */
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        error = pthread_create(&thread, &attributes, enter_thread, &call);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&attributes);
    if (error == 0)
        pthread_join(thread, NULL);
    return error;
}
