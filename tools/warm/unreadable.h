/* SPDX-License-Identifier: Apache-2.0 */
/** @file unreadable.h @brief What of a place nobody can look into, or is to: its entries are
 * missing from all that is said of the place. */
#ifndef TKJ_WARM_UNREADABLE_H
#define TKJ_WARM_UNREADABLE_H

#include <jansson.h>
#include <stdbool.h>

#include "inventory.h"

/** Why it is unreadable: static, or of strerror. */
const char *warm_unreadable_why(const tkj_walk_other *other);

/** Names each in one line on stderr. @return whether there are any */
bool warm_unreadable_complain(const warm_place *place);

/** A list of {"path", "why"}. @return NULL if there is no memory for it */
json_t *warm_unreadable_json(const warm_place *place);

#endif /* TKJ_WARM_UNREADABLE_H */
