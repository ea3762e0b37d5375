/* SPDX-License-Identifier: Apache-2.0 */
/** @file prune_view.h @brief What topk-jit-warm prune did, for a person and for a program. */
#ifndef TKJ_WARM_PRUNE_VIEW_H
#define TKJ_WARM_PRUNE_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inventory.h"

typedef enum warm_prune_fate {
    WARM_PRUNED_REMOVED, /* or would be */
    WARM_PRUNED_GONE,    /* another process removed it */
    WARM_PRUNED_USED,    /* it stays: it was used or written meanwhile */
    WARM_PRUNED_FAILED,  /* it cannot be removed */
} warm_prune_fate;

/** What became of an entry that was to go. */
typedef struct warm_pruned {
    const tkj_walk_entry *file; /* borrowed */
    warm_prune_fate fate;
    int error; /* errno of a failure */
} warm_pruned;

typedef struct warm_prune_view {
    const warm_place *place; /* the directory: borrowed */
    bool dry_run;
    tkj_walk_entry *files; /* owned: those that were to go, and may have */
    warm_pruned *at;       /* owned: in the order in which they went */
    size_t count;
    size_t removed; /* of these */
    size_t failed;  /* of these */
    uint64_t removed_bytes;
    size_t left; /* in the directory */
    uint64_t left_bytes;
} warm_prune_view;

/** Prints a table of the entries and a line for all. @return false if there was no memory */
bool warm_prune_text(const warm_prune_view *view);

/**
 * One object:
 *     {"version", "path", "dry_run", "unreadable": [{"path", "why"}],
 *      "summary": {"removed", "removed_bytes", "failed", "left", "left_bytes"},
 *      "entries": [{"key", "major", "bytes", "modified", "status", "error"}]}
 * status is "removed", "gone", "used" or "failed"; error is null unless it failed.
 * @return NULL if there was no memory for it
 */
json_t *warm_prune_json(const warm_prune_view *view);

#endif /* TKJ_WARM_PRUNE_VIEW_H */
