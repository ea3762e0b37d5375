/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file pack.h
 * @brief A pack as bytes: many cache entries as one immutable file. README.md beside this file is
 * the grammar. Pure.
 *
 * A reader that wants one entry needs the first bytes of the file only, and trusts none of them:
 *
 *     tkj_pack_head_size(first, sizeof first, file_size, &head_size)    first: 64 bytes or more
 *     tkj_pack_index_decode(head, head_size, file_size, &index)         head: head_size bytes
 *     tkj_pack_find(&index, key, major, &record)                        then reads the entry there
 *     tkj_entry_decode(entry, record.size, &out)                        which has its own digest
 */
#ifndef TKJ_CACHE_PACK_H
#define TKJ_CACHE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <topk_jit/topk_jit.h>

#include "digest.h"
#include "entry.h"
#include "os.h"

/** Bytes of a pack's header. */
#define TKJ_PACK_HEADER_SIZE ((size_t)64)

/** Most entries of a pack: the index of so many has 2 MiB. */
#define TKJ_PACK_COUNT_MAX ((size_t)65536)

/** Largest pack that is written or read: 4 GiB, so many entries of the usual 64 KiB. */
#define TKJ_PACK_SIZE_MAX ((uint64_t)4 << 30)

/** An entry for a pack. */
typedef struct tkj_pack_item {
    uint8_t key[TKJ_DIGEST_SIZE];
    uint32_t major; /* of the toolchain */
    tkj_blob bytes; /* as tkj_entry_encode made them; borrowed */
} tkj_pack_item;

/** Where an entry is, once its pack's index was found sound. */
typedef struct tkj_pack_record {
    const uint8_t *key; /* TKJ_DIGEST_SIZE bytes, borrowed */
    uint32_t major;
    uint64_t offset; /* bytes, from the start of the file */
    size_t size;     /* bytes, at most TKJ_ENTRY_SIZE_MAX */
} tkj_pack_record;

/** A sound index. Points into the bytes that were decoded. */
typedef struct tkj_pack_index {
    const uint8_t *records;
    size_t count;
} tkj_pack_index;

/**
 * Encodes entries as a pack: the same bytes for the same entries, in whatever order they come.
 * @param[in,out] items  sorted by key and major afterwards; may be NULL if count is 0
 * @param[out] out       owned by the caller; empty after a failure
 * @return TOPK_JIT_OK, TOPK_JIT_OUT_OF_MEMORY, TOPK_JIT_CACHE_FAILED (too many or too large, an
 *         entry that does not decode or is not under its key, two of one key and major)
 */
topk_jit_status tkj_pack_encode(const topk_jit_allocator *allocator, tkj_pack_item *items,
                                size_t count, tkj_blob *out);

/** A pack in pieces, so that one of a gigabyte does not need two. */
typedef struct tkj_pack_pieces {
    tkj_piece *at; /* owned; what they point to is of the items, or of `head`, or is static */
    size_t count;
    uint64_t size;   /* bytes of all pieces, which is that of the pack */
    uint8_t *head;   /* owned: header and index, and after them the digest of the pack */
    uint8_t *digest; /* of the pack, its last bytes: in head */
} tkj_pack_pieces;

/**
 * As tkj_pack_encode, but no entry is copied: the pieces, one after the other, are the pack.
 * @param[out] out  released with tkj_pack_pieces_release while the items' bytes are still there;
 *                  empty after a failure
 */
topk_jit_status tkj_pack_assemble(const topk_jit_allocator *allocator, tkj_pack_item *items,
                                  size_t count, tkj_pack_pieces *out);
void tkj_pack_pieces_release(const topk_jit_allocator *allocator, tkj_pack_pieces *pieces);

/** Whether the first bytes of a file, 8 or more, say that it is a pack of any version. */
bool tkj_pack_has_magic(const uint8_t *bytes, size_t size);

/**
 * How many bytes of a pack header and index have, from its header.
 * @param bytes      first bytes of the file; no more than TKJ_PACK_HEADER_SIZE of them are read
 * @param file_size  of the file itself
 * @param[out] out   at most TKJ_PACK_HEADER_SIZE + 32 * TKJ_PACK_COUNT_MAX; 0 if not sound
 * @return NULL if sound, else what is wrong, a static string
 */
const char *tkj_pack_head_size(const uint8_t *bytes, size_t size, uint64_t file_size, size_t *out);

/**
 * Decodes and verifies header and index: every entry lies in the file, and no two overlap.
 * @param head       first bytes of the file, as many as tkj_pack_head_size says or more
 * @param file_size  of the file itself
 * @param[out] out   empty if not sound
 * @return NULL if sound, else what is wrong, a static string
 */
const char *tkj_pack_index_decode(const uint8_t *head, size_t head_size, uint64_t file_size,
                                  tkj_pack_index *out);

/** The record of a position in the index. @param position  below index->count */
tkj_pack_record tkj_pack_at(const tkj_pack_index *index, size_t position);

/** Looks an entry up. @param[out] out  set if found @return false if the pack has none */
bool tkj_pack_find(const tkj_pack_index *index, const uint8_t key[TKJ_DIGEST_SIZE], uint32_t major,
                   tkj_pack_record *out);

/**
 * Verifies a whole pack: index, digest, padding, and every entry with its key.
 * @return NULL if sound, else what is wrong, a static string
 */
const char *tkj_pack_verify(const uint8_t *bytes, size_t size);

#endif /* TKJ_CACHE_PACK_H */
