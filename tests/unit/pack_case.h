/* SPDX-License-Identifier: Apache-2.0 */
/** @file pack_case.h @brief Packs of small entries, and where the numbers in them are. */
#ifndef TKJ_PACK_CASE_H
#define TKJ_PACK_CASE_H

#include "testing.h"

#include "entry.h"
#include "pack.h"

/** Offsets of the format, as README.md of the cache has them. */
enum {
    PACK_VERSION_AT = 8,
    PACK_COUNT_AT = 12,
    PACK_FILE_SIZE_AT = 16,
    PACK_INDEX_DIGEST_AT = 24,
    PACK_ZEROS_AT = 40,
    PACK_INDEX_AT = 64,
    PACK_RECORD_SIZE = 32,
    PACK_MAJOR_IN_RECORD = 16,
    PACK_SIZE_IN_RECORD = 20,
    PACK_OFFSET_IN_RECORD = 24,
};

/** Entries of the pack that most tests take. */
#define PACK_CASE_TRIO 3

/** An entry whose preimage is the number, under its key. */
tkj_pack_item pack_case_item(unsigned number, uint32_t major);

void pack_case_release(tkj_blob *blob);
void pack_case_release_items(tkj_pack_item *items, size_t count);

/** Encodes them, which must succeed. */
tkj_blob pack_case_encode(tkj_pack_item *items, size_t count);

/** A pack of the entries 0 .. count - 1, major 13. */
tkj_blob pack_case_of(unsigned count);

/** The index of a sound pack. */
tkj_pack_index pack_case_index(const tkj_blob *pack);

/** The bytes of a record, and the offset in it. */
uint8_t *pack_case_record(tkj_blob *pack, size_t position);
uint64_t pack_case_offset(tkj_blob *pack, size_t position);

/** Verifies a copy that ends where its memory ends, so that a sanitizer sees any read beyond it. */
const char *pack_case_verify(const uint8_t *bytes, size_t size);

/** Decodes the index of such a copy; asserts that a flawed one is left empty. */
const char *pack_case_decode_head(const uint8_t *head, size_t head_size, uint64_t file_size);

#endif /* TKJ_PACK_CASE_H */
