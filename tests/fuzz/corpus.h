/* SPDX-License-Identifier: Apache-2.0 */
/** @file corpus.h @brief The files of the corpus, one at a time. */
#ifndef TKJ_FUZZ_CORPUS_H
#define TKJ_FUZZ_CORPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "entry.h"
#include "pack.h"

/** Takes a file. @param name  "sound-" if it must decode, "flaw-" if it must not, then what it is
 */
typedef void corpus_emit(const char *name, const uint8_t *bytes, size_t size);

/** A number to be written somewhere into a sound file. */
typedef struct corpus_change {
    const char *name;
    size_t at;
    size_t width;
    uint64_t value;
} corpus_change;

/** An entry with a preimage of its own. @return owned by the caller */
tkj_pack_item corpus_item(const char *preimage, uint32_t major);

void corpus_entries(corpus_emit *emit);
void corpus_packs(corpus_emit *emit);

#endif /* TKJ_FUZZ_CORPUS_H */
