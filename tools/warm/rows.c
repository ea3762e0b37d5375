/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include <stdio.h>
#include <string.h>

bool warm_filter_take_arch(const char *word, warm_filter *filter)
{
    if (filter->target_count == WARM_TARGETS_MAX ||
        !tkj_target_parse(word, &filter->targets[filter->target_count]))
        return false;
    filter->target_count++;
    return true;
}

bool warm_filter_arch_words(size_t index, char out[WARM_WORD_SIZE])
{
    if (index >= tkj_architecture_count)
        return false;
    snprintf(out, WARM_WORD_SIZE, "sm_%d", tkj_architectures[index].number);
    return true;
}

static bool has_target(const warm_filter *filter, const char *target)
{
    for (size_t i = 0; i < filter->target_count; i++) {
        char name[TKJ_TARGET_NAME_SIZE];
        tkj_target_format(filter->targets[i], name);
        if (strcmp(name, target) == 0)
            return true;
    }
    return filter->target_count == 0;
}

bool warm_filter_meets(const warm_filter *filter, const warm_row *row)
{
    if (row->entry == NULL)
        return filter->target_count == 0 && filter->spec == NULL;
    const warm_identity *identity = &row->identity;
    return has_target(filter, row->entry->target) &&
           (filter->spec == NULL ||
            (identity->spec != NULL && memmem(identity->spec, identity->spec_length, filter->spec,
                                              strlen(filter->spec)) != NULL));
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
