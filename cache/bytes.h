/* SPDX-License-Identifier: Apache-2.0 */
/** @file bytes.h @brief Numbers as the files of the cache hold them: little-endian, of fixed width.
 * Pure. */
#ifndef TKJ_CACHE_BYTES_H
#define TKJ_CACHE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** @param width  bytes, at most 8 */
static inline void tkj_bytes_put(uint8_t *at, uint64_t value, size_t width)
{
    for (size_t i = 0; i < width; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

/** @param width  bytes, at most 8 */
static inline uint64_t tkj_bytes_get(const uint8_t *at, size_t width)
{
    uint64_t value = 0;
    for (size_t i = 0; i < width; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static inline bool tkj_bytes_are_zero(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

#endif /* TKJ_CACHE_BYTES_H */
