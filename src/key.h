/* SPDX-License-Identifier: Apache-2.0 */
/** @file key.h @brief The cache key: everything that decides a kernel's code, and nothing else.
 * Pure. */
#ifndef TKJ_KEY_H
#define TKJ_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <topk_jit/topk_jit.h>

#include "digest.h"
#include "prelude.h"
#include "target.h"

#define TKJ_PREIMAGE_SIZE (TKJ_PRELUDE_SIZE + 1024)

/** A key and the text it is the digest of. */
typedef struct tkj_key {
    uint8_t digest[TKJ_DIGEST_SIZE]; /* XXH3-128 of preimage, canonical byte order */
    char preimage[TKJ_PREIMAGE_SIZE];
} tkj_key;

/** Tagged, length-prefixed fields: schema, template digest, spec, prelude, target. */
void tkj_key_build(const uint8_t template_digest[TKJ_DIGEST_SIZE], const topk_jit_spec *spec,
                   const char *prelude, tkj_target target, tkj_key *out);

/**
 * Finds a field of a preimage, whoever wrote it.
 * @param[out] text    in the preimage, not terminated; may hold any characters
 * @param[out] length  of text
 * @return false if there is none of this tag before the first thing that is no field
 */
bool tkj_key_field(const char *preimage, const char *tag, const char **text, size_t *length);

#endif /* TKJ_KEY_H */
