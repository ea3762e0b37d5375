/* SPDX-License-Identifier: Apache-2.0 */
#include "unpack_json.h"

#include "entry_json.h"
#include "out_json.h"

static json_t *describe(const warm_unpacked *at)
{
    const tkj_blob bytes = warm_pack_entry(at->pack, &at->record);
    json_t *object = warm_entry_json(at->record.key, at->record.major, &bytes);
    if (json_object_set_new(object, "pack", warm_json_string(at->pack->path)) == 0 &&
        json_object_set_new(object, "status",
                            json_string(at->already_there ? "already_there" : "new")) == 0)
        return object;
    json_decref(object);
    return NULL;
}

json_t *warm_unpack_json(const warm_unpack *unpack, const char *root, bool dry_run)
{
    json_t *list = json_array();
    for (size_t i = 0; list != NULL && i < unpack->count; i++) {
        if (json_array_append_new(list, describe(&unpack->entries[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return json_pack("{s:s, s:o, s:b, s:{s:I, s:I, s:I, s:I}, s:o}", "version", topk_jit_version(),
                     "cache", warm_json_string(root), "dry_run", (int)dry_run, "summary", "entries",
                     (json_int_t)unpack->count, "new",
                     (json_int_t)(unpack->count - unpack->already_there), "already_there",
                     (json_int_t)unpack->already_there, "bytes", (json_int_t)unpack->bytes,
                     "entries", list);
}
