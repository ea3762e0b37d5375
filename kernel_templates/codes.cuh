/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file codes.cuh
 * @brief A few scores in their exact order, each compared with all others.
 *
 * A code is a score's key above its position, so that no two are equal: larger codes are taken
 * first.
 */
#ifndef TKJ_CODES_CUH
#define TKJ_CODES_CUH

#include "ordered_key.cuh"
#include "scan.cuh"

/* Codes that are compared one by one: all of them by each, in turns of one a warp, so that so many
 * cost as much as a histogram. */
#define TKJ_COMPARED (TKJ_THREADS <= 256 ? 64 : 128)

TKJ_DEVICE tkj_u64 tkj_code(tkj_u32 key, tkj_u32 position)
{
    return (tkj_u64)key << 32 | (TKJ_TIE_LARGEST ? position : ~position);
}

TKJ_DEVICE tkj_u32 tkj_position_of_code(tkj_u64 code)
{
    return TKJ_TIE_LARGEST ? (tkj_u32)code : ~(tkj_u32)code;
}

/** How many of the first `count` codes are above this one. All lanes call, with the same one. */
TKJ_DEVICE tkj_u32 tkj_codes_above(tkj_u64 code, tkj_u32 count, const tkj_u64 codes[TKJ_COMPARED])
{
    tkj_u32 above = 0;
    for (tkj_u32 first = 0; first < count; first += TKJ_WARP) {
        tkj_u32 other = first + tkj_lane();
        above += tkj_count_bits(tkj_ballot(other < count && codes[other % TKJ_COMPARED] > code));
    }
    return above;
}

#endif /* TKJ_CODES_CUH */
