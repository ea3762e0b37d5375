/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sampled_range.cuh
 * @brief The pivots of rows that bins by magnitude do not suit: by value over the sample's own
 * range, or a plateau of equal scores where the k-th largest is on one. Out of the way of the other
 * rows.
 *
 * 1. Where all samples are equal, the row is taken for a plateau.
 * 2. Otherwise count the sample in bins from the lowest maximum of its quarters to the highest
 *    minimum, NaN and infinity apart, and find the bins of the ranks.
 * 3. Where NaN or infinity reach the k-th place, or one bin has more samples than a list has room
 *    for, most of which are equal, they are a plateau. Where they may, its key is passed on, for
 *    when the lists were of no use.
 *
 * Nothing here is trusted either: plateau.cuh counts.
 */
#ifndef TKJ_SAMPLED_RANGE_CUH
#define TKJ_SAMPLED_RANGE_CUH

#include "sampled_pivot.cuh"

/** What the extremes of a sample say, as keys. */
typedef struct tkj_sample_extent {
    tkj_u32 top;    /* the lowest maximum of a quarter of the finite ones: few are above, */
    tkj_u32 bottom; /* the highest minimum: few are below, however far out */
    tkj_u32 equal;  /* of all samples, or 0 where they differ */
} tkj_sample_extent;

/** Quarters are of lanes, so that each is spread over the row. Of the shared extremes each quarter
 * has a place, and what all samples are, if they are equal, the next one. */
TKJ_DEVICE tkj_sample_extent tkj_extent_of_sample(const float x[TKJ_SAMPLED],
                                                  tkj_held_shared *shared)
{
    float high = -TKJ_FLOAT_INFINITY;
    float low = TKJ_FLOAT_INFINITY;
    tkj_u32 differing = 0;
    TKJ_UNROLL
    for (tkj_u32 i = 0; i < TKJ_SAMPLED; i++) {
        high = tkj_is_finite(x[i]) ? fmaxf(high, x[i]) : high;
        low = tkj_is_finite(x[i]) ? fminf(low, x[i]) : low;
        differing |= tkj_bits_from_float(x[i]) ^ tkj_bits_from_float(x[0]);
    }
    tkj_u32 highest = tkj_float_key(high);
    tkj_u32 lowest = tkj_float_key(low);
    TKJ_UNROLL
    for (tkj_u32 mask = TKJ_SAMPLED_TOGETHER; mask < TKJ_WARP; mask *= 2) {
        tkj_u32 other_high = tkj_shuffle_xor(highest, mask);
        tkj_u32 other_low = tkj_shuffle_xor(lowest, mask);
        highest = other_high > highest ? other_high : highest;
        lowest = other_low < lowest ? other_low : lowest;
    }
    tkj_u32 first = tkj_float_key(x[0]);
    tkj_u32 most = tkj_warp_max(differing == 0 ? first : 0xffffffffu);
    tkj_u32 least = tkj_warp_min(differing == 0 ? first : 0);
    if (tkj_thread() <= TKJ_SAMPLED_TOGETHER) {
        shared->high[tkj_thread()] = 0;
        shared->low[tkj_thread()] = 0xffffffffu;
    }
    tkj_block_barrier();
    if (tkj_lane() <= TKJ_SAMPLED_TOGETHER) {
        bool is_quarter = tkj_lane() < TKJ_SAMPLED_TOGETHER;
        tkj_atomic_max(&shared->high[tkj_lane()], is_quarter ? highest : most);
        tkj_atomic_min(&shared->low[tkj_lane()], is_quarter ? lowest : least);
    }
    tkj_block_barrier();
    most = shared->high[TKJ_SAMPLED_TOGETHER];
    least = shared->low[TKJ_SAMPLED_TOGETHER];
    const tkj_sample_extent extent = {tkj_warp_min(shared->high[tkj_lane() % TKJ_SAMPLED_TOGETHER]),
                                      tkj_warp_max(shared->low[tkj_lane() % TKJ_SAMPLED_TOGETHER]),
                                      most == least ? most : 0};
    return extent;
}

/* The first bins of a sample: NaN, if it is the largest; infinity; the first ones of a range. */
#define TKJ_SAMPLE_NAN 0
#define TKJ_SAMPLE_INFINITE 1
#define TKJ_SAMPLE_FINITE 2

/** A sample's bins: of equal width, in descending order; finite scores above the range are in its
 * first one, what is below in the last one. Denormal scores are scaled up, others down, which no
 * range overflows. */
typedef struct tkj_sample_bins {
    float unit; /* a power of two */
    float top;  /* scaled, as all that follows */
    float width;
    float per_unit;
} tkj_sample_bins;

TKJ_DEVICE tkj_sample_bins tkj_sample_bins_of(const tkj_sample_extent *extent)
{
    float top = tkj_cut_to_finite(tkj_float_of_key(extent->top));
    float bottom = tkj_cut_to_finite(tkj_float_of_key(extent->bottom));
    bool tiny = fmaxf(top, -bottom) < 1e-6f;
    float unit = tiny ? 0x1p100f : 0x1p-2f;
    float range = top * unit - bottom * unit;
    float width = range > 0.0f ? range * (1.0f / (TKJ_BINS - 2 - TKJ_SAMPLE_FINITE)) : 0x1p-60f;
    tkj_sample_bins bins = {unit, top * unit + TKJ_SAMPLE_FINITE * width, width,
                            tkj_reciprocal(width)};
    return bins;
}

TKJ_DEVICE tkj_u32 tkj_sample_bin(const tkj_sample_bins *bins, float x)
{
    float place = (bins->top - x * bins->unit) * bins->per_unit;
    place = fminf(fmaxf(place, (float)TKJ_SAMPLE_FINITE), (float)(TKJ_BINS - 1));
    place = x > TKJ_FLOAT_MAX ? (float)TKJ_SAMPLE_INFINITE : place;
    place = x != x ? (float)(TKJ_NAN_LAST ? TKJ_BINS - 1 : TKJ_SAMPLE_NAN) : place;
    return (tkj_u32)place;
}

/** A score where a bin begins, from above. */
TKJ_DEVICE float tkj_sample_bin_edge(const tkj_sample_bins *bins, float bin)
{
    return (bins->top - bin * bins->width) * tkj_reciprocal(bins->unit);
}

/** Counts all parts of a sample, of which part 0 is loaded, in bins by value. The histogram need
 * not be clear; nobody is to read it any more. */
TKJ_DEVICE void tkj_count_parts(const tkj_held_row *held, tkj_u32 parts,
                                const tkj_sample_bins *bins, const float loaded[TKJ_SAMPLED],
                                tkj_histogram *histogram)
{
    tkj_histogram_clear(histogram);
    tkj_block_barrier();
    float x[TKJ_SAMPLED];
    TKJ_UNROLL
    for (tkj_u32 i = 0; i < TKJ_SAMPLED; i++)
        x[i] = loaded[i];
    TKJ_NO_UNROLL
    for (tkj_u32 part = 0;;) {
        TKJ_UNROLL
        for (tkj_u32 i = 0; i < TKJ_SAMPLED; i++)
            tkj_atomic_add(&histogram->bins[tkj_sample_bin(bins, x[i])], 1);
        if (++part == parts)
            break;
        tkj_load_sample(held, part, parts, x);
    }
}

/** Finds the bins of the ranks among the samples counted by value; and how many are beyond. */
TKJ_DEVICE void tkj_find_ranks_in_range(const tkj_sample_ranks *ranks, tkj_held_shared *shared)
{
    tkj_block_barrier();
    tkj_count own[TKJ_BINS_PER_THREAD] = {0};
    tkj_histogram_collect(&shared->histogram, own);
    if (tkj_thread() == 0) {
        shared->beyond[TKJ_SAMPLE_NAN] = (tkj_u32)own[TKJ_SAMPLE_NAN];
        shared->beyond[TKJ_SAMPLE_INFINITE] = (tkj_u32)own[TKJ_SAMPLE_INFINITE];
    }
    tkj_histogram_find(&shared->histogram, own, ranks->low, ranks->high);
}

/** Samples of one key. */
typedef struct tkj_level {
    tkj_u32 key;
    tkj_u32 count;
} tkj_level;

/** The lowest samples in a bin: where a bin is crowded, most of its scores are equal, and those of
 * a ReLU, of few values or of masked keys are its lowest. The key is the block's, the count this
 * thread's. `x`: part 0; replaced by the others. */
TKJ_DEVICE tkj_level tkj_lowest_of_bin(const tkj_held_row *held, tkj_u32 parts,
                                       const tkj_sample_bins *bins, tkj_u32 bin,
                                       float x[TKJ_SAMPLED], tkj_held_shared *shared)
{
    tkj_level own = {0xffffffffu, 0};
    TKJ_NO_UNROLL
    for (tkj_u32 part = 0; part < parts; part++) {
        if (part > 0)
            tkj_load_sample(held, part, parts, x);
        TKJ_UNROLL
        for (tkj_u32 i = 0; i < TKJ_SAMPLED; i++) {
            tkj_u32 key = tkj_float_key(x[i]);
            bool inside = tkj_sample_bin(bins, x[i]) == bin;
            own.count = inside && key < own.key ? 0 : own.count;
            own.key = inside && key < own.key ? key : own.key;
            own.count += inside && key == own.key;
        }
    }
    publish_keys(0, own.key, shared);
    tkj_block_barrier();
    tkj_u32 lowest = tkj_warp_min(shared->low[tkj_lane() % TKJ_WARPS]);
    tkj_level level = {lowest, own.key == lowest ? own.count : 0};
    return level;
}

/** True if of what is counted in a sample there are surely fewer in the row: three standard
 * deviations, of one more than there are, for none in the sample is not none in the row. */
TKJ_DEVICE bool tkj_surely_fewer(float few, float many)
{
    return few + 3.0f * tkj_square_root(few + 1.0f) < many;
}

/** True if of the `passing` samples of a bin and those before it surely fewer than the mean rank
 * are above the lowest one. */
TKJ_DEVICE bool tkj_is_level(const tkj_level *level, tkj_u32 passing, float mean,
                             tkj_held_shared *shared)
{
    tkj_u32 count = tkj_warp_sum(level->count);
    if (tkj_lane() == 0)
        tkj_atomic_add(&shared->listed[0], count);
    tkj_block_barrier();
    return tkj_surely_fewer((float)(passing - shared->listed[0]), mean);
}

/** The pivots around the bins of the ranks: above the whole higher one, below the whole lower one,
 * however the edges were rounded. */
TKJ_DEVICE tkj_pivot tkj_pivot_of_bins(const tkj_sample_bins *bins, const tkj_histogram *found)
{
    float low = tkj_sample_bin_edge(bins, (float)found->bin + 1.01f);
    float high = tkj_sample_bin_edge(bins, (float)found->high_bin);
    if (found->high_bin <= TKJ_SAMPLE_INFINITE) /* above the range there may be too many */
        high = fminf(high + 2.0f * (high - low), 0.5f * TKJ_FLOAT_MAX);
    /* A difference to +0 has the sign of -0, to -0 none: both zeros are to pass (filter). */
    const tkj_pivot pivot = {low == 0.0f ? -0.0f : low, tkj_float_of_key(tkj_float_key(high) + 1),
                             false, 0};
    return pivot;
}

/** Whether the k-th largest is NaN or infinite, or may be. */
TKJ_DEVICE void tkj_find_plateau_beyond(const tkj_sample_ranks *ranks, tkj_pivot *pivot,
                                        const tkj_held_shared *shared)
{
    float nans = (float)shared->beyond[TKJ_SAMPLE_NAN];
    float infinite = (float)shared->beyond[TKJ_SAMPLE_INFINITE];
    pivot->on_plateau = tkj_surely_fewer(ranks->mean, nans + infinite);
    bool is_nan = nans >= (pivot->on_plateau ? ranks->mean : infinite);
    if (nans + infinite > 0.0f)
        pivot->plateau = is_nan ? 0xffffffffu : tkj_float_key(TKJ_FLOAT_INFINITY);
}

/* Of what a list holds: more than so many samples are not let through, for the row may have a few
   more; and where both ranks are in one bin, from so many on a look at the bin pays: a list of
   equal scores takes longer than a plateau. */
#define TKJ_LIST_SPARE 0.95f
#define TKJ_LIST_CROWDED 0.25f

/** Whether the k-th largest is on a plateau of one bin, or may be: where more pass than a list
 * holds, or may, or the bin is crowded. `x`: part 0 of the sample, as in tkj_lowest_of_bin. */
TKJ_DEVICE void tkj_find_plateau(const tkj_held_row *held, const tkj_sample_ranks *ranks,
                                 const tkj_sample_bins *bins, float x[TKJ_SAMPLED],
                                 tkj_pivot *pivot, tkj_held_shared *shared)
{
    const tkj_histogram *found = &shared->histogram;
    tkj_u32 before = (tkj_u32)found->before;
    tkj_u32 inside = (tkj_u32)found->inside;
    float passing = (float)(before + inside);
    float most = passing + 2.0f * tkj_square_root((float)inside);
    bool too_many = passing > TKJ_LIST_SPARE * ranks->full;
    bool crowded = found->bin == found->high_bin && passing > TKJ_LIST_CROWDED * ranks->full;
    if (most <= TKJ_LIST_SPARE * ranks->full && !crowded)
        return;
    bool behind = (float)before >= ranks->mean; /* the k-th largest is likely before the bin */
    if (tkj_thread() == 0)
        shared->listed[0] = 0;
    const tkj_level level = tkj_lowest_of_bin(held, ranks->size / TKJ_SAMPLE, bins,
                                              behind ? found->high_bin : found->bin, x, shared);
    pivot->plateau = level.key;
    pivot->on_plateau =
        too_many || tkj_is_level(&level, behind ? before : before + inside, ranks->mean, shared);
}

/** The pivots by bins by value, or a plateau. Out of the way of other rows, as all that few rows
 * need. */
TKJ_OUT_OF_LINE tkj_pivot tkj_find_pivot_in_range(const tkj_element *row, tkj_i32 first,
                                                  tkj_i32 width, tkj_i32 begin, tkj_i32 end)
{
    TKJ_SHARED(tkj_held_shared, shared); /* comes first in every kernel's */
    const tkj_held_row held = {row, first, width, begin, end, 1};
    if (tkj_thread() == 0)
        shared->row = held;
    const tkj_sample_ranks ranks = tkj_ranks_of_parts(end - begin, TKJ_LIST);
    tkj_u32 parts = ranks.size / TKJ_SAMPLE;
    float x[TKJ_SAMPLED];
    tkj_load_sample(&held, 0, parts, x);
    const tkj_sample_extent extent = tkj_extent_of_sample(x, shared);
    tkj_pivot pivot = {0.0f, 0.0f, true, extent.equal};
    if (parts == 1 && extent.equal != 0)
        return pivot;
    const tkj_sample_bins bins = tkj_sample_bins_of(&extent);
    tkj_count_parts(&held, parts, &bins, x, &shared->histogram);
    tkj_find_ranks_in_range(&ranks, shared);
    pivot = tkj_pivot_of_bins(&bins, &shared->histogram);
    if (tkj_thread() == 0)
        shared->counts[TKJ_DISTINCT] = tkj_bins_are_distinct(pivot.high, pivot.low);
    tkj_find_plateau_beyond(&ranks, &pivot, shared);
    if (!pivot.on_plateau)
        tkj_find_plateau(&held, &ranks, &bins, x, &pivot, shared);
    return pivot;
}

#endif /* TKJ_SAMPLED_RANGE_CUH */
