/* SPDX-License-Identifier: Apache-2.0 */
/** @file key.h @brief The cache key: everything that decides a kernel's code, and nothing else.
 * Pure. */
#ifndef TKJ_KEY_H
#define TKJ_KEY_H

#include <stdint.h>
#include <topk_jit/topk_jit.h>

#include "prelude.h"
#include "target.h"

#define TKJ_PREIMAGE_SIZE (TKJ_PRELUDE_SIZE + 1024)

/** A key and the text it is the digest of. */
typedef struct tkj_key {
    uint8_t digest[16]; /* XXH3-128 of preimage, canonical byte order */
    char preimage[TKJ_PREIMAGE_SIZE];
} tkj_key;

/** Digest of any bytes in canonical byte order. */
void tkj_digest(const void *bytes, size_t size, uint8_t digest[16]);

/** Tagged, length-prefixed fields: schema, template digest, spec, prelude, target. */
void tkj_key_build(const uint8_t template_digest[16], const topk_jit_spec *spec,
                   const char *prelude, tkj_target target, tkj_key *out);

#endif /* TKJ_KEY_H */
