/* SPDX-License-Identifier: Apache-2.0 */
/** @file entry_flaw.h @brief Whether bytes are the entry that they should be. Pure. */
#ifndef TKJ_WARM_ENTRY_FLAW_H
#define TKJ_WARM_ENTRY_FLAW_H

#include "digest.h"
#include "entry.h"

/**
 * Decodes an entry and compares the digest of its preimage with the key that it stands under.
 * @param key         NULL = any
 * @param[out] entry  if sound, points into the bytes
 * @return NULL if sound, else what is wrong, a static string
 */
const char *warm_entry_flaw(const uint8_t *key, const tkj_blob *bytes, tkj_entry *entry);

#endif /* TKJ_WARM_ENTRY_FLAW_H */
