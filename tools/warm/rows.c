/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include <string.h>

#include "item.h"

bool warm_filter_meets(const warm_filter *filter, const warm_row *row)
{
    if (row->entry == NULL)
        return filter->targets.count == 0 && filter->spec == NULL;
    const warm_identity *identity = &row->identity;
    return (filter->targets.count == 0 ||
            warm_target_set_find(&filter->targets, row->entry->target) < filter->targets.count) &&
           (filter->spec == NULL ||
            (identity->spec != NULL && memmem(identity->spec, identity->spec_length, filter->spec,
                                              strlen(filter->spec)) != NULL));
}

void warm_sums_add(warm_sums *all, const warm_sums *more)
{
    all->entries += more->entries;
    all->flawed += more->flawed;
    all->bytes += more->bytes;
}

bool warm_rows_each(const warm_inventory *inventory, size_t place, const warm_filter *filter,
                    bool (*use)(const warm_row *row, void *user), void *user, warm_sums *sums)
{
    const warm_place *from = &inventory->places[place];
    bool go_on = true;
    for (size_t i = from->first; go_on && i < from->first + from->count; i++) {
        tkj_blob bytes;
        tkj_entry entry;
        warm_row row = {.inventory = inventory, .item = &inventory->items[i]};
        const tkj_cache_outcome outcome =
            warm_item_read(inventory, row.item, &bytes, &entry, &row.flaw);
        if (outcome == TKJ_CACHE_ABSENT)
            continue;
        if (outcome == TKJ_CACHE_HIT) {
            row.entry = &entry;
            row.flaw = NULL;
            warm_identify(&entry, &row.identity);
        }
        if (warm_filter_meets(filter, &row)) {
            sums->entries++;
            sums->flawed += row.entry == NULL;
            sums->bytes += row.item->size;
            go_on = use == NULL || use(&row, user);
        }
        warm_item_release(inventory, &bytes);
    }
    return go_on;
}
