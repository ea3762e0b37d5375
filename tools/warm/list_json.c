/* SPDX-License-Identifier: Apache-2.0 */
#include "item.h"
#include "list_view.h"
#include "out_json.h"
#include "unreadable.h"

static json_t *number_of(uint64_t number)
{
    return json_integer((json_int_t)number);
}

/* What is in the file, or that nobody knows. */
static json_t *describe_contents(const warm_row *row)
{
    const tkj_entry none = {.target = NULL};
    const tkj_entry *entry = row->entry != NULL ? row->entry : &none;
    const tkj_entry_resources *resources = &entry->resources;
    const warm_identity *identity = &row->identity;
    const char *variant = warm_identity_variant(identity);
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {
        {"registers", resources->registers},
        {"static_shared", resources->static_shared},
        {"dynamic_shared", resources->dynamic_shared},
        {"stack", resources->stack},
        {"spill", resources->spill},
        {"other_spill", resources->other_spill},
        {"payload_bytes", entry->payload_size},
    };
    const char *kind = entry->kind == TKJ_PAYLOAD_PTX ? "ptx" : "cubin";
    json_t *object = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "kind",
        row->entry != NULL ? json_string(kind) : json_null(), "target",
        warm_json_string(entry->target), "toolchain", warm_json_string(entry->toolchain), "library",
        warm_json_string(entry->library), "entry_name", warm_json_string(entry->entry_name),
        "variant", warm_json_string(variant[0] != '\0' ? variant : NULL), "spec",
        identity->spec != NULL ? warm_json_text(identity->spec, identity->spec_length)
                               : json_null());
    bool ok = object != NULL;
    for (size_t i = 0; ok && i < sizeof numbers / sizeof numbers[0]; i++)
        ok = json_object_set_new(object, numbers[i].name,
                                 row->entry != NULL ? number_of(numbers[i].value) : json_null()) ==
             0;
    if (ok)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *describe_file(const warm_row *row)
{
    char key[2 * TKJ_DIGEST_SIZE + 1], path[PATH_MAX];
    tkj_digest_format(row->item->key.digest, key);
    warm_item_path(row->inventory, row->item, path);
    return json_pack("{s:s, s:o, s:o, s:s, s:o, s:I, s:o}", "key", key, "major",
                     number_of(row->item->major), "path", warm_json_string(path), "layer",
                     warm_place_kind(row->inventory->places[row->item->place].kind), "bytes",
                     number_of(row->item->size), "modified", (json_int_t)row->item->modified.tv_sec,
                     "flaw", warm_json_string(row->flaw));
}

static bool add_row(const warm_row *row, void *user)
{
    json_t *object = describe_file(row);
    json_t *contents = describe_contents(row);
    const bool ok = object != NULL && contents != NULL && json_object_update(object, contents) == 0;
    json_decref(contents);
    if (!ok) {
        json_decref(object);
        return false;
    }
    return json_array_append_new(user, object) == 0;
}

static json_t *describe_place(const warm_place *place, const warm_sums *sums)
{
    return json_pack("{s:o, s:s, s:b, s:o, s:o, s:o, s:o, s:o}", "path",
                     warm_json_string(place->path), "layer", warm_place_kind(place->kind), "usable",
                     place->flaw == NULL, "flaw", warm_json_string(place->flaw), "unreadable",
                     warm_unreadable_json(place), "entries", number_of(sums->entries), "flawed",
                     number_of(sums->flawed), "bytes", number_of(sums->bytes));
}

json_t *warm_list_json(const warm_list *list)
{
    json_t *places = json_array(), *entries = json_array();
    warm_sums all = {0};
    bool ok = places != NULL && entries != NULL;
    for (size_t i = 0; ok && i < list->inventory->place_count; i++) {
        const warm_place *place = &list->inventory->places[i];
        warm_sums sums = {0};
        if (!warm_list_has(list, place))
            continue;
        ok = warm_rows_each(list->inventory, i, list->filter, add_row, entries, &sums) &&
             json_array_append_new(places, describe_place(place, &sums)) == 0;
        warm_sums_add(&all, &sums);
    }
    if (!ok) {
        json_decref(places);
        json_decref(entries);
        return NULL;
    }
    return json_pack("{s:s, s:{s:o, s:o, s:o}, s:o, s:o}", "version", TOPK_JIT_VERSION_STRING,
                     "summary", "entries", number_of(all.entries), "flawed", number_of(all.flawed),
                     "bytes", number_of(all.bytes), "places", places, "entries", entries);
}
