/* SPDX-License-Identifier: Apache-2.0 */
#include "held.h"

#include <string.h>

#include "memory.h"

struct tkj_held_entry {
    tkj_held_entry *next;
    tkj_cache_key key;
    size_t size;
    uint8_t bytes[];
};

static const tkj_held_entry *find(tkj_held *held, const tkj_cache_key *key)
{
    const tkj_held_entry *entry = atomic_load_explicit(&held->first, memory_order_acquire);
    while (entry != NULL && memcmp(&entry->key, key, sizeof *key) != 0)
        entry = entry->next;
    return entry;
}

bool tkj_held_get(tkj_held *held, const topk_jit_allocator *allocator, const tkj_cache_query *query,
                  tkj_blob *bytes, tkj_entry *entry)
{
    const tkj_held_entry *found = find(held, &query->key);
    *bytes = (tkj_blob){NULL, 0};
    memset(entry, 0, sizeof *entry);
    if (found == NULL)
        return false;
    uint8_t *copy = tkj_alloc(allocator, found->size, 1);
    if (copy == NULL)
        return false;
    memcpy(copy, found->bytes, found->size);
    *bytes = (tkj_blob){copy, found->size};
    if (tkj_entry_verify(bytes, query, entry) == NULL &&
        tkj_entry_unwanted(bytes, entry, query) == NULL)
        return true;
    tkj_free(allocator, copy);
    *bytes = (tkj_blob){NULL, 0};
    memset(entry, 0, sizeof *entry);
    return false;
}

bool tkj_held_add(tkj_held *held, const topk_jit_allocator *allocator, const tkj_cache_key *key,
                  const tkj_blob *bytes)
{
    tkj_held_entry *entry = tkj_alloc(allocator, 1, sizeof *entry + bytes->size);
    if (entry == NULL)
        return false;
    entry->key = *key;
    entry->size = bytes->size;
    memcpy(entry->bytes, bytes->bytes, bytes->size);
    entry->next = atomic_load_explicit(&held->first, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&held->first, &entry->next, entry,
                                                  memory_order_release, memory_order_relaxed)) {
    }
    return true;
}

void tkj_held_release(tkj_held *held, const topk_jit_allocator *allocator)
{
    tkj_held_entry *entry = atomic_load_explicit(&held->first, memory_order_relaxed);
    while (entry != NULL) {
        tkj_held_entry *next = entry->next;
        tkj_free(allocator, entry);
        entry = next;
    }
    atomic_store_explicit(&held->first, NULL, memory_order_relaxed);
}
