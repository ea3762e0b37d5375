/* SPDX-License-Identifier: Apache-2.0 */
/** @file prune.h @brief Chooses entries of the cache's directory, and removes them. */
#ifndef TKJ_WARM_PRUNE_H
#define TKJ_WARM_PRUNE_H

#include <stdbool.h>
#include <stdint.h>

#include "prune_view.h"
#include "rows.h"

/** Which entries are to go: those that all of this allows. */
typedef struct warm_prune_wish {
    warm_filter filter;
    int64_t max_bytes;  /* that may stay */
    int64_t older_than; /* seconds */
    bool has_max_bytes;
    bool has_older_than;
    bool all;     /* and nothing else is said */
    bool dry_run; /* remove nothing */
} warm_prune_wish;

/**
 * Removes what is to go from the user's directory, the entry whose use is longest ago first. That
 * there is no such directory is no failure, nor is an entry that cannot be removed.
 * @param place     of the inventory: the user's
 * @param[out] out  what was done; released with warm_prune_release, also after a failure
 * @return false after one line on stderr
 */
bool warm_prune(const warm_prune_wish *wish, const warm_inventory *inventory,
                const warm_place *place, warm_prune_view *out);

void warm_prune_release(warm_prune_view *view);

#endif /* TKJ_WARM_PRUNE_H */
