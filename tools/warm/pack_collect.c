/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_collect.h"

#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "create_context.h"
#include "item.h"
#include "key.h"
#include "memory.h"

/** A collection under way. */
typedef struct collector {
    const warm_inventory *inventory;
    const warm_pack_options *options;
    char templates[2 * TKJ_DIGEST_SIZE + 1]; /* digest of those that are wanted; "" = any */
    warm_pack_found *found;
} collector;

/* ---- what is wanted ---- */

/** Of an untrusted preimage. @return its length; 0 if there is none */
static size_t field_of(const tkj_entry *entry, const char *tag, const char **text)
{
    size_t length;
    *text = "";
    return tkj_key_field(entry->preimage, tag, text, &length) ? length : 0;
}

static bool has_templates(const collector *to, const tkj_entry *entry)
{
    const char *text;
    const size_t wanted = strlen(to->templates);
    return wanted == 0 || (field_of(entry, "templates", &text) == wanted &&
                           memcmp(text, to->templates, wanted) == 0);
}

/** Counts the reason if it is not. */
static bool is_wanted(const collector *to, const tkj_entry *entry)
{
    const warm_pack_options *options = to->options;
    const char *text;
    const size_t length = field_of(entry, "spec", &text);
    const size_t spec = warm_pack_spec(options, text, length);
    const size_t target = warm_target_set_find(&options->targets, entry->target);
    if (!has_templates(to, entry)) {
        to->found->other_templates++;
        return false;
    }
    if ((options->spec_count > 0 && spec == options->spec_count) ||
        (options->targets.count > 0 && target == options->targets.count)) {
        to->found->not_asked_for++;
        return false;
    }
    return true;
}

/* ---- the entries ---- */

static bool short_of_memory(void)
{
    warm_complain("there is no memory for the entries");
    return false;
}

static bool add_flaw(const collector *to, const char *file, const char *what)
{
    warm_pack_found *found = to->found;
    warm_pack_flaw *more = reallocarray(found->flaws, found->flaw_count + 1, sizeof *found->flaws);
    if (more == NULL)
        return short_of_memory();
    found->flaws = more;
    warm_pack_flaw *flaw = &more[found->flaw_count];
    flaw->file = strdup(file);
    if (flaw->file == NULL)
        return short_of_memory();
    flaw->what = what;
    found->flaw_count++;
    warm_complain("%s: %s", file, what);
    return true;
}

/** Takes the bytes over if it returns true. */
static bool add_item(const collector *to, const warm_item *at, tkj_blob bytes)
{
    warm_pack_found *found = to->found;
    if (found->count == TKJ_PACK_COUNT_MAX || found->bytes + bytes.size > TKJ_PACK_SIZE_MAX) {
        warm_complain("these are more entries than a pack holds, which is %zu of them and %llu "
                      "bytes: choose some with --arch or --spec",
                      TKJ_PACK_COUNT_MAX, (unsigned long long)TKJ_PACK_SIZE_MAX);
        return false;
    }
    if ((found->count & (found->count - 1)) == 0) { /* twice as many from each power of two on */
        const size_t capacity = found->count == 0 ? 1 : 2 * found->count;
        tkj_pack_item *more = reallocarray(found->items, capacity, sizeof *more);
        if (more == NULL)
            return short_of_memory();
        found->items = more;
    }
    tkj_pack_item *item = &found->items[found->count++];
    *item = (tkj_pack_item){.major = at->major, .bytes = bytes};
    memcpy(item->key, at->key.digest, TKJ_DIGEST_SIZE);
    found->bytes += bytes.size;
    return true;
}

/** What is removed meanwhile was never there. @return false if the collection is over */
static bool take(const collector *to, const warm_item *at)
{
    tkj_blob bytes;
    tkj_entry entry;
    const char *why;
    const tkj_cache_outcome outcome = warm_item_read(to->inventory, at, &bytes, &entry, &why);
    if (outcome == TKJ_CACHE_ABSENT)
        return true;
    if (outcome != TKJ_CACHE_HIT)
        return add_flaw(to, at->file->name, why);
    const bool wanted = is_wanted(to, &entry);
    if (wanted && add_item(to, at, bytes))
        return true;
    warm_item_release(to->inventory, &bytes);
    return !wanted;
}

static const char *flaw_of(const tkj_walk_other *other)
{
    if (other->kind == TKJ_WALK_UNREADABLE)
        return "it cannot be looked into";
    return other->kind == TKJ_WALK_NO_FILE ? "it is not a regular file" : NULL;
}

static bool take_all(const collector *to, const warm_place *place)
{
    for (size_t i = 0; i < place->walk.other_count; i++) {
        const char *flaw = flaw_of(&place->walk.others[i]);
        if (flaw != NULL && !add_flaw(to, place->walk.others[i].name, flaw))
            return false;
    }
    for (size_t i = 0; i < place->count; i++)
        if (!take(to, &to->inventory->items[place->first + i]))
            return false;
    return true;
}

static int collect(const collector *to, const warm_place *place)
{
    if (!take_all(to, place))
        return WARM_EXIT_FAILED;
    if (to->found->flaw_count == 0 || to->options->keep_going)
        return WARM_EXIT_DONE;
    warm_complain("%s: damaged entries: %zu; nothing was packed, --keep-going leaves them out",
                  place->path, to->found->flaw_count);
    return WARM_EXIT_FAILED;
}

int warm_pack_collect(const warm_inventory *inventory, const warm_pack_options *options,
                      const uint8_t *templates, warm_pack_found *out)
{
    *out = (warm_pack_found){.items = NULL};
    collector to = {.inventory = inventory, .options = options, .found = out};
    const warm_place *place = warm_inventory_user(inventory);
    if (place == NULL)
        return warm_no_cache_directory();
    if (place->flaw != NULL) {
        warm_complain("the cache directory %s %s", place->path, place->flaw);
        return place->absent ? WARM_EXIT_NOT_THERE : WARM_EXIT_FAILED;
    }
    if (templates != NULL)
        tkj_digest_format(templates, to.templates);
    return collect(&to, place);
}

void warm_pack_release(warm_pack_found *found)
{
    for (size_t i = 0; i < found->count; i++)
        tkj_free(&tkj_default_allocator, found->items[i].bytes.bytes);
    for (size_t i = 0; i < found->flaw_count; i++)
        free(found->flaws[i].file);
    free(found->items);
    free(found->flaws);
}
