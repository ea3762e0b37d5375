/* SPDX-License-Identifier: Apache-2.0 */
/** @file ordered_key.h @brief An element as an unsigned integer that sorts as the contract orders
 * it. */
#ifndef TKJ_ORDERED_KEY_H
#define TKJ_ORDERED_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <topk_jit/topk_jit.h>

/** Bytes of one element: inline, for every call asks it several times. */
static inline size_t tkj_dtype_size(topk_jit_dtype dtype)
{
    switch (dtype) {
    case TOPK_JIT_FLOAT16:
    case TOPK_JIT_BFLOAT16:
        return 2;
    case TOPK_JIT_FLOAT64:
    case TOPK_JIT_INT64:
        return 8;
    case TOPK_JIT_FLOAT32:
    case TOPK_JIT_INT32:
        break;
    }
    return 4;
}

/**
 * Key of the element at an address (aligned to the element).
 *
 * +0 and -0 have one key, all NaN have one: the greatest, or with nan_last 0, which no number has.
 */
uint64_t tkj_ordered_key(topk_jit_dtype dtype, bool nan_last, const void *element);

#endif /* TKJ_ORDERED_KEY_H */
