/* SPDX-License-Identifier: Apache-2.0 */
/** @file unpack_store.h @brief Entries of packs, stored in the user's directory. */
#ifndef TKJ_WARM_UNPACK_STORE_H
#define TKJ_WARM_UNPACK_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <topk_jit/topk_jit.h>

#include "layer.h"
#include "pack_open.h"

/** An entry of a pack, and what became of it. */
typedef struct warm_unpacked {
    const warm_opened_pack *pack; /* borrowed */
    tkj_pack_record record;
    tkj_cache_key key;
    bool already_there; /* exactly this one */
} warm_unpacked;

typedef struct warm_unpack {
    warm_unpacked *entries; /* owned */
    size_t count;
    size_t already_there;
    uint64_t bytes; /* of the others */
} warm_unpack;

/**
 * Stores each entry that is not there. One that is there and differs is replaced: it is damaged, or
 * of another compiler.
 * @param looks     finds out what would be done, and does nothing
 * @param[out] out  released with warm_unpack_release, also after a failure
 * @return false, after one line on stderr, if an entry could not be stored or is gone again
 */
bool warm_unpack_store(topk_jit_context *context, const warm_opened_pack *packs, size_t count,
                       bool looks, warm_unpack *out);

void warm_unpack_release(warm_unpack *unpack);

#endif /* TKJ_WARM_UNPACK_STORE_H */
