/* SPDX-License-Identifier: Apache-2.0 */
#include "verify_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "evict.h"
#include "item.h"
#include "publish.h"
#include "unreadable.h"

/* A directory that is checked. */
typedef struct place_check {
    const warm_inventory *inventory;
    const warm_place *place;
    warm_verification *to;
    int repair_fd; /* the user's directory, if it is to be repaired; else -1 */
} place_check;

static bool remove_file(const place_check *check, const char *name, uint64_t size,
                        struct timespec modified)
{
    return check->repair_fd >= 0 &&
           tkj_evict_file(check->repair_fd, name, size, modified) != TKJ_REMOVAL_STAYS;
}

static void check_item(const place_check *check, const warm_item *item)
{
    tkj_blob bytes;
    tkj_entry entry;
    const char *why;
    char path[PATH_MAX];
    const tkj_cache_outcome outcome = warm_item_read(check->inventory, item, &bytes, &entry, &why);
    warm_item_release(check->inventory, &bytes);
    check->to->entries += outcome != TKJ_CACHE_ABSENT;
    if (outcome == TKJ_CACHE_HIT || outcome == TKJ_CACHE_ABSENT)
        return;
    const bool corrupt = outcome == TKJ_CACHE_CORRUPT;
    warm_item_path(check->inventory, item, path);
    warm_verify_note(check->to, corrupt ? WARM_FINDING_CORRUPT : WARM_FINDING_UNREADABLE, path, why,
                     corrupt && remove_file(check, item->file->name, item->size, item->modified));
}

/* Whatever it is by now; a directory stays. */
static bool remove_no_file(const place_check *check, const char *name)
{
    struct stat now;
    return check->repair_fd >= 0 &&
           fstatat(check->repair_fd, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
           !S_ISREG(now.st_mode) && unlinkat(check->repair_fd, name, 0) == 0;
}

static void check_other(const place_check *check, const tkj_walk_other *other)
{
    char path[PATH_MAX + 1];
    const bool stale = other->kind == TKJ_WALK_TEMPORARY &&
                       tkj_os_is_far(other->modified.tv_sec, time(NULL), TKJ_PUBLISH_STALE_SECONDS);
    snprintf(path, sizeof path, "%s/%s", check->place->path, other->name);
    switch (other->kind) {
    case TKJ_WALK_TEMPORARY:
        if (stale)
            warm_verify_note(check->to, WARM_FINDING_STALE, path,
                             "a process died while it wrote it",
                             remove_file(check, other->name, other->size, other->modified));
        else
            check->to->temporary++;
        break;
    case TKJ_WALK_NO_FILE:
        warm_verify_note(check->to, WARM_FINDING_CORRUPT, path, "it is not a regular file",
                         remove_no_file(check, other->name));
        break;
    case TKJ_WALK_FOREIGN:
        warm_verify_note(check->to, WARM_FINDING_FOREIGN, path, "it is nothing of the cache's",
                         false);
        break;
    case TKJ_WALK_UNREADABLE:
        warm_verify_note(check->to,
                         other->error == EPERM ? WARM_FINDING_UNUSABLE : WARM_FINDING_UNREADABLE,
                         path, warm_unreadable_why(other), false);
        break;
    }
}

void warm_verify_directory(const warm_inventory *inventory, const warm_place *place,
                           warm_verification *to)
{
    place_check check = {inventory, place, to, -1};
    const char *why;
    if (to->repair && place->kind == TKJ_LAYER_USER)
        check.repair_fd = tkj_os_open_trusted_dir(place->path, inventory->reader.trust, &why);
    for (size_t i = 0; i < place->count; i++)
        check_item(&check, &inventory->items[place->first + i]);
    for (size_t i = 0; i < place->walk.other_count; i++)
        check_other(&check, &place->walk.others[i]);
    if (check.repair_fd >= 0)
        close(check.repair_fd);
}
