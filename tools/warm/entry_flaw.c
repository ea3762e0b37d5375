/* SPDX-License-Identifier: Apache-2.0 */
#include "entry_flaw.h"

#include <string.h>

const char *warm_entry_flaw(const uint8_t *key, const tkj_blob *bytes, tkj_entry *entry)
{
    uint8_t digest[TKJ_DIGEST_SIZE];
    const char *flaw = tkj_entry_decode(bytes->bytes, bytes->size, entry);
    if (flaw != NULL || key == NULL)
        return flaw;
    tkj_digest(entry->preimage, strlen(entry->preimage), digest);
    return memcmp(digest, key, sizeof digest) == 0 ? NULL
                                                   : "it is of another kernel than its name says";
}
