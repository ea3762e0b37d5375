/* SPDX-License-Identifier: Apache-2.0 */
#include "evict.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layer.h"
#include "memory.h"

#define DIRECTORIES 256
#define SUFFIX ".tkc"

/* One entry's file. */
typedef struct used_file {
    struct timespec used;
    uint64_t size;
    char name[TKJ_ENTRY_FILE_SIZE]; /* below the root */
} used_file;

/* All of them. */
typedef struct used_files {
    const topk_jit_allocator *allocator;
    used_file *at;
    size_t count;
    size_t capacity;
    uint64_t bytes;
} used_files;

static bool is_entry_name(const char *name)
{
    size_t length = strlen(name);
    return length > strlen(SUFFIX) && strcmp(name + length - strlen(SUFFIX), SUFFIX) == 0;
}

/* @return false without memory */
static bool add(used_files *files, const used_file *file)
{
    if (files->count == files->capacity) {
        size_t capacity = files->capacity > 0 ? 2 * files->capacity : 256;
        used_file *larger = tkj_alloc(files->allocator, capacity, sizeof *larger);
        if (larger == NULL)
            return false;
        if (files->count > 0)
            memcpy(larger, files->at, files->count * sizeof *larger);
        tkj_free(files->allocator, files->at);
        files->at = larger;
        files->capacity = capacity;
    }
    files->at[files->count++] = *file;
    files->bytes += file->size;
    return true;
}

/* Describes a regular file below the root. */
static bool look_at(int root_fd, used_file *file)
{
    struct stat status;
    if (fstatat(root_fd, file->name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
        return false;
    file->used = status.st_mtim;
    file->size = (uint64_t)status.st_size;
    return true;
}

static bool collect_from(int root_fd, const char *directory_name, used_files *files)
{
    bool enough = true;
    int fd = openat(root_fd, directory_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    if (directory == NULL) {
        if (fd >= 0)
            close(fd);
        return true;
    }
    for (struct dirent *at = readdir(directory); enough && at != NULL; at = readdir(directory)) {
        used_file file;
        if (is_entry_name(at->d_name) &&
            snprintf(file.name, sizeof file.name, "%s/%s", directory_name, at->d_name) <
                (int)sizeof file.name &&
            look_at(root_fd, &file))
            enough = add(files, &file);
    }
    closedir(directory);
    return enough;
}

/* @return false without memory for all */
static bool collect(int root_fd, used_files *files)
{
    bool enough = true;
    for (unsigned i = 0; enough && i < DIRECTORIES; i++) {
        char name[16];
        snprintf(name, sizeof name, TKJ_LAYOUT_DIR "/%02x", i);
        enough = collect_from(root_fd, name, files);
    }
    return enough;
}

static int compare_use(const void *a, const void *b)
{
    const struct timespec *x = &((const used_file *)a)->used;
    const struct timespec *y = &((const used_file *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

/* What became of an entry that was to be removed. */
typedef enum fate { FATE_REMOVED, FATE_GONE, FATE_STAYS } fate;

/* Removes an entry that is as it was: one that was used or written meanwhile stays. */
static fate remove_unchanged(int root_fd, const used_file *file)
{
    used_file now = *file;
    errno = 0;
    if (look_at(root_fd, &now) && compare_use(&now, file) == 0 && now.size == file->size &&
        unlinkat(root_fd, file->name, 0) == 0)
        return FATE_REMOVED;
    return errno == ENOENT ? FATE_GONE : FATE_STAYS;
}

/* What is gone makes as much room as what is removed here: processes that start together and find
   the same entries would otherwise remove an eighth of the cache each. */
tkj_eviction tkj_evict(const topk_jit_allocator *allocator, int root_fd, uint64_t most,
                       uint64_t target, const char *keep)
{
    used_files files = {.allocator = allocator};
    tkj_eviction done = {.complete = collect(root_fd, &files)};
    done.left_bytes = files.bytes;
    if (files.bytes > most)
        qsort(files.at, files.count, sizeof files.at[0], compare_use);
    for (size_t i = 0; files.bytes > most && i < files.count && done.left_bytes > target; i++) {
        fate of = strcmp(files.at[i].name, keep) == 0 ? FATE_STAYS
                                                      : remove_unchanged(root_fd, &files.at[i]);
        done.left_bytes -= of != FATE_STAYS ? files.at[i].size : 0;
        done.removed += of == FATE_REMOVED;
        done.removed_bytes += of == FATE_REMOVED ? files.at[i].size : 0;
    }
    tkj_free(allocator, files.at);
    return done;
}
