/* SPDX-License-Identifier: Apache-2.0 */
#include "ordered_key.h"

#include <string.h>

/* Counting away from the sign bit in both directions gives +0 and -0 one key, and leaves the keys
   below -inf and above +inf to NaN. */
static uint64_t key_of_float(uint64_t bits, unsigned width, unsigned mantissa_bits, bool nan_last)
{
    uint64_t sign = UINT64_C(1) << (width - 1);
    uint64_t infinity = sign - (UINT64_C(1) << mantissa_bits);
    uint64_t magnitude = bits & (sign - 1);
    if (magnitude > infinity)
        return nan_last ? 0 : UINT64_MAX;
    return bits & sign ? sign - magnitude : sign + magnitude;
}

static uint64_t key_of_integer(int64_t value)
{
    return (uint64_t)value ^ (UINT64_C(1) << 63);
}

static uint16_t load_u16(const void *element)
{
    uint16_t bits;
    memcpy(&bits, element, sizeof bits);
    return bits;
}

static uint32_t load_u32(const void *element)
{
    uint32_t bits;
    memcpy(&bits, element, sizeof bits);
    return bits;
}

static uint64_t load_u64(const void *element)
{
    uint64_t bits;
    memcpy(&bits, element, sizeof bits);
    return bits;
}

uint64_t tkj_ordered_key(topk_jit_dtype dtype, bool nan_last, const void *element)
{
    switch (dtype) {
    case TOPK_JIT_FLOAT16:
        return key_of_float(load_u16(element), 16, 10, nan_last);
    case TOPK_JIT_BFLOAT16:
        return key_of_float(load_u16(element), 16, 7, nan_last);
    case TOPK_JIT_FLOAT64:
        return key_of_float(load_u64(element), 64, 52, nan_last);
    case TOPK_JIT_INT32:
        return key_of_integer((int32_t)load_u32(element));
    case TOPK_JIT_INT64:
        return key_of_integer((int64_t)load_u64(element));
    case TOPK_JIT_FLOAT32:
        break;
    }
    return key_of_float(load_u32(element), 32, 23, nan_last);
}
