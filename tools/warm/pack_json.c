/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_json.h"

#include "entry_json.h"
#include "out_json.h"

static json_t *flaws_of(const warm_pack_found *found)
{
    json_t *list = json_array();
    for (size_t i = 0; i < found->flaw_count; i++) {
        const warm_pack_flaw *flaw = &found->flaws[i];
        if (json_array_append_new(list,
                                  json_pack("{s:o, s:s}", "file", warm_json_string(flaw->file),
                                            "flaw", flaw->what)) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *entries_of(const warm_pack_found *found)
{
    json_t *list = json_array();
    for (size_t i = 0; i < found->count; i++) {
        const tkj_pack_item *item = &found->items[i];
        if (json_array_append_new(list, warm_entry_json(item->key, item->major, &item->bytes)) !=
            0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

json_t *warm_pack_json(const warm_pack_result *result)
{
    char digest[2 * TKJ_DIGEST_SIZE + 1];
    const warm_pack_found *found = result->found;
    tkj_digest_format(result->digest, digest);
    return json_pack(
        "{s:s, s:o, s:I, s:s, s:{s:I, s:I, s:o}, s:o}", "version", topk_jit_version(), "pack",
        warm_json_string(result->path), "bytes", (json_int_t)result->size, "digest", digest,
        "left_out", "other_templates", (json_int_t)found->other_templates, "not_asked_for",
        (json_int_t)found->not_asked_for, "damaged", flaws_of(found), "entries", entries_of(found));
}
