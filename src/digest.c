/* SPDX-License-Identifier: Apache-2.0 */
#include "digest.h"

#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static void put_canonical(XXH128_hash_t hash, uint8_t digest[TKJ_DIGEST_SIZE])
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, hash);
    memcpy(digest, canonical.digest, TKJ_DIGEST_SIZE);
}

void tkj_digest(const void *bytes, size_t size, uint8_t digest[TKJ_DIGEST_SIZE])
{
    put_canonical(XXH3_128bits(bytes, size), digest);
}

/* Neither call fails: the state is there, and a piece without bytes is not given. */
void tkj_digest_pieces(const tkj_piece *pieces, size_t count, uint8_t digest[TKJ_DIGEST_SIZE])
{
    XXH3_state_t state;
    (void)XXH3_128bits_reset(&state);
    for (size_t i = 0; i < count; i++)
        if (pieces[i].size > 0)
            (void)XXH3_128bits_update(&state, pieces[i].bytes, pieces[i].size);
    put_canonical(XXH3_128bits_digest(&state), digest);
}

void tkj_digest_format(const uint8_t digest[TKJ_DIGEST_SIZE], char text[2 * TKJ_DIGEST_SIZE + 1])
{
    for (size_t i = 0; i < TKJ_DIGEST_SIZE; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
}
