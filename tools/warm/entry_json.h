/* SPDX-License-Identifier: Apache-2.0 */
/** @file entry_json.h @brief One of many entries, for programs. */
#ifndef TKJ_WARM_ENTRY_JSON_H
#define TKJ_WARM_ENTRY_JSON_H

#include <jansson.h>

#include "digest.h"
#include "entry.h"

/**
 * {"key", "major", "target", "bytes", "entry_name", "spec"}: as inspect has it for a pack, and the
 * spec, null if there is none.
 * @param bytes  of a sound entry
 * @return NULL if there was no memory for it
 */
json_t *warm_entry_json(const uint8_t key[TKJ_DIGEST_SIZE], uint32_t major, const tkj_blob *bytes);

#endif /* TKJ_WARM_ENTRY_JSON_H */
