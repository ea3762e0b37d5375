/* SPDX-License-Identifier: Apache-2.0 */
#include "prune.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "complain.h"
#include "evict.h"
#include "item.h"

/* ---- which entries may go ---- */

static bool is_old_enough(const warm_prune_wish *wish, const warm_item *item, time_t now)
{
    time_t age;
    return !wish->has_older_than ||
           (!__builtin_sub_overflow(now, item->modified.tv_sec, &age) && age > wish->older_than);
}

static bool is_for_target(const warm_prune_wish *wish, const warm_inventory *inventory,
                          const warm_item *item)
{
    if (wish->filter.targets.count == 0)
        return true;
    tkj_blob bytes;
    tkj_entry entry;
    warm_row row = {.inventory = inventory, .item = item, .entry = &entry};
    if (warm_item_read(inventory, item, &bytes, &entry, &row.flaw) != TKJ_CACHE_HIT)
        return false; /* nobody knows for which */
    const bool meant = warm_filter_meets(&wish->filter, &row);
    warm_item_release(inventory, &bytes);
    return meant;
}

/* Copies the entries that may go, the one whose use is longest ago first. @return how many */
static size_t choose(const warm_prune_wish *wish, const warm_inventory *inventory,
                     const warm_place *place, tkj_walk_entry *chosen)
{
    const time_t now = time(NULL);
    size_t count = 0;
    for (size_t i = place->first; i < place->first + place->count; i++) {
        const warm_item *item = &inventory->items[i];
        if (is_old_enough(wish, item, now) && is_for_target(wish, inventory, item))
            chosen[count++] = *item->file;
    }
    tkj_evict_order(chosen, count);
    return count;
}

/* ---- removing ---- */

/* What becomes of an entry, and what of it is to be said. */
static warm_pruned remove_entry(const warm_prune_wish *wish, int root_fd,
                                const tkj_walk_entry *file)
{
    warm_pruned pruned = {.file = file, .fate = WARM_PRUNED_REMOVED};
    if (wish->dry_run)
        return pruned;
    const tkj_removal removal = tkj_evict_file(root_fd, file->name, file->size, file->modified);
    if (removal == TKJ_REMOVAL_STAYS) {
        pruned.fate = errno == 0 ? WARM_PRUNED_USED : WARM_PRUNED_FAILED;
        pruned.error = errno;
    } else if (removal == TKJ_REMOVAL_GONE) {
        pruned.fate = WARM_PRUNED_GONE;
    }
    return pruned;
}

/* Removes what may go until no more than is wanted is left. */
static void remove_entries(const warm_prune_wish *wish, int root_fd, size_t count,
                           warm_prune_view *view)
{
    const tkj_walk_entry *files = view->files;
    const uint64_t most = wish->has_max_bytes ? (uint64_t)wish->max_bytes : 0;
    for (size_t i = 0; i < count && (!wish->has_max_bytes || view->left_bytes > most); i++) {
        const warm_pruned pruned = remove_entry(wish, root_fd, &files[i]);
        view->at[view->count++] = pruned;
        const bool left = pruned.fate == WARM_PRUNED_USED || pruned.fate == WARM_PRUNED_FAILED;
        view->left -= !left;
        view->left_bytes -= left ? 0 : files[i].size;
        view->removed += pruned.fate == WARM_PRUNED_REMOVED;
        view->removed_bytes += pruned.fate == WARM_PRUNED_REMOVED ? files[i].size : 0;
        view->failed += pruned.fate == WARM_PRUNED_FAILED;
    }
}

/* ---- both ---- */

static bool prune_at(const warm_prune_wish *wish, const warm_inventory *inventory,
                     const warm_place *place, int root_fd, warm_prune_view *out)
{
    out->left = place->count;
    out->left_bytes = place->bytes;
    out->files = calloc(place->count + 1, sizeof *out->files); /* one more: none is no error */
    out->at = calloc(place->count + 1, sizeof *out->at);
    if (out->files == NULL || out->at == NULL) {
        warm_complain("there is no memory for what the cache holds");
        return false;
    }
    remove_entries(wish, root_fd, choose(wish, inventory, place, out->files), out);
    return true;
}

bool warm_prune(const warm_prune_wish *wish, const warm_inventory *inventory,
                const warm_place *place, warm_prune_view *out)
{
    *out = (warm_prune_view){.place = place, .dry_run = wish->dry_run};
    if (place->absent)
        return true;
    const char *why = place->flaw;
    const int root_fd =
        why == NULL ? tkj_os_open_trusted_dir(place->path, inventory->reader.trust, &why) : -1;
    if (root_fd < 0) {
        warm_complain("%s %s", place->path, why);
        return false;
    }
    const bool done = prune_at(wish, inventory, place, root_fd, out);
    close(root_fd);
    return done;
}

void warm_prune_release(warm_prune_view *view)
{
    free(view->files);
    free(view->at);
}
