/* SPDX-License-Identifier: Apache-2.0 */
#include "evict.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int compare_use(const void *a, const void *b)
{
    const struct timespec *x = &((const tkj_walk_entry *)a)->modified;
    const struct timespec *y = &((const tkj_walk_entry *)b)->modified;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

static bool is_unchanged(int root_fd, const char *name, uint64_t size, struct timespec modified)
{
    struct stat now;
    return fstatat(root_fd, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(now.st_mode) &&
           (uint64_t)now.st_size == size && now.st_mtim.tv_sec == modified.tv_sec &&
           now.st_mtim.tv_nsec == modified.tv_nsec;
}

tkj_removal tkj_evict_file(int root_fd, const char *name, uint64_t size, struct timespec modified)
{
    errno = 0;
    if (is_unchanged(root_fd, name, size, modified) && unlinkat(root_fd, name, 0) == 0)
        return TKJ_REMOVAL_DONE;
    return errno == ENOENT ? TKJ_REMOVAL_GONE : TKJ_REMOVAL_STAYS;
}

void tkj_evict_order(tkj_walk_entry *entries, size_t count)
{
    if (count > 1)
        qsort(entries, count, sizeof entries[0], compare_use);
}

static uint64_t bytes_of(const tkj_walk *walk)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < walk->entry_count; i++)
        bytes += walk->entries[i].size;
    return bytes;
}

/* What is gone makes as much room as what is removed here: processes that start together and find
   the same entries would otherwise remove an eighth of the cache each. */
tkj_eviction tkj_evict(const topk_jit_allocator *allocator, int root_fd, tkj_trust trust,
                       uint64_t most, uint64_t target, const char *keep)
{
    tkj_walk walk;
    tkj_walk_entries(allocator, root_fd, trust, &walk);
    tkj_eviction done = {.complete = walk.complete, .left_bytes = bytes_of(&walk)};
    const bool needed = done.left_bytes > most;
    if (needed)
        tkj_evict_order(walk.entries, walk.entry_count);
    for (size_t i = 0; needed && i < walk.entry_count && done.left_bytes > target; i++) {
        const tkj_walk_entry *entry = &walk.entries[i];
        tkj_removal of = strcmp(entry->name, keep) == 0
                             ? TKJ_REMOVAL_STAYS
                             : tkj_evict_file(root_fd, entry->name, entry->size, entry->modified);
        done.left_bytes -= of != TKJ_REMOVAL_STAYS ? entry->size : 0;
        done.removed += of == TKJ_REMOVAL_DONE;
        done.removed_bytes += of == TKJ_REMOVAL_DONE ? entry->size : 0;
    }
    tkj_walk_release(allocator, &walk);
    return done;
}
