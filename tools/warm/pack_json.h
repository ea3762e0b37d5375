/* SPDX-License-Identifier: Apache-2.0 */
/** @file pack_json.h @brief The result of topk-jit-warm pack, for programs. */
#ifndef TKJ_WARM_PACK_JSON_H
#define TKJ_WARM_PACK_JSON_H

#include <jansson.h>

#include "pack_collect.h"

/** A pack that was written. All borrowed. */
typedef struct warm_pack_result {
    const char *path;
    uint64_t size;         /* of the file */
    const uint8_t *digest; /* of the pack */
    const warm_pack_found *found;
} warm_pack_result;

/**
 * The result as one object:
 *     {"version": "0.1.0", "pack", "bytes", "digest",
 *      "left_out": {"other_templates", "not_asked_for", "damaged": [{"file", "flaw"}]},
 *      "entries": [{"key", "major", "target", "bytes", "entry_name", "spec"}]}
 * @return NULL if there was no memory for it
 */
json_t *warm_pack_json(const warm_pack_result *result);

#endif /* TKJ_WARM_PACK_JSON_H */
