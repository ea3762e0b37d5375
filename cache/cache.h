/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cache.h
 * @brief The on-disk cache: a directory of entries under their keys. Knows bytes and keys, never
 * CUDA.
 *
 * Thread-safe. Nothing is created, opened or read before the first get or put, and no file stays
 * open between them. Trouble on disk is never an error of get: it is a miss. A root that others
 * could have written to is not used, which is logged once: gets miss, puts fail.
 */
#ifndef TKJ_CACHE_CACHE_H
#define TKJ_CACHE_CACHE_H

#include <stdbool.h>
#include <topk_jit/topk_jit.h>

#include "digest.h"
#include "entry.h"
#include "log.h"
#include "root.h"

/** Key of an entry: tkj_digest of its preimage. */
typedef struct tkj_cache_key {
    uint8_t digest[TKJ_DIGEST_SIZE];
} tkj_cache_key;

typedef struct tkj_cache tkj_cache;

/**
 * @param root  absolute directory, copied; NULL = no cache: every get is a miss, every put a no-op
 * @return TOPK_JIT_OK, TOPK_JIT_OUT_OF_MEMORY
 */
topk_jit_status tkj_cache_create(const topk_jit_allocator *allocator, const tkj_logger *logger,
                                 const char *root, tkj_cache **out);

/** NULL is ignored. */
void tkj_cache_destroy(tkj_cache *cache);

/** The root, or NULL if there is none: borrowed. */
const char *tkj_cache_root(const tkj_cache *cache);

/** How a look-up ended. */
typedef enum tkj_cache_outcome {
    TKJ_CACHE_HIT,
    TKJ_CACHE_ABSENT,
    TKJ_CACHE_CORRUPT, /* something stood there that did not verify: logged, to be rewritten */
} tkj_cache_outcome;

/**
 * Reads and verifies one entry: checksum, and preimage and target equal to those given.
 * @param major    the toolchain's major version, part of the file's name
 * @param[out] bytes  on a hit the entry's bytes, owned by the caller; else empty
 * @param[out] entry  on a hit points into bytes
 */
tkj_cache_outcome tkj_cache_get(tkj_cache *cache, const tkj_cache_key *key, int major,
                                const char *preimage, const char *target, tkj_blob *bytes,
                                tkj_entry *entry);

/**
 * Publishes one encoded entry: written to a temporary file, synced, renamed, so that a reader finds
 * the old state or the new one and nothing else.
 *
 * After a failure that further stores would meet too (no space, no permission) stores pause for a
 * minute: each returns the same failure at once, without touching the disk or logging, so that a
 * full disk costs one warning and no time.
 * @return TOPK_JIT_OK (also if there is no cache), TOPK_JIT_CACHE_FAILED with the reason
 */
topk_jit_status tkj_cache_put(tkj_cache *cache, const tkj_cache_key *key, int major,
                              const tkj_blob *bytes);

#endif /* TKJ_CACHE_CACHE_H */
