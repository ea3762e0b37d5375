/* SPDX-License-Identifier: Apache-2.0 */
#include "entry_flaw.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "key.h"

#define TOOLCHAIN "nvrtc "

static bool has_key(const tkj_entry *entry, const uint8_t *key)
{
    uint8_t digest[TKJ_DIGEST_SIZE];
    tkj_digest(entry->preimage, strlen(entry->preimage), digest);
    return memcmp(digest, key, sizeof digest) == 0;
}

static bool has_target_of_its_preimage(const tkj_entry *entry)
{
    const char *text;
    size_t length;
    return !tkj_key_field(entry->preimage, "target", &text, &length) ||
           (strlen(entry->target) == length && memcmp(entry->target, text, length) == 0);
}

static bool has_major(const tkj_entry *entry, uint32_t major)
{
    const char *digits = entry->toolchain + strlen(TOOLCHAIN);
    return strncmp(entry->toolchain, TOOLCHAIN, strlen(TOOLCHAIN)) != 0 ||
           strtoull(digits, NULL, 10) == major;
}

const char *warm_entry_flaw(const uint8_t *key, uint32_t major, const tkj_blob *bytes,
                            tkj_entry *entry)
{
    const char *flaw = tkj_entry_decode(bytes->bytes, bytes->size, entry);
    if (flaw != NULL)
        return flaw;
    if (key != NULL && !has_key(entry, key))
        return "it is of another kernel than its name says";
    if (!has_target_of_its_preimage(entry))
        return "it is for another target than its preimage says";
    if (major != 0 && !has_major(entry, major))
        return "another CUDA compiled it than its name says";
    return NULL;
}
