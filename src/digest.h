/* SPDX-License-Identifier: Apache-2.0 */
/** @file digest.h @brief XXH3-128 in canonical (big-endian) byte order: the one hash of the
 * library. */
#ifndef TKJ_DIGEST_H
#define TKJ_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define TKJ_DIGEST_SIZE 16

void tkj_digest(const void *bytes, size_t size, uint8_t digest[TKJ_DIGEST_SIZE]);

/** Bytes that are somewhere: borrowed. */
typedef struct tkj_piece {
    const void *bytes; /* may be NULL if size is 0 */
    size_t size;
} tkj_piece;

/** The digest of all pieces, one after the other: that of the same bytes in one. */
void tkj_digest_pieces(const tkj_piece *pieces, size_t count, uint8_t digest[TKJ_DIGEST_SIZE]);

/** Lower-case hexadecimal, NUL-terminated. */
void tkj_digest_format(const uint8_t digest[TKJ_DIGEST_SIZE], char text[2 * TKJ_DIGEST_SIZE + 1]);

#endif /* TKJ_DIGEST_H */
