/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "digest.h"
#include "inspect_view.h"
#include "key.h"
#include "out_json.h"

static json_t *hex_of(const uint8_t digest[TKJ_DIGEST_SIZE])
{
    char hex[2 * TKJ_DIGEST_SIZE + 1];
    tkj_digest_format(digest, hex);
    return json_string(hex);
}

static json_t *key_of(const char *preimage)
{
    uint8_t digest[TKJ_DIGEST_SIZE];
    tkj_digest(preimage, strlen(preimage), digest);
    return hex_of(digest);
}

static json_t *spec_of(const char *preimage)
{
    const char *text;
    size_t length;
    return tkj_key_field(preimage, "spec", &text, &length) ? warm_json_text(text, length)
                                                           : json_null();
}

/** json_pack fails where a part is missing for want of memory. */
json_t *warm_inspect_json_entry(const warm_entry_view *view)
{
    const tkj_entry *entry = &view->entry;
    const tkj_entry_resources *resources = &entry->resources;
    json_t *object = json_pack(
        "{s:s, s:s, s:I, s:o, s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}",
        "version", topk_jit_version(), "format", "entry", "bytes", (json_int_t)view->size, "key",
        key_of(entry->preimage), "kind", entry->kind == TKJ_PAYLOAD_PTX ? "ptx" : "cubin", "target",
        warm_json_string(entry->target), "toolchain", warm_json_string(entry->toolchain), "library",
        warm_json_string(entry->library), "entry_name", warm_json_string(entry->entry_name),
        "registers", (json_int_t)resources->registers, "static_shared",
        (json_int_t)resources->static_shared, "dynamic_shared",
        (json_int_t)resources->dynamic_shared, "stack", (json_int_t)resources->stack, "spill",
        (json_int_t)resources->spill, "other_spill", (json_int_t)resources->other_spill,
        "payload_bytes", (json_int_t)entry->payload_size, "spec", spec_of(entry->preimage));
    if (view->preimage &&
        json_object_set_new(object, "preimage", warm_json_string(entry->preimage)) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *describe_record(const warm_pack_view *view, const tkj_pack_record *record)
{
    tkj_entry entry;
    if (tkj_entry_decode(view->bytes + record->offset, record->size, &entry) != NULL)
        return NULL; /* the pack is sound: it does not happen */
    return json_pack("{s:o, s:I, s:o, s:I, s:o}", "key", hex_of(record->key), "major",
                     (json_int_t)record->major, "target", warm_json_string(entry.target), "bytes",
                     (json_int_t)record->size, "entry_name", warm_json_string(entry.entry_name));
}

json_t *warm_inspect_json_pack(const warm_pack_view *view)
{
    json_t *list = json_array();
    for (size_t i = 0; list != NULL && i < view->index.count; i++) {
        const tkj_pack_record record = tkj_pack_at(&view->index, i);
        if (json_array_append_new(list, describe_record(view, &record)) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return json_pack("{s:s, s:s, s:I, s:o, s:I, s:o}", "version", topk_jit_version(), "format",
                     "pack", "bytes", (json_int_t)view->size, "digest",
                     hex_of(view->bytes + view->size - TKJ_DIGEST_SIZE), "count",
                     (json_int_t)view->index.count, "entries", list);
}
