/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file lock.h
 * @brief Locks on keys that the kernel of the operating system releases when their holder dies.
 *
 * One file for all keys, of which each key locks one byte; the file is never removed, so that all
 * lock the same one. It is kept on this machine where that is possible: locks of network file
 * systems may hang (pytorch#189245).
 */
#ifndef TKJ_CACHE_LOCK_H
#define TKJ_CACHE_LOCK_H

#include <limits.h>
#include <topk_jit/topk_jit.h>

#include "layer.h"

/** Its name. */
#define TKJ_LOCK_FILE "locks"

/**
 * Opens the lock file: in `runtime_dir`/topk-jit, else in /dev/shm/topk-jit-<uid>, else in the
 * root; where a group shares the cache, in the root, which all its members see.
 * @param runtime_dir  XDG_RUNTIME_DIR; NULL, relative or not there = none
 * @param root         the cache's directory, which exists
 * @return a descriptor, whose closing releases its locks; -1 if there is no place for one
 */
int tkj_lock_open(const char *runtime_dir, const char *root, tkj_trust trust);

/** Where the lock file is, or will be. */
typedef struct tkj_lock_place {
    char directory[PATH_MAX];
    int fd; /* of the file, for reading, closed by the caller; -1 = it is not there yet */
} tkj_lock_place;

/** Where tkj_lock_open would open it, for people: nothing is created. @return false if there is no
 *  place for it */
bool tkj_lock_look(const char *runtime_dir, const char *root, tkj_trust trust, tkj_lock_place *out);

/** How many keys are locked through other descriptors of the file at this moment. */
size_t tkj_lock_count(int fd);

/** What became of an attempt. */
typedef enum tkj_lock_result {
    TKJ_LOCK_HELD,
    TKJ_LOCK_BUSY,       /* another descriptor holds it, of this process or another one */
    TKJ_LOCK_IMPOSSIBLE, /* the file system has no such locks */
} tkj_lock_result;

/** Tries to lock a key; returns at once. */
tkj_lock_result tkj_lock_try(int fd, const tkj_cache_key *key);

/** Releases a key, in every process that has inherited the descriptor, too. */
void tkj_lock_release(int fd, const tkj_cache_key *key);

#endif /* TKJ_CACHE_LOCK_H */
