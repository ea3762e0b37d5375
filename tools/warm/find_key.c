/* SPDX-License-Identifier: Apache-2.0 */
#include "find_key.h"

#include <stdio.h>
#include <string.h>

#include "complain.h"
#include "identify.h"
#include "item.h"
#include "out.h"

#define KEY_HEX ((size_t)2 * TKJ_DIGEST_SIZE)
#define SHORTEST 4
#define CANDIDATES 10

bool warm_is_key(const char *word)
{
    const size_t length = strlen(word);
    return length >= SHORTEST && length <= KEY_HEX &&
           strspn(word, "0123456789abcdefABCDEF") == length;
}

static bool begins_so(const warm_item *item, const char *prefix)
{
    char hex[KEY_HEX + 1];
    tkj_digest_format(item->key.digest, hex);
    return strncasecmp(hex, prefix, strlen(prefix)) == 0;
}

static bool is_same_key(const warm_item *a, const warm_item *b)
{
    return memcmp(&a->key, &b->key, sizeof a->key) == 0;
}

/* Of one key: a look-up takes the first place, and there the newest toolchain. */
static bool is_better(const warm_item *item, const warm_item *than)
{
    return than == NULL || (item->place == than->place && item->major > than->major);
}

static void name_candidate(const warm_inventory *inventory, const warm_item *item)
{
    char key[KEY_HEX + 1];
    tkj_blob bytes;
    tkj_entry entry;
    const char *why;
    tkj_digest_format(item->key.digest, key);
    fprintf(stderr, "  %s", key);
    if (warm_item_read(inventory, item, &bytes, &entry, &why) == TKJ_CACHE_HIT) {
        warm_identity identity;
        warm_identify(&entry, &identity);
        fputs("  ", stderr);
        warm_out_text(stderr, entry.target, strlen(entry.target));
        fprintf(stderr, "  %s  ", warm_identity_variant(&identity));
        if (identity.spec != NULL)
            warm_out_text(stderr, identity.spec, identity.spec_length);
        warm_item_release(inventory, &bytes);
    }
    fputc('\n', stderr);
}

/* Each key once: whether one was there before is asked of the items before it. */
static bool is_first_of_its_key(const warm_inventory *inventory, const warm_item *item)
{
    for (const warm_item *at = inventory->items; at < item; at++)
        if (is_same_key(at, item))
            return false;
    return true;
}

static int fail_ambiguous(const warm_inventory *inventory, const char *prefix)
{
    warm_complain("several keys begin with '%s'; give more digits:", prefix);
    size_t named = 0;
    for (size_t i = 0; i < inventory->item_count; i++) {
        const warm_item *item = &inventory->items[i];
        if (!begins_so(item, prefix) || !is_first_of_its_key(inventory, item))
            continue;
        if (named++ == CANDIDATES) {
            fputs("  and more\n", stderr);
            break;
        }
        name_candidate(inventory, item);
    }
    return WARM_EXIT_FAILED;
}

int warm_find_key(const warm_inventory *inventory, const char *prefix, const warm_item **out)
{
    *out = NULL;
    if (!warm_is_key(prefix)) {
        warm_complain("'%s' is no key (expected: 4 to 32 hexadecimal digits)", prefix);
        return WARM_EXIT_USAGE;
    }
    for (size_t i = 0; i < inventory->item_count; i++) {
        const warm_item *item = &inventory->items[i];
        if (!begins_so(item, prefix))
            continue;
        if (*out != NULL && !is_same_key(item, *out))
            return fail_ambiguous(inventory, prefix);
        if (is_better(item, *out))
            *out = item;
    }
    if (*out != NULL)
        return WARM_EXIT_DONE;
    warm_complain("no entry of the cache has a key that begins with '%s'", prefix);
    return WARM_EXIT_NOT_THERE;
}
