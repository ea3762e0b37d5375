/* SPDX-License-Identifier: Apache-2.0 */
#include "item.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "entry_flaw.h"
#include "memory.h"

static tkj_cache_outcome unusable(const char **why)
{
    *why = "its place cannot be used any more";
    return TKJ_CACHE_UNUSABLE;
}

/* Opened anew for each, as servers do it: many packs are not many open files. */
static tkj_cache_outcome open_item(const warm_inventory *inventory, const warm_item *item,
                                   tkj_file *file, const char **why)
{
    const warm_place *place = &inventory->places[item->place];
    const tkj_trust trust = inventory->reader.trust;
    if (item->file == NULL) {
        if (tkj_pack_file_open(place->path, trust, file, why) != 0)
            return unusable(why);
        if (tkj_pack_head_is_of(&place->head, file))
            return TKJ_CACHE_HIT;
        close(file->fd);
        *why = "another pack took its name";
        return TKJ_CACHE_ABSENT;
    }
    const int dir_fd = tkj_os_open_trusted_dir(place->path, trust, why);
    if (dir_fd < 0)
        return unusable(why);
    const int result = tkj_os_open_file(dir_fd, item->file->name, trust, TKJ_ENTRY_SIZE_MAX, file);
    tkj_os_close(dir_fd);
    return result == 0 ? TKJ_CACHE_HIT : tkj_entry_explain(errno, why);
}

tkj_cache_outcome warm_item_read(const warm_inventory *inventory, const warm_item *item,
                                 tkj_blob *bytes, tkj_entry *entry, const char **why)
{
    tkj_file file;
    *bytes = (tkj_blob){NULL, 0};
    const tkj_cache_outcome opened = open_item(inventory, item, &file, why);
    if (opened != TKJ_CACHE_HIT)
        return opened;
    const size_t size = item->file != NULL ? file.size : (size_t)item->size;
    const int result = tkj_os_read(&inventory->reader.allocator, &file, item->offset, size, bytes);
    tkj_os_close(file.fd);
    if (result != 0)
        return tkj_entry_explain(errno, why);
    *why = warm_entry_flaw(item->key.digest, item->major, bytes, entry);
    if (*why == NULL)
        return TKJ_CACHE_HIT;
    warm_item_release(inventory, bytes);
    return TKJ_CACHE_CORRUPT;
}

void warm_item_release(const warm_inventory *inventory, tkj_blob *bytes)
{
    tkj_free(&inventory->reader.allocator, bytes->bytes);
    *bytes = (tkj_blob){NULL, 0};
}

void warm_item_path(const warm_inventory *inventory, const warm_item *item, char out[PATH_MAX])
{
    const char *path = inventory->places[item->place].path;
    const bool file = item->file != NULL;
    const int length =
        snprintf(out, PATH_MAX, "%s%s%s", path, file ? "/" : "", file ? item->file->name : "");
    if (length >= PATH_MAX)
        memcpy(out + PATH_MAX - 4, "...", 4);
}
