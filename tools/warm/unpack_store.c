/* SPDX-License-Identifier: Apache-2.0 */
#include "unpack_store.h"

#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "context.h"
#include "memory.h"
#include "text.h"

/* The name of an entry's file has no room for more digits. */
#define MAJOR_MAX 999999

static tkj_blob bytes_of(const warm_unpacked *at)
{
    return warm_pack_entry(at->pack, &at->record);
}

/** Whether exactly this entry is in the user's directory. @param peeks  leaves no trace */
static bool is_there(tkj_cache *cache, const warm_unpacked *at, bool peeks)
{
    const tkj_blob bytes = bytes_of(at);
    tkj_blob found;
    tkj_entry entry, same;
    size_t layer = tkj_cache_user_layer(cache);
    if (tkj_entry_decode(bytes.bytes, bytes.size, &entry) != NULL)
        return false; /* the pack is sound: it does not happen */
    const tkj_cache_query query = {
        .key = at->key,
        .major = (int)at->record.major,
        .preimage = entry.preimage,
        .target = entry.target,
        .kind = entry.kind,
    };
    if ((peeks ? tkj_cache_peek : tkj_cache_get)(cache, &query, &layer, &found, &same) !=
        TKJ_CACHE_HIT)
        return false;
    const bool equal =
        found.size == bytes.size && memcmp(found.bytes, bytes.bytes, bytes.size) == 0;
    tkj_free(&tkj_default_allocator, found.bytes);
    return equal;
}

static bool list(const warm_opened_pack *packs, size_t count, warm_unpack *out)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += packs[i].index.count;
    out->entries = calloc(total + 1, sizeof *out->entries); /* one more: none is no error */
    if (out->entries == NULL) {
        warm_complain("there is no memory for the list of entries");
        return false;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < packs[i].index.count; k++) {
            warm_unpacked *at = &out->entries[out->count++];
            at->pack = &packs[i];
            at->record = tkj_pack_at(&packs[i].index, k);
            memcpy(at->key.digest, at->record.key, TKJ_DIGEST_SIZE);
        }
    return true;
}

/** What no store could make good. */
static bool is_possible(const topk_jit_context *context, const warm_unpack *unpack)
{
    const uint64_t most = context->config.values.cache_max_bytes;
    uint64_t bytes = 0;
    for (size_t i = 0; i < unpack->count; i++) {
        const warm_unpacked *at = &unpack->entries[i];
        bytes += at->record.size;
        if (at->record.major > MAJOR_MAX) {
            warm_complain("%s: an entry in it is of CUDA %lu, which there is not", at->pack->path,
                          (unsigned long)at->record.major);
            return false;
        }
    }
    if (bytes <= most)
        return true;
    warm_complain("there are %llu bytes of entries, and the cache may hold %llu "
                  "(TOPK_JIT_CACHE_MAX_BYTES)",
                  (unsigned long long)bytes, (unsigned long long)most);
    return false;
}

/** @return false after a failure */
static bool store(tkj_cache *cache, bool looks, warm_unpacked *at)
{
    const tkj_blob bytes = bytes_of(at);
    at->already_there = is_there(cache, at, looks);
    if (at->already_there || looks ||
        tkj_cache_put(cache, &at->key, (int)at->record.major, &bytes) == TOPK_JIT_OK)
        return true;
    warm_complain("%s", topk_jit_last_error()->message);
    return false;
}

/** The cache may have been full, of entries that are used more. */
static bool are_all_there(tkj_cache *cache, const warm_unpack *unpack)
{
    size_t gone = 0;
    if (tkj_cache_counts(cache)->evictions == 0)
        return true;
    for (size_t i = 0; i < unpack->count; i++)
        gone += !is_there(cache, &unpack->entries[i], true);
    if (gone > 0)
        warm_complain("%zu of the entries %s removed again, for the cache is full "
                      "(TOPK_JIT_CACHE_MAX_BYTES)",
                      gone, tkj_plural(gone, "was", "were"));
    return gone == 0;
}

bool warm_unpack_store(topk_jit_context *context, const warm_opened_pack *packs, size_t count,
                       bool looks, warm_unpack *out)
{
    *out = (warm_unpack){.entries = NULL};
    if (!list(packs, count, out) || !is_possible(context, out))
        return false;
    for (size_t i = 0; i < out->count; i++) {
        warm_unpacked *at = &out->entries[i];
        if (!store(context->cache, looks, at))
            return false;
        out->already_there += at->already_there;
        out->bytes += at->already_there ? 0 : at->record.size;
    }
    return are_all_there(context->cache, out);
}

void warm_unpack_release(warm_unpack *unpack)
{
    free(unpack->entries);
}
