/* SPDX-License-Identifier: Apache-2.0 */
/** @file identify.h @brief Which kernel of this library an entry is. Pure. */
#ifndef TKJ_WARM_IDENTIFY_H
#define TKJ_WARM_IDENTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <topk_jit/topk_jit.h>

#include "entry.h"
#include "target.h"
#include "variants.h"

typedef struct warm_identity {
    const char *spec; /* as the preimage has it, not terminated, any characters; NULL = none */
    size_t spec_length;
    bool known; /* all below: a kernel that this version would make */
    topk_jit_spec parsed;
    tkj_variant variant;
    tkj_target target;
} warm_identity;

/** Identifies a sound entry, whoever wrote it. */
void warm_identify(const tkj_entry *entry, warm_identity *out);

/** The variant's name; "" if it is not known. */
const char *warm_identity_variant(const warm_identity *identity);

#endif /* TKJ_WARM_IDENTIFY_H */
