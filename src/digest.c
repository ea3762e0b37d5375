/* SPDX-License-Identifier: Apache-2.0 */
#include "digest.h"

#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

void tkj_digest(const void *bytes, size_t size, uint8_t digest[TKJ_DIGEST_SIZE])
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes, size));
    memcpy(digest, canonical.digest, TKJ_DIGEST_SIZE);
}

void tkj_digest_format(const uint8_t digest[TKJ_DIGEST_SIZE], char text[2 * TKJ_DIGEST_SIZE + 1])
{
    for (size_t i = 0; i < TKJ_DIGEST_SIZE; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
}
