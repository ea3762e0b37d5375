/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file ordered_key.cuh
 * @brief Scores as unsigned integers that sort as the contract orders them, for TKJ_DTYPE.
 *
 * tkj_element holds the bits of a score; tkj_key has TKJ_KEY_BITS significant bits. +0 and -0 share
 * one key. All NaN share one: the greatest, or with TKJ_NAN_LAST 0, which no number has (the
 * smallest number is -inf, whose key is not 0).
 */
#ifndef TKJ_ORDERED_KEY_CUH
#define TKJ_ORDERED_KEY_CUH

#include "platform.cuh"

#if TKJ_DTYPE == TKJ_FLOAT32 || TKJ_DTYPE == TKJ_INT32
typedef tkj_u32 tkj_element;
typedef tkj_u32 tkj_key;
#define TKJ_KEY_BITS 32
#elif TKJ_DTYPE == TKJ_FLOAT16 || TKJ_DTYPE == TKJ_BFLOAT16
typedef tkj_u16 tkj_element;
typedef tkj_u32 tkj_key;
#define TKJ_KEY_BITS 16
#else
typedef tkj_u64 tkj_element;
typedef tkj_u64 tkj_key;
#define TKJ_KEY_BITS 64
#endif

#if TKJ_DTYPE == TKJ_FLOAT32
#define TKJ_INFINITY 0x7f800000u
#elif TKJ_DTYPE == TKJ_FLOAT16
#define TKJ_INFINITY 0x7c00u
#elif TKJ_DTYPE == TKJ_BFLOAT16
#define TKJ_INFINITY 0x7f80u
#elif TKJ_DTYPE == TKJ_FLOAT64
#define TKJ_INFINITY 0x7ff0000000000000ull
#endif

#define TKJ_SIGN ((tkj_key)1 << (TKJ_KEY_BITS - 1))
#define TKJ_ALL_ONES (TKJ_SIGN | (TKJ_SIGN - 1))

TKJ_DEVICE tkj_key tkj_ordered_key(tkj_element element)
{
    tkj_key bits = element;
#ifdef TKJ_INFINITY
    tkj_key magnitude = bits & ~TKJ_SIGN;
    if (magnitude > TKJ_INFINITY)
        return TKJ_NAN_LAST ? 0 : TKJ_ALL_ONES;
    if (magnitude == 0)
        return TKJ_SIGN;
    return bits & TKJ_SIGN ? ~bits & TKJ_ALL_ONES : bits | TKJ_SIGN;
#else
    return bits ^ TKJ_SIGN;
#endif
}

/** True if several elements have this key: zeros, or NaN. */
TKJ_DEVICE bool tkj_key_is_ambiguous(tkj_key key)
{
#ifdef TKJ_INFINITY
    return key == TKJ_SIGN || key == (TKJ_NAN_LAST ? 0 : TKJ_ALL_ONES);
#else
    return false;
#endif
}

/** The element of a key that is not ambiguous. */
TKJ_DEVICE tkj_element tkj_element_of_key(tkj_key key)
{
#ifdef TKJ_INFINITY
    return (tkj_element)(key & TKJ_SIGN ? key & ~TKJ_SIGN : ~key & TKJ_ALL_ONES);
#else
    return (tkj_element)(key ^ TKJ_SIGN);
#endif
}

/** The key that a float has, whatever TKJ_DTYPE is. */
TKJ_DEVICE tkj_u32 tkj_float_key(float value)
{
    tkj_u32 bits = tkj_bits_from_float(value);
    tkj_u32 magnitude = bits & 0x7fffffffu;
    tkj_u32 key = bits >> 31 ? ~bits : bits | 0x80000000u;
    key = magnitude == 0 ? 0x80000000u : key;
    return magnitude > 0x7f800000u ? (TKJ_NAN_LAST ? 0 : 0xffffffffu) : key;
}

/** The float that has a key; for that of NaN, a NaN. */
TKJ_DEVICE float tkj_float_of_key(tkj_u32 key)
{
    return tkj_float_from_bits(key >> 31 ? key & 0x7fffffffu : ~key);
}

#if TKJ_DTYPE == TKJ_FLOAT32 || TKJ_DTYPE == TKJ_FLOAT16 || TKJ_DTYPE == TKJ_BFLOAT16
/** A score as a float: exact, so floats order as the scores do. */
TKJ_DEVICE float tkj_float_of(tkj_element element)
{
#if TKJ_DTYPE == TKJ_FLOAT32
    return tkj_float_from_bits(element);
#elif TKJ_DTYPE == TKJ_FLOAT16
    return tkj_float_from_half(element);
#else
    return tkj_float_from_bits((tkj_u32)element << 16);
#endif
}
#endif

/** The elements of one row's window: element i is at data[i * stride]. */
typedef struct tkj_elements {
    const tkj_element *data;
    tkj_i64 stride; /* 1 where TKJ_UNIT_STRIDE */
} tkj_elements;

TKJ_DEVICE tkj_element tkj_element_at(const tkj_elements *elements, tkj_i64 i)
{
#if TKJ_UNIT_STRIDE
    return elements->data[i];
#else
    return elements->data[i * elements->stride];
#endif
}

TKJ_DEVICE tkj_key tkj_key_at(const tkj_elements *elements, tkj_i64 i)
{
    return tkj_ordered_key(tkj_element_at(elements, i));
}

#endif /* TKJ_ORDERED_KEY_CUH */
