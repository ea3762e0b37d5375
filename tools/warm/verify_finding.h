/* SPDX-License-Identifier: Apache-2.0 */
/** @file verify_finding.h @brief What topk-jit-warm verify found: a list that grows. */
#ifndef TKJ_WARM_VERIFY_FINDING_H
#define TKJ_WARM_VERIFY_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digest.h"

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
    char *path;                        /* owned */
    char *why;                         /* owned */
    char key[2 * TKJ_DIGEST_SIZE + 1]; /* of the entry, where path is the pack that it is in; "" */
    bool repaired;
} warm_verify_finding;

/** What was checked and found. */
typedef struct warm_verification {
    bool repair; /* to remove what is broken from the user's directory */
    size_t entries;
    size_t packs;
    size_t temporary; /* files too young to be stale: whoever writes them may live */
    warm_verify_finding *findings;
    size_t finding_count;
    size_t finding_capacity;
    bool complete;  /* false: no memory for all that was found */
    size_t missing; /* paths that were named and are not there, which are unreadable, too */
} warm_verification;

/** Adds a finding. @param repaired  it is removed by now */
void warm_verify_note(warm_verification *to, warm_verify_kind kind, const char *path,
                      const char *why, bool repaired);

/** Adds a path that was named and is not there. */
void warm_verify_note_missing(warm_verification *to, const char *path);

/** Adds an entry that is corrupt, of a pack. @param key  TKJ_DIGEST_SIZE bytes */
void warm_verify_note_entry(warm_verification *to, const char *pack, const uint8_t *key,
                            const char *why);

/** How many there are of a kind. @param open  only those that are not repaired */
size_t warm_verify_count(const warm_verification *verification, warm_verify_kind kind, bool open);

/** True if nothing is wrong, or nothing any more: what is stale or foreign harms nobody. */
bool warm_verify_is_sound(const warm_verification *verification);

void warm_verify_release(warm_verification *verification);

#endif /* TKJ_WARM_VERIFY_FINDING_H */
