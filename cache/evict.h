/* SPDX-License-Identifier: Apache-2.0 */
/** @file evict.h @brief Removes the least recently used entries of a directory. */
#ifndef TKJ_CACHE_EVICT_H
#define TKJ_CACHE_EVICT_H

#include <stdbool.h>
#include <stdint.h>
#include <topk_jit/topk_jit.h>

#include "walk.h"

/** What was found and done, in entries and bytes. */
typedef struct tkj_eviction {
    bool complete; /* all entries were counted */
    uint64_t left_bytes;
    uint64_t removed;
    uint64_t removed_bytes;
} tkj_eviction;

/**
 * Counts the entries below a cache root and, if they have more bytes than `most`, removes the
 * oldest by file time until at most `target` are left. An entry that changes meanwhile stays; files
 * that are no entries are neither counted nor touched. Where a directory cannot be read, or memory
 * is short, less is removed: nobody's failure.
 * @param keep  an entry that stays however old: "v1/<2 hex>/<name>"
 */
tkj_eviction tkj_evict(const topk_jit_allocator *allocator, int root_fd, tkj_trust trust,
                       uint64_t most, uint64_t target, const char *keep);

/** What became of a file that was to be removed. */
typedef enum tkj_removal {
    TKJ_REMOVAL_DONE,
    TKJ_REMOVAL_GONE,  /* it was not there any more */
    TKJ_REMOVAL_STAYS, /* it changed since it was listed, or cannot be removed: errno, else 0 */
} tkj_removal;

/** Removes a regular file below a root that is as it was: one that was used or written since stays.
 *  @param size, modified  as it was listed */
tkj_removal tkj_evict_file(int root_fd, const char *name, uint64_t size, struct timespec modified);

/** Sorts entries: the one whose use is longest ago first; of the same time, in no order. */
void tkj_evict_order(tkj_walk_entry *entries, size_t count);

#endif /* TKJ_CACHE_EVICT_H */
