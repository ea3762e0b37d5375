/* SPDX-License-Identifier: Apache-2.0 */
/** @file unpack_json.h @brief The result of topk-jit-warm unpack, for programs. */
#ifndef TKJ_WARM_UNPACK_JSON_H
#define TKJ_WARM_UNPACK_JSON_H

#include <jansson.h>

#include "unpack_store.h"

/**
 * The result as one object:
 *     {"version": "0.1.0", "cache": "/directory", "dry_run",
 *      "summary": {"entries", "new", "already_there", "bytes"},
 *      "entries": [{"pack", "status", "key", "major", "target", "bytes", "entry_name", "spec"}]}
 * status is "new" or "already_there"; the summary's bytes are those of the new ones.
 * @return NULL if there was no memory for it
 */
json_t *warm_unpack_json(const warm_unpack *unpack, const char *root, bool dry_run);

#endif /* TKJ_WARM_UNPACK_JSON_H */
