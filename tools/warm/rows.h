/* SPDX-License-Identifier: Apache-2.0 */
/** @file rows.h @brief The entries of the cache one by one, read and filtered. */
#ifndef TKJ_WARM_ROWS_H
#define TKJ_WARM_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "identify.h"
#include "inventory.h"
#include "targets_option.h"

/** An entry as it was read; valid during the call that gets it. */
typedef struct warm_row {
    const warm_inventory *inventory;
    const warm_item *item;
    const tkj_entry *entry; /* NULL = it is not sound, or cannot be read: */
    const char *flaw;       /* why; static */
    warm_identity identity; /* of a sound one */
} warm_row;

/** Which entries are meant; zero = all. */
typedef struct warm_filter {
    warm_target_set targets;
    const char *spec; /* a part of the spec's text; NULL = any. Borrowed */
} warm_filter;

/** True if a sound entry is meant; a flawed one is if all are, for nobody knows what it is. */
bool warm_filter_meets(const warm_filter *filter, const warm_row *row);

/** What was seen. */
typedef struct warm_sums {
    size_t entries;
    size_t flawed; /* of these */
    uint64_t bytes;
} warm_sums;

void warm_sums_add(warm_sums *all, const warm_sums *more);

/**
 * Reads the entries of a place in their order; those that are meant and did not vanish are given to
 * `use`, if it is not NULL, and counted.
 * @return false as soon as `use` does
 */
bool warm_rows_each(const warm_inventory *inventory, size_t place, const warm_filter *filter,
                    bool (*use)(const warm_row *row, void *user), void *user, warm_sums *sums);

#endif /* TKJ_WARM_ROWS_H */
