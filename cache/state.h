/* SPDX-License-Identifier: Apache-2.0 */
/** @file state.h @brief What the files of the cache share: its state. */
#ifndef TKJ_CACHE_STATE_H
#define TKJ_CACHE_STATE_H

#include <pthread.h>
#include <sys/types.h>

#include "cache.h"
#include "held.h"

/* Compilations at a time whose locks a child after fork can drop; more are made all the same. */
#define TKJ_TURNS_MAX 64

/** Why a store failed. */
typedef struct tkj_store_failure {
    int error;   /* errno */
    bool logged; /* as distrust of the root, which is logged once in a cache's life */
    char reason[900];
} tkj_store_failure;

/** A lock that this process holds: a descriptor, and the file that it was opened on. */
typedef struct tkj_held_lock {
    int fd; /* -1 = none */
    dev_t device;
    ino_t inode;
} tkj_held_lock;

struct tkj_cache {
    topk_jit_allocator allocator;
    tkj_logger logger;
    tkj_layer_reader reader;
    topk_jit_mode mode;
    char *root; /* the strings of the options; NULL = there is none */
    char *ro_dirs;
    char *installed;
    char *runtime_dir;
    uint64_t max_bytes;
    uint64_t lock_timeout_ns;
    tkj_cache_counters counters;
    tkj_held held;

    pthread_mutex_t finding; /* held while the layers are found, and no longer */
    atomic_bool found;       /* then nothing of the layers but what they complained of changes */
    tkj_layers layers;

    pthread_mutex_t lock;   /* guards all below; never held across a system call */
    uint64_t impatient_end; /* monotonic; nobody waits for another process before it */
    uint64_t pause_end;     /* monotonic; stores before it meet `paused_by` */
    tkj_store_failure paused_by;
    bool evicting;       /* a thread is at it */
    uint64_t used_bytes; /* of entries in the root, as far as this process knows; while a thread
                            evicts, of what the others store */
    bool used_is_known;  /* they were counted once */
    tkj_held_lock turns[TKJ_TURNS_MAX];
};

/** Logs once that a layer cannot be used. */
void tkj_cache_complain(tkj_cache *cache, tkj_layer *layer, const char *why);

/** The layers, found on first use; false without memory for them. */
bool tkj_cache_layers(tkj_cache *cache);

#endif /* TKJ_CACHE_STATE_H */
