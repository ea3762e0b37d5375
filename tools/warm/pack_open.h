/* SPDX-License-Identifier: Apache-2.0 */
/** @file pack_open.h @brief A pack in memory, after all of it was checked. */
#ifndef TKJ_WARM_PACK_OPEN_H
#define TKJ_WARM_PACK_OPEN_H

#include <stdbool.h>
#include <topk_jit/topk_jit.h>

#include "os.h"
#include "pack.h"

typedef struct warm_opened_pack {
    const char *path; /* borrowed */
    tkj_blob bytes;   /* owned: the whole file */
    tkj_pack_index index;
} warm_opened_pack;

/**
 * Reads a pack of which a server would believe that `trust` allows it, and verifies the whole of
 * it. What is wrong is said in one line on stderr.
 * @param[out] out  released with warm_pack_close, also after a failure
 */
bool warm_pack_open(const char *path, tkj_trust trust, warm_opened_pack *out);

void warm_pack_close(warm_opened_pack *pack);

/** An entry of the pack: borrowed from it. */
tkj_blob warm_pack_entry(const warm_opened_pack *pack, const tkj_pack_record *record);

#endif /* TKJ_WARM_PACK_OPEN_H */
