/* SPDX-License-Identifier: Apache-2.0 */
/** @file list_view.h @brief What the cache holds, for a person and for a program. */
#ifndef TKJ_WARM_LIST_VIEW_H
#define TKJ_WARM_LIST_VIEW_H

#include <jansson.h>
#include <stdbool.h>

#include "inventory.h"
#include "rows.h"

/** Which places are meant. */
typedef enum warm_layers {
    WARM_LAYERS_ALL = 0,
    WARM_LAYERS_USER,
    WARM_LAYERS_READ_ONLY, /* packs, too */
} warm_layers;

typedef struct warm_list {
    const warm_inventory *inventory;
    const warm_filter *filter;
    warm_layers layers;
} warm_list;

/** Whether a place is meant. */
bool warm_list_has(const warm_list *list, const warm_place *place);

/** Prints for each place a line that sums it up, and below it a line an entry; then one for all.
 *  @return false if there was no memory */
bool warm_list_text(const warm_list *list);

/**
 * One object:
 *     {"version",
 *      "summary": {"entries", "flawed", "bytes"},
 *      "places": [{"path", "layer", "usable", "flaw", "unreadable": [{"path", "why"}], "entries",
 *                  "flawed", "bytes"}],
 *      "entries": [{"key", "major", "path", "layer", "bytes", "modified", "flaw", "kind", "target",
 *                   "toolchain", "library", "entry_name", "variant", "spec", "registers",
 *                   "static_shared", "dynamic_shared", "stack", "spill", "other_spill",
 *                   "payload_bytes"}]}
 * layer is "user", "read-only" or "pack"; modified in seconds of Unix time; flaw is null where
 * there is none, and from kind on all is null where there is one.
 * @return NULL if there was no memory for it
 */
json_t *warm_list_json(const warm_list *list);

#endif /* TKJ_WARM_LIST_VIEW_H */
