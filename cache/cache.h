/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cache.h
 * @brief The cache: layers of entries under their keys, in memory and on disk. Knows bytes and
 * keys, never CUDA.
 *
 * Layers are searched in this order: what is held in memory; packs and directories that are only
 * read; the user's directory, to which new entries are written.
 *
 * Thread-safe. Nothing is created, opened or read before the first get or put, and no file stays
 * open between them, but one for the time that this process is the one to compile a kernel.
 * Trouble on disk is never an error of get: it is a miss. A directory or pack that others could
 * have written to is not used, which is logged once.
 */
#ifndef TKJ_CACHE_CACHE_H
#define TKJ_CACHE_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <topk_jit/topk_jit.h>

#include "entry.h"
#include "layer.h"
#include "log.h"
#include "root.h"
#include "text.h"

typedef struct tkj_cache tkj_cache;

/** Strings are copied; NULL = there is none. */
typedef struct tkj_cache_options {
    const char *root;        /* the user's directory: absolute */
    const char *ro_dirs;     /* absolute paths of packs and read-only directories, with colons */
    const char *installed;   /* one more of them, the last; it need not exist */
    const char *runtime_dir; /* where locks are kept by preference: XDG_RUNTIME_DIR */
    topk_jit_mode mode;      /* any but the default */
    tkj_trust trust;
    uint64_t max_bytes;       /* of entries in the user's directory; UINT64_MAX = no limit */
    uint64_t lock_timeout_ns; /* of a wait for another process; 0 = none */
} tkj_cache_options;

/** What a cache did so far; times in nanoseconds. */
typedef struct tkj_cache_counters {
    atomic_uint_fast64_t hits[TKJ_LAYER_KINDS], corrupt, stores, failed_stores, evictions, waits,
        lock_timeouts, bytes_read, bytes_written, bytes_evicted, lookup_ns, wait_ns, store_ns;
} tkj_cache_counters;

/** @return TOPK_JIT_OK, TOPK_JIT_OUT_OF_MEMORY */
topk_jit_status tkj_cache_create(const topk_jit_allocator *allocator, const tkj_logger *logger,
                                 const tkj_cache_options *options, tkj_cache **out);

/** NULL is ignored. */
void tkj_cache_destroy(tkj_cache *cache);

/** In a child after fork: locks are dropped, what is in memory stays. One thread, before others
 *  use the cache. */
void tkj_cache_after_fork(tkj_cache *cache);

/** The user's directory, or NULL if there is none: borrowed. */
const char *tkj_cache_root(const tkj_cache *cache);

/** True if a put writes to disk: the mode is auto and there is a directory. */
bool tkj_cache_writes(const tkj_cache *cache);

tkj_cache_counters *tkj_cache_counts(tkj_cache *cache);

/**
 * Reads and verifies one entry: checksum, and everything that the query asks for.
 * @param[in,out] layer  number of the first layer to be searched, 0 for all of them; on a hit the
 *                       number of the one that has it, so that a caller who cannot use what it got
 *                       goes on behind it
 * @param[out] bytes  on a hit the entry's bytes, owned by the caller; else empty
 * @param[out] entry  on a hit points into bytes
 */
tkj_cache_outcome tkj_cache_get(tkj_cache *cache, const tkj_cache_query *query, size_t *layer,
                                tkj_blob *bytes, tkj_entry *entry);

/**
 * Looks where new entries come to be: in memory, then in the user's directory. For whoever searched
 * all layers and waited since; nothing is logged.
 * @return false if there is none
 */
bool tkj_cache_get_new(tkj_cache *cache, const tkj_cache_query *query, tkj_blob *bytes,
                       tkj_entry *entry);

/** As tkj_cache_get, for people who only want to know: nothing is counted, logged or touched. */
tkj_cache_outcome tkj_cache_peek(tkj_cache *cache, const tkj_cache_query *query, size_t *layer,
                                 tkj_blob *bytes, tkj_entry *entry);

/** Where a layer is, for people: its path, or "memory". Borrowed. @param layer  of a hit */
const char *tkj_cache_layer_name(const tkj_cache *cache, size_t layer);

/** Number of the last layer, the user's directory; beyond all layers if there is none, or no memory
 *  to find them. */
size_t tkj_cache_user_layer(tkj_cache *cache);

/** What one layer on disk says to a query. */
typedef struct tkj_cache_answer {
    tkj_layer_kind kind;
    const char *path; /* of the directory or the pack: borrowed */
    tkj_cache_outcome outcome;
    tkj_layer_note note;
    tkj_blob bytes;  /* on a hit the entry's, else empty: owned by the caller */
    tkj_entry entry; /* on a hit points into bytes */
} tkj_cache_answer;

/**
 * Asks one layer on disk, for people who want to hear all of them: nothing is counted, logged or
 * touched.
 * @param layer     its number: 1 is the first one on disk, in the order of the search
 * @param[out] out  released with tkj_cache_answer_release
 * @return false, and nothing is set, past the last one, and without memory to find the layers
 */
bool tkj_cache_ask(tkj_cache *cache, const tkj_cache_query *query, size_t layer,
                   tkj_cache_answer *out);
void tkj_cache_answer_release(const tkj_cache *cache, tkj_cache_answer *answer);

/**
 * Where a query was looked for on disk, and why it did not match there: one clause a layer.
 * @return false if there is no place, of which nothing is said
 */
bool tkj_cache_explain_miss(tkj_cache *cache, const tkj_cache_query *query, tkj_text *out);

/**
 * Publishes one encoded entry in the user's directory: written to a temporary file, synced,
 * renamed, so that a reader finds the old state or the new one and nothing else. Removes the least
 * recently used entries where the directory then holds too much.
 *
 * After a failure that further stores would meet too (no space, no permission) stores pause for a
 * minute: each returns the same failure at once, without touching the disk or logging, so that a
 * full disk costs one warning and no time.
 * @return TOPK_JIT_OK (also if the cache does not write), TOPK_JIT_CACHE_FAILED with the reason
 */
topk_jit_status tkj_cache_put(tkj_cache *cache, const tkj_cache_key *key, int major,
                              const tkj_blob *bytes);

/** Holds a copy of an encoded entry in memory, for what is on no disk. Without memory for it
 *  nothing happens. */
void tkj_cache_hold(tkj_cache *cache, const tkj_cache_key *key, const tkj_blob *bytes);

/** This process's turn to compile one kernel, from tkj_cache_await_turn to tkj_cache_end_turn. */
typedef struct tkj_cache_turn {
    tkj_cache_key key;
    int fd; /* of the lock; -1 = none is held */
} tkj_cache_turn;

/**
 * Waits while another process, or another context of this one, compiles the kernel of a query;
 * at most as long as the options say.
 * @param[out] turn   ended by the caller in either case
 * @param[out] bytes  as in tkj_cache_get, of the entry that was stored meanwhile
 * @return true if there is such an entry; false: the caller compiles
 */
bool tkj_cache_await_turn(tkj_cache *cache, const tkj_cache_query *query, tkj_cache_turn *turn,
                          tkj_blob *bytes, tkj_entry *entry);

void tkj_cache_end_turn(tkj_cache *cache, tkj_cache_turn *turn);

#endif /* TKJ_CACHE_CACHE_H */
