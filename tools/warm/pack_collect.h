/* SPDX-License-Identifier: Apache-2.0 */
/** @file pack_collect.h @brief The entries of a cache's directory that belong into a pack. */
#ifndef TKJ_WARM_PACK_COLLECT_H
#define TKJ_WARM_PACK_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <topk_jit/topk_jit.h>

#include "inventory.h"
#include "pack.h"
#include "pack_options.h"

/** What is no sound entry, though it stands where one should. */
typedef struct warm_pack_flaw {
    char *file;       /* owned: below the root */
    const char *what; /* static */
} warm_pack_flaw;

/** What was found, and what of it is packed. */
typedef struct warm_pack_found {
    tkj_pack_item *items; /* owned, with their bytes; by key and toolchain */
    size_t count;
    uint64_t bytes;
    warm_pack_flaw *flaws; /* owned */
    size_t flaw_count;
    size_t other_templates; /* sound, but of templates that are not the library's */
    size_t not_asked_for;   /* sound, and of another target or spec */
} warm_pack_found;

/**
 * Reads every entry of the user's directory and keeps those that are asked for.
 * @param inventory  opened with the others
 * @param templates  digest of those that are wanted; NULL = any
 * @param[out] out   released with warm_pack_release, also after a failure
 * @return WARM_EXIT_DONE; WARM_EXIT_NOT_THERE (no directory), WARM_EXIT_FAILED, after one line on
 *         stderr
 */
int warm_pack_collect(const warm_inventory *inventory, const warm_pack_options *options,
                      const uint8_t *templates, warm_pack_found *out);

void warm_pack_release(warm_pack_found *found);

#endif /* TKJ_WARM_PACK_COLLECT_H */
