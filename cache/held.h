/* SPDX-License-Identifier: Apache-2.0 */
/** @file held.h @brief The layer in memory: copies of entries that are on no disk. Thread-safe. */
#ifndef TKJ_CACHE_HELD_H
#define TKJ_CACHE_HELD_H

#include <stdatomic.h>
#include <topk_jit/topk_jit.h>

#include "layer.h"

/** One entry; never changes once it is in the list. */
typedef struct tkj_held_entry tkj_held_entry;

/** A list, added to at its head; zero-initialised = empty. */
typedef struct tkj_held {
    _Atomic(tkj_held_entry *) first;
} tkj_held;

/** Copies the entry of a query. @param[out] bytes  owned by the caller; empty unless found */
bool tkj_held_get(tkj_held *held, const topk_jit_allocator *allocator, const tkj_cache_query *query,
                  tkj_blob *bytes, tkj_entry *entry);

/** Adds a copy; the newest of a key is the one that is found. @return false without memory */
bool tkj_held_add(tkj_held *held, const topk_jit_allocator *allocator, const tkj_cache_key *key,
                  const tkj_blob *bytes);

/** No other thread may be inside. */
void tkj_held_release(tkj_held *held, const topk_jit_allocator *allocator);

#endif /* TKJ_CACHE_HELD_H */
