/* SPDX-License-Identifier: Apache-2.0 */
#include "inventory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "complain.h"
#include "context.h"
#include "create_context.h"
#include "state.h"

const char *warm_place_kind(tkj_layer_kind kind)
{
    if (kind == TKJ_LAYER_PACK)
        return "pack";
    return kind == TKJ_LAYER_USER ? "user" : "read-only";
}

/* ---- places ---- */

static void look_into_directory(const warm_inventory *inventory, bool others, warm_place *place)
{
    const tkj_layer_reader *reader = &inventory->reader;
    const int fd = tkj_os_open_trusted_dir(place->path, reader->trust, &place->flaw);
    if (fd < 0) {
        place->absent = errno == ENOENT;
        return;
    }
    place->flaw = NULL;
    if (others)
        tkj_walk_all(&reader->allocator, fd, reader->trust, &place->walk);
    else
        tkj_walk_entries(&reader->allocator, fd, reader->trust, &place->walk);
    close(fd);
    place->count = place->walk.entry_count;
}

static void look_into_pack(const warm_inventory *inventory, warm_place *place)
{
    const tkj_layer_reader *reader = &inventory->reader;
    tkj_file file;
    if (tkj_pack_file_open(place->path, reader->trust, &file, &place->flaw) != 0) {
        place->absent = errno == ENOENT;
        return;
    }
    (void)tkj_pack_head_read(&reader->allocator, &file, &place->head);
    close(file.fd);
    place->flaw = place->head.flaw;
    place->count = place->flaw == NULL ? place->head.index.count : 0;
}

/* @return false without memory */
static bool add_place(warm_inventory *inventory, const tkj_layer *layer, bool named, bool others)
{
    warm_place *place = &inventory->places[inventory->place_count++];
    *place = (warm_place){.kind = layer->kind, .path = strdup(layer->path), .named = named};
    if (place->path == NULL)
        return false;
    if (layer->kind == TKJ_LAYER_PACK)
        look_into_pack(inventory, place);
    else
        look_into_directory(inventory, others, place);
    return layer->kind == TKJ_LAYER_PACK || place->flaw != NULL || place->walk.complete;
}

/* ---- entries ---- */

static warm_item item_of_file(const tkj_walk_entry *file)
{
    return (warm_item){
        .key = file->key,
        .major = (uint32_t)file->major,
        .size = file->size,
        .modified = file->modified,
        .file = file,
    };
}

static warm_item item_of_record(const tkj_pack_head *head, size_t position)
{
    const tkj_pack_record record = tkj_pack_at(&head->index, position);
    warm_item item = {
        .major = record.major,
        .size = record.size,
        .modified = {.tv_sec = head->file.modified},
        .offset = record.offset,
    };
    memcpy(item.key.digest, record.key, sizeof item.key.digest);
    return item;
}

static bool list_items(warm_inventory *inventory)
{
    size_t count = 0;
    for (size_t i = 0; i < inventory->place_count; i++)
        count += inventory->places[i].count;
    inventory->items = calloc(count + 1, sizeof *inventory->items); /* one more: none is no error */
    for (size_t i = 0; inventory->items != NULL && i < inventory->place_count; i++) {
        warm_place *place = &inventory->places[i];
        place->first = inventory->item_count;
        for (size_t at = 0; at < place->count; at++) {
            warm_item *item = &inventory->items[inventory->item_count++];
            *item = place->kind == TKJ_LAYER_PACK ? item_of_record(&place->head, at)
                                                  : item_of_file(&place->walk.entries[at]);
            item->place = i;
            place->bytes += item->size;
        }
    }
    return inventory->items != NULL;
}

/* ---- both ---- */

/* @return false after one line on stderr */
static bool begin(const warm_common *common, const topk_jit_options *wanted, warm_inventory *out)
{
    topk_jit_options options = *wanted;
    options.mode = TOPK_JIT_MODE_READONLY; /* whatever servers here do: only what is there counts */
    *out = (warm_inventory){.context = warm_context_create(common, &options)};
    if (out->context == NULL)
        return false;
    out->reader = out->context->cache->reader;
    return true;
}

static bool without_memory(void)
{
    warm_complain("there is no memory for what the cache holds");
    return false;
}

bool warm_inventory_open(const warm_common *common, const topk_jit_options *wanted, bool others,
                         warm_inventory *out)
{
    if (!begin(common, wanted, out))
        return false;
    tkj_cache *cache = out->context->cache;
    const bool named = common->cache_dir[0] != '\0';
    if (!tkj_cache_layers(cache)) {
        warm_complain("%s", "the places of the cache cannot be listed: no memory, or too many "
                            "files are open");
        return false;
    }
    out->places = calloc(cache->layers.count + 1, sizeof *out->places);
    bool enough = out->places != NULL;
    for (size_t i = 0; enough && i < cache->layers.count; i++)
        enough = add_place(out, &cache->layers.at[i],
                           named && cache->layers.at[i].kind == TKJ_LAYER_USER, others);
    return (enough && list_items(out)) || without_memory();
}

bool warm_inventory_of(const warm_common *common, const char *path, bool others,
                       warm_inventory *out)
{
    const topk_jit_options wanted = TOPK_JIT_OPTIONS_INIT;
    tkj_layers layers;
    if (!begin(common, &wanted, out))
        return false;
    /* as the installation's place, of which there is one: a path may have a colon */
    if (tkj_layers_find(&out->reader, NULL, path, NULL, &layers) != TOPK_JIT_OK)
        return without_memory();
    out->places = calloc(layers.count + 1, sizeof *out->places);
    bool enough = out->places != NULL;
    for (size_t i = 0; enough && i < layers.count; i++)
        enough = add_place(out, &layers.at[i], true, others);
    tkj_layers_release(&out->reader.allocator, &layers);
    return (enough && list_items(out)) || without_memory();
}

const warm_place *warm_inventory_user(const warm_inventory *inventory)
{
    const size_t count = inventory->place_count; /* it is searched last */
    const warm_place *last = count > 0 ? &inventory->places[count - 1] : NULL;
    return last != NULL && last->kind == TKJ_LAYER_USER ? last : NULL;
}

bool warm_place_is_missed(const warm_place *place)
{
    const bool missed = place->named && place->absent;
    if (missed)
        warm_complain("%s: it does not exist", place->path);
    return missed;
}

void warm_inventory_release(warm_inventory *inventory)
{
    for (size_t i = 0; i < inventory->place_count; i++) {
        tkj_walk_release(&inventory->reader.allocator, &inventory->places[i].walk);
        tkj_pack_head_release(&inventory->reader.allocator, &inventory->places[i].head);
        free(inventory->places[i].path);
    }
    free(inventory->places);
    free(inventory->items);
    topk_jit_context_destroy(inventory->context);
    *inventory = (warm_inventory){.context = NULL};
}
