/* SPDX-License-Identifier: Apache-2.0 */
/** @file item.h @brief One entry of an inventory: its bytes, and where it is. */
#ifndef TKJ_WARM_ITEM_H
#define TKJ_WARM_ITEM_H

#include <limits.h>

#include "inventory.h"

/**
 * Reads and verifies one entry: that it is sound, and that its key is that of its name.
 * @param[out] bytes  on a hit owned by the caller, released with warm_item_release; else empty
 * @param[out] entry  on a hit points into bytes
 * @param[out] why    unless it is a hit: static
 * @return TKJ_CACHE_HIT, TKJ_CACHE_ABSENT (gone since it was listed), _UNUSABLE (the place),
 *         _UNREADABLE, _CORRUPT
 */
tkj_cache_outcome warm_item_read(const warm_inventory *inventory, const warm_item *item,
                                 tkj_blob *bytes, tkj_entry *entry, const char **why);

void warm_item_release(const warm_inventory *inventory, tkj_blob *bytes);

/** "PATH" of its file, or of its pack. @param[out] out  cut where it is longer */
void warm_item_path(const warm_inventory *inventory, const warm_item *item, char out[PATH_MAX]);

#endif /* TKJ_WARM_ITEM_H */
