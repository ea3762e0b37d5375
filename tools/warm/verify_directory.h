/* SPDX-License-Identifier: Apache-2.0 */
/** @file verify_directory.h @brief Checks a directory of entries, and repairs the user's. */
#ifndef TKJ_WARM_VERIFY_DIRECTORY_H
#define TKJ_WARM_VERIFY_DIRECTORY_H

#include "inventory.h"
#include "verify_finding.h"

/** Checks a directory that servers use, of an inventory that was opened with the others. What is
 *  broken is removed if it is the user's and that is asked for. */
void warm_verify_directory(const warm_inventory *inventory, const warm_place *place,
                           warm_verification *to);

#endif /* TKJ_WARM_VERIFY_DIRECTORY_H */
