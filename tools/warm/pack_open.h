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
    const char *flaw; /* static; NULL = it is sound */
    bool unreadable;  /* the flaw is none of what is in the file */
} warm_opened_pack;

/**
 * Reads an open pack and verifies the whole of it. The head comes first: memory and time are spent
 * only on a file whose size its entries account for.
 * @param file      of it, fd and size count
 * @param[out] out  released with warm_pack_close, also after a failure. Where the index is sound
 *                  and something else is not, its entries can be looked at
 * @return whether it is sound; what is not is in out->flaw
 */
bool warm_pack_read(const char *path, const tkj_file *file, warm_opened_pack *out);

/**
 * As warm_pack_read, of a pack of which a server would believe that `trust` allows it. What is
 * wrong is said in one line on stderr.
 * @return WARM_EXIT_DONE, WARM_EXIT_NOT_THERE (nothing has that path), WARM_EXIT_FAILED
 */
int warm_pack_open(const char *path, tkj_trust trust, warm_opened_pack *out);

void warm_pack_close(warm_opened_pack *pack);

/** An entry of the pack: borrowed from it. */
tkj_blob warm_pack_entry(const warm_opened_pack *pack, const tkj_pack_record *record);

#endif /* TKJ_WARM_PACK_OPEN_H */
