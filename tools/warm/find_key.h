/* SPDX-License-Identifier: Apache-2.0 */
/** @file find_key.h @brief An entry by the first digits of its key, as git finds objects. */
#ifndef TKJ_WARM_FIND_KEY_H
#define TKJ_WARM_FIND_KEY_H

#include "inventory.h"

/** True if a word may be the beginning of a key: 4 to 32 hexadecimal digits. */
bool warm_is_key(const char *word);

/**
 * Finds the entry that a look-up would find: in the first place that has one of the only key which
 * begins so, of the newest toolchain there. What is wrong is said on stderr: in one line, and if
 * several keys begin so, one more for each of the first few.
 * @param[out] out  borrowed from the inventory
 * @return WARM_EXIT_DONE, WARM_EXIT_USAGE (no key), WARM_EXIT_NOT_THERE (none), WARM_EXIT_FAILED
 *         (several)
 */
int warm_find_key(const warm_inventory *inventory, const char *prefix, const warm_item **out);

#endif /* TKJ_WARM_FIND_KEY_H */
