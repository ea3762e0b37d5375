/* SPDX-License-Identifier: Apache-2.0 */
#include "unreadable.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "complain.h"
#include "out_json.h"

const char *warm_unreadable_why(const tkj_walk_other *other)
{
    return other->error == EPERM ? "it belongs to another user or others can write it"
                                 : strerror(other->error);
}

/* From `from` on; NULL past the last one. */
static const tkj_walk_other *next(const warm_place *place, size_t *from)
{
    while (*from < place->walk.other_count) {
        const tkj_walk_other *other = &place->walk.others[(*from)++];
        if (other->kind == TKJ_WALK_UNREADABLE)
            return other;
    }
    return NULL;
}

bool warm_unreadable_complain(const warm_place *place)
{
    bool any = false;
    size_t from = 0;
    for (const tkj_walk_other *other; (other = next(place, &from)) != NULL; any = true)
        warm_complain("%s/%s: %s", place->path, other->name, warm_unreadable_why(other));
    return any;
}

json_t *warm_unreadable_json(const warm_place *place)
{
    json_t *list = json_array();
    size_t from = 0;
    for (const tkj_walk_other *other; list != NULL && (other = next(place, &from)) != NULL;) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", place->path, other->name);
        json_t *object = json_pack("{s:o, s:s}", "path", warm_json_string(path), "why",
                                   warm_unreadable_why(other));
        if (json_array_append_new(list, object) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}
