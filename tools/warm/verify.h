/* SPDX-License-Identifier: Apache-2.0 */
/** @file verify.h @brief Checks every entry and every pack, and removes what is broken if asked. */
#ifndef TKJ_WARM_VERIFY_H
#define TKJ_WARM_VERIFY_H

#include <jansson.h>
#include <stdbool.h>

#include "inventory.h"
#include "verify_finding.h"

/** Checks all places of an inventory, which was opened with the others. */
void warm_verify_places(const warm_inventory *inventory, warm_verification *verification);

/** Prints a line a finding and one for all. */
bool warm_verify_text(const warm_verification *verification);

/**
 * One object:
 *     {"version", "repair",
 *      "summary": {"entries", "packs", "corrupt", "unreadable", "unusable", "stale", "foreign",
 *                  "temporary", "repaired"},
 *      "findings": [{"kind", "path", "key", "why", "repaired"}]}
 * kind is one of the words of the summary; key is that of an entry whose pack path is, else null.
 * @return NULL if there was no memory for it
 */
json_t *warm_verify_json(const warm_verification *verification);

#endif /* TKJ_WARM_VERIFY_H */
