/* SPDX-License-Identifier: Apache-2.0 */
/** @file inspect_view.h @brief An entry or a pack for a person and for a program. */
#ifndef TKJ_WARM_INSPECT_VIEW_H
#define TKJ_WARM_INSPECT_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "entry.h"
#include "pack.h"

/** A sound entry. */
typedef struct warm_entry_view {
    tkj_entry entry;
    size_t size;   /* of the file */
    bool preimage; /* shown too */
} warm_entry_view;

/** A sound pack. */
typedef struct warm_pack_view {
    tkj_pack_index index;
    const uint8_t *bytes;
    size_t size;
} warm_pack_view;

/** Prints the names of the fields, one a line. Texts are escaped: they come from the file. */
void warm_inspect_text_entry(const warm_entry_view *view);

/** Prints a line on the pack, then a table of its entries. @return false if there was no memory */
bool warm_inspect_text_pack(const warm_pack_view *view);

/**
 * One object:
 *     {"format": "entry", "bytes", "key", "kind", "target", "toolchain", "library", "entry_name",
 *      "registers", "static_shared", "dynamic_shared", "stack", "spill", "other_spill",
 *      "payload_bytes", "spec", "preimage"}
 * kind is "cubin" or "ptx"; spec is null if the preimage names none, preimage is there if it was
 * asked for.
 * @return NULL if there was no memory for it
 */
json_t *warm_inspect_json_entry(const warm_entry_view *view);

/**
 * One object:
 *     {"format": "pack", "bytes", "digest", "count",
 *      "entries": [{"key", "major", "target", "bytes", "entry_name"}]}
 * @return NULL if there was no memory for it
 */
json_t *warm_inspect_json_pack(const warm_pack_view *view);

#endif /* TKJ_WARM_INSPECT_VIEW_H */
