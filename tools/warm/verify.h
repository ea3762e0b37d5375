/* SPDX-License-Identifier: Apache-2.0 */
/** @file verify.h @brief Checks every entry and every pack, and removes what is broken if asked. */
#ifndef TKJ_WARM_VERIFY_H
#define TKJ_WARM_VERIFY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "inventory.h"

typedef enum warm_verify_kind {
    WARM_FINDING_CORRUPT,    /* an entry or a pack that servers would not take for one */
    WARM_FINDING_UNREADABLE, /* nobody knows what is in it */
    WARM_FINDING_UNUSABLE,   /* a place that servers do not use */
    WARM_FINDING_STALE,      /* what a process left that died while it wrote */
    WARM_FINDING_FOREIGN,    /* nothing of the cache's */
    WARM_FINDING_KINDS,      /* how many there are */
} warm_verify_kind;

typedef struct warm_verify_finding {
    warm_verify_kind kind;
    char *path; /* owned */
    char *why;  /* owned */
    bool repaired;
} warm_verify_finding;

/** What was checked and found. */
typedef struct warm_verification {
    bool repair; /* to remove what is broken from the user's directory */
    size_t entries;
    size_t packs;
    warm_verify_finding *findings;
    size_t finding_count;
    size_t finding_capacity;
    bool complete; /* false: no memory for all that was found */
} warm_verification;

/** Checks all places of an inventory, which was opened with the others. */
void warm_verify_places(const warm_inventory *inventory, warm_verification *verification);

/** Checks one entry or pack that is a file anywhere. */
void warm_verify_file(const warm_inventory *inventory, const char *path,
                      warm_verification *verification);

/** How many there are of a kind. @param open  only those that are not repaired */
size_t warm_verify_count(const warm_verification *verification, warm_verify_kind kind, bool open);

/** True if nothing is wrong, or nothing any more: what is stale or foreign harms nobody. */
bool warm_verify_is_sound(const warm_verification *verification);

void warm_verify_release(warm_verification *verification);

/** Prints a line a finding and one for all. */
bool warm_verify_text(const warm_verification *verification);

/**
 * One object:
 *     {"version", "repair",
 *      "summary": {"entries", "packs", "corrupt", "unreadable", "unusable", "stale", "foreign",
 *                  "repaired"},
 *      "findings": [{"kind", "path", "why", "repaired"}]}
 * kind is one of the words of the summary.
 * @return NULL if there was no memory for it
 */
json_t *warm_verify_json(const warm_verification *verification);

#endif /* TKJ_WARM_VERIFY_H */
