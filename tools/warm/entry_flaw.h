/* SPDX-License-Identifier: Apache-2.0 */
/** @file entry_flaw.h @brief Whether bytes are the entry that they should be. Pure. */
#ifndef TKJ_WARM_ENTRY_FLAW_H
#define TKJ_WARM_ENTRY_FLAW_H

#include "digest.h"
#include "entry.h"

/**
 * Decodes an entry and compares what it says twice: the digest of its preimage with the key that it
 * stands under, the major version of its toolchain with the one that it stands under, and its
 * target with the preimage's. A preimage or a toolchain that does not say it is left alone.
 * @param key         NULL = any
 * @param major       0 = any
 * @param[out] entry  if sound, points into the bytes
 * @return NULL if sound, else what is wrong, a static string
 */
const char *warm_entry_flaw(const uint8_t *key, uint32_t major, const tkj_blob *bytes,
                            tkj_entry *entry);

#endif /* TKJ_WARM_ENTRY_FLAW_H */
