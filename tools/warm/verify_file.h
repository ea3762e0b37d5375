/* SPDX-License-Identifier: Apache-2.0 */
/** @file verify_file.h @brief Checks a pack or an entry that is a file anywhere. */
#ifndef TKJ_WARM_VERIFY_FILE_H
#define TKJ_WARM_VERIFY_FILE_H

#include "os.h"
#include "verify_finding.h"

/** Checks a pack, of which servers would have to believe that `trust` allows it. */
void warm_verify_pack(const char *path, tkj_trust trust, warm_verification *to);

/** Checks one entry or pack. */
void warm_verify_file(const char *path, tkj_trust trust, warm_verification *to);

#endif /* TKJ_WARM_VERIFY_FILE_H */
