/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file value_bins.cuh
 * @brief Bins by value: a linear map of a row's own range onto the bins of a histogram.
 *
 * bin = cut(offset - x * scale to [0, 1]) * (bins - 1), taken from the mantissa of a float beside
 * 2^23, without a conversion. Both steps are multiply-adds and monotone however they round, so a
 * larger score never lands in a later bin: whatever the range was, the map only decides how evenly
 * bins fill, never the result.
 */
#ifndef TKJ_VALUE_BINS_CUH
#define TKJ_VALUE_BINS_CUH

#include "histogram.cuh"
#include "ordered_key.cuh"

#define TKJ_TWO_23 8388608.0f
#define TKJ_TWO_23_BITS 0x4b000000u
#define TKJ_FLOAT_MAX 3.402823466e38f
#define TKJ_FLOAT_INFINITY tkj_float_from_bits(0x7f800000u)

/** The map. Of no range: all finite scores, and -inf, in the last bin. */
typedef struct tkj_value_map {
    float offset;
    float scale; /* ranges per unit, below 0: infinities have the place of their sign */
} tkj_value_map;

TKJ_DEVICE bool tkj_is_finite(float x)
{
    return (tkj_bits_from_float(x) & 0x7fffffffu) < 0x7f800000u;
}

/** The nearest finite float; of NaN the largest one. */
TKJ_DEVICE float tkj_cut_to_finite(float x)
{
    return fmaxf(fminf(x, TKJ_FLOAT_MAX), -TKJ_FLOAT_MAX);
}

/** A map of [bottom, top] onto all bins; any finite floats. */
TKJ_DEVICE tkj_value_map tkj_value_map_of(float top, float bottom)
{
    float scale = tkj_reciprocal(top - bottom);
    bool usable = scale > 0.0f && tkj_is_finite(scale);
    tkj_value_map map = {usable ? top * scale : 1.0f, usable ? -scale : -1e-45f};
    return map;
}

/** The same of two pivots, which differ: of less than 1e-38, as among denormals, onto some bins. */
TKJ_DEVICE tkj_value_map tkj_value_map_of_pivots(float high, float low)
{
    float scale = fminf(tkj_reciprocal(high - low), 3e38f);
    float offset = high * scale;
    bool usable = scale > 0.0f && tkj_is_finite(offset);
    tkj_value_map map = {usable ? offset : 1.0f, usable ? -scale : -1e-45f};
    return map;
}

/** Place of a score in the range: 0 at the top or above, 1 at the bottom or below. NaN is at 0, or
 *  with TKJ_NAN_LAST at 1. */
TKJ_DEVICE float tkj_value_place(const tkj_value_map *map, float x)
{
    float place = tkj_fma_saturated(x, map->scale, map->offset);
#if TKJ_NAN_LAST
    place = x != x ? 1.0f : place;
#endif
    return place;
}

/** The bin of a score as the bits of 2^23 + bin. */
TKJ_DEVICE tkj_u32 tkj_value_bin_bits(const tkj_value_map *map, float x)
{
    return tkj_bits_from_float(fmaf(tkj_value_place(map, x), (float)(TKJ_BINS - 1), TKJ_TWO_23));
}

/** The bin of a score. */
TKJ_DEVICE tkj_u32 tkj_value_bin(const tkj_value_map *map, float x)
{
    return tkj_value_bin_bits(map, x) - TKJ_TWO_23_BITS;
}

/** True if scores of different keys have different bins, but for the first and the last one, in a
 * map of about [bottom, top]: there are so few keys in it that bins are less than half as wide as
 * the least distance. */
TKJ_DEVICE bool tkj_bins_are_distinct(float top, float bottom)
{
    return tkj_float_key(top) - tkj_float_key(bottom) < TKJ_BINS / 4 && top - bottom > 1e-36f;
}

#endif /* TKJ_VALUE_BINS_CUH */
