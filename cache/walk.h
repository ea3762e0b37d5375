/* SPDX-License-Identifier: Apache-2.0 */
/** @file walk.h @brief What a cache's directory holds: its entries, and what is none. */
#ifndef TKJ_CACHE_WALK_H
#define TKJ_CACHE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <topk_jit/topk_jit.h>

#include "layer.h"

/** A regular file that has an entry's name; nothing is said of what is in it. */
typedef struct tkj_walk_entry {
    char name[TKJ_ENTRY_FILE_SIZE]; /* below the root, as tkj_entry_file makes it */
    tkj_cache_key key;              /* as the name says */
    int major;
    uint64_t size; /* bytes */
    struct timespec modified;
} tkj_walk_entry;

/** What is no entry. */
typedef enum tkj_walk_kind {
    TKJ_WALK_TEMPORARY,  /* a regular file tmp/new-*: being written, or left by the dead */
    TKJ_WALK_NO_FILE,    /* has an entry's name, and is a directory, a link, a FIFO */
    TKJ_WALK_FOREIGN,    /* nothing that this library writes or reads */
    TKJ_WALK_UNREADABLE, /* cannot be looked at, or into, or is not to be: `error` says why */
} tkj_walk_kind;

typedef struct tkj_walk_other {
    tkj_walk_kind kind;
    char *name; /* below the root; any bytes but NUL */
    int error;  /* errno if unreadable (EPERM: a directory that is not to be trusted), else 0 */
    uint64_t size;
    struct timespec modified;
} tkj_walk_other;

/** All of it, each list in the order of its names. */
typedef struct tkj_walk {
    tkj_walk_entry *entries;
    size_t entry_count;
    size_t entry_capacity;
    tkj_walk_other *others;
    size_t other_count;
    size_t other_capacity;
    bool complete; /* false: memory was short, and something is missing */
} tkj_walk;

/**
 * Lists the entries below a root. What vanishes meanwhile is not there, what comes meanwhile may be
 * missing; no file is opened or changed.
 * @param root_fd   a directory, opened with tkj_os_open_trusted_dir
 * @param[out] out  of the others only what is unreadable. Released with tkj_walk_release, also if
 *                  it is not complete
 */
void tkj_walk_entries(const topk_jit_allocator *allocator, int root_fd, tkj_trust trust,
                      tkj_walk *out);

/** As tkj_walk_entries, and the others, too: of the root itself, v1, v1/<2 hex> and tmp. What
 *  belongs there (CACHEDIR.TAG, locks, packs) is not listed; directories that do not are one of the
 *  others, whatever is in them. */
void tkj_walk_all(const topk_jit_allocator *allocator, int root_fd, tkj_trust trust, tkj_walk *out);

void tkj_walk_release(const topk_jit_allocator *allocator, tkj_walk *walk);

#endif /* TKJ_CACHE_WALK_H */
