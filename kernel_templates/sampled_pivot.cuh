/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sampled_pivot.cuh
 * @brief A pivot that the k-th largest of a long row will hardly be below, from a sample that is
 * evenly spread over the row.
 *
 * With p = k / n, of S samples the k-th largest is near the rank S p; the pivot is at the rank
 * S p + 4.5 sqrt(S p (1 - p)) + 3, and a second one as far above. The sample is counted in bins
 * by magnitude (half_bins.cuh), which suit most rows; where too much would pass, in bins by value over its own
 * range (value_bins.cuh). Nothing here is trusted: what the pivots let through is counted.
 */
#ifndef TKJ_SAMPLED_PIVOT_CUH
#define TKJ_SAMPLED_PIVOT_CUH

#include "half_bins.cuh"
#include "held_row.cuh"

#define TKJ_SAMPLE                                                                                 \
    (TKJ_THREADS * TKJ_GROUP) /* scores that are sampled at once: a group a thread                 \
                               */

/* How many samples more are drawn where one lets too many scores pass: so many times as many. */
#define TKJ_DENSER 4
#define TKJ_PARTS_MAX 256

/** Where to cut a row. */
typedef struct tkj_pivot {
    float low;       /* scores from here on pass */
    float high;      /* few of the k largest are above, more than none */
    bool on_plateau; /* too many would pass: */
    tkj_u32 plateau; /* the key of most of them */
} tkj_pivot;

/* Lanes whose groups are side by side: a warp's load touches fewer lines. */
#define TKJ_SAMPLED_TOGETHER 4

/** This thread's samples: whole groups of the window only, by fours at even distances. Part `part`
 * of `parts` samples that interleave. */
TKJ_DEVICE void tkj_load_sample(const tkj_held_row *held, tkj_u32 part, tkj_u32 parts,
                                float x[TKJ_GROUP])
{
    tkj_u32 first = (tkj_u32)(held->begin - held->first + TKJ_GROUP - 1) / TKJ_GROUP;
    tkj_u32 fours = ((tkj_u32)(held->end - held->first) / TKJ_GROUP - first) / TKJ_SAMPLED_TOGETHER;
    tkj_u32 own = tkj_thread() / TKJ_SAMPLED_TOGETHER * parts + part;
    tkj_u64 place = (tkj_u64)own * fours / (TKJ_THREADS / TKJ_SAMPLED_TOGETHER);
    tkj_u64 four = parts == 1 ? place : place / parts;
    tkj_u64 group = first + four * TKJ_SAMPLED_TOGETHER + tkj_thread() % TKJ_SAMPLED_TOGETHER;
    unpack(*(const tkj_quad *)(held->row + held->first + group * TKJ_GROUP), x);
}

/** Ranks in a sample of `size` that the k-th largest of n is hardly behind, and hardly before. */
typedef struct tkj_sample_ranks {
    tkj_u32 size;
    tkj_u32 low;
    tkj_u32 high;
} tkj_sample_ranks;

TKJ_DEVICE tkj_sample_ranks tkj_sample_ranks_of(tkj_u32 size, tkj_i32 n)
{
    float share = (float)TKJ_TOPK / (float)n;
    float mean = share * (float)size;
    float margin = 4.5f * sqrtf(mean * (1.0f - share)) + 3.0f;
    float high = mean - margin;
    tkj_sample_ranks ranks = {size, (tkj_u32)(mean + margin), high > 1.0f ? (tkj_u32)high : 1};
    return ranks;
}

/** How many of n scores pass if this many of a sample do. */
TKJ_DEVICE float tkj_expected(tkj_u32 passing, tkj_u32 size, tkj_i32 n)
{
    return (float)passing / (float)size * (float)n;
}

/** Parts to sample so that not too many of `capacity` pass. */
TKJ_DEVICE tkj_u32 tkj_sample_parts(tkj_i32 n, tkj_u32 capacity)
{
    tkj_u32 parts = 1;
    TKJ_NO_UNROLL
    while (parts < TKJ_PARTS_MAX &&
           tkj_expected(tkj_sample_ranks_of(parts * TKJ_SAMPLE, n).low, parts * TKJ_SAMPLE, n) >
               0.8f * (float)capacity)
        parts *= TKJ_DENSER;
    return parts;
}

/** The range of a sample's bins: from the highest minimum of a warp to the lowest maximum of a
 * quarter of the warps, beyond which few samples are, however far out. */
TKJ_DEVICE void tkj_sample_range(float x[TKJ_GROUP], float *top, float *bottom,
                                 tkj_held_shared *shared)
{
    float high = -TKJ_FLOAT_INFINITY;
    float low = TKJ_FLOAT_INFINITY;
    TKJ_UNROLL
    for (tkj_u32 i = 0; i < TKJ_GROUP; i++) {
        high = fmaxf(high, x[i]);
        low = fminf(low, x[i]);
    }
    publish_keys(tkj_float_key(high), tkj_float_key(low), shared);
    tkj_block_barrier();
    tkj_u32 quarter = shared->high[tkj_lane() % TKJ_WARPS];
    TKJ_UNROLL
    for (tkj_u32 mask = 4; mask < TKJ_WARPS; mask *= 2) {
        tkj_u32 other = tkj_shuffle_xor(quarter, mask);
        quarter = other > quarter ? other : quarter;
    }
    *top = tkj_cut_to_finite(tkj_float_of_key(tkj_warp_min(quarter)));
    *bottom =
        tkj_cut_to_finite(tkj_float_of_key(tkj_warp_max(shared->low[tkj_lane() % TKJ_WARPS])));
}

/** Counts a sample in bins of a map, or without one by magnitude, and finds those of the ranks. */
TKJ_DEVICE void tkj_bin_sample(const tkj_held_row *held, float x[TKJ_GROUP],
                               const tkj_sample_ranks *ranks, const tkj_value_map *map,
                               tkj_histogram *histogram)
{
    tkj_u32 parts = ranks->size / TKJ_SAMPLE;
    tkj_histogram_clear(histogram);
    tkj_block_barrier();
    TKJ_NO_UNROLL
    for (tkj_u32 part = 0;;) {
        TKJ_UNROLL
        for (tkj_u32 i = 0; i < TKJ_GROUP; i += 2) {
            if (map) {
                tkj_atomic_add(&histogram->bins[tkj_value_bin(map, x[i])], 1);
                tkj_atomic_add(&histogram->bins[tkj_value_bin(map, x[i + 1])], 1);
            } else {
                tkj_count_halves(histogram, x[i], x[i + 1]);
            }
        }
        if (++part == parts)
            break;
        tkj_load_sample(held, part, parts, x);
    }
    tkj_block_barrier();
    tkj_count own[TKJ_BINS_PER_THREAD] = {0};
    if (map)
        tkj_histogram_collect(histogram, own);
    else
        tkj_half_bins_collect(histogram, own);
    tkj_histogram_find(histogram, own, ranks->low, ranks->high);
}

/** How many scores pass that are not behind the bin that was found. */
TKJ_DEVICE float tkj_passing(const tkj_histogram *found, const tkj_sample_ranks *ranks, tkj_i32 n)
{
    return tkj_expected((tkj_u32)(found->before + found->inside), ranks->size, n);
}

/** The lowest key of the sampled scores in the bin that was found: where a bin is crowded, most of
 * its scores are equal, and those of a ReLU, of few values or of masked keys are its lowest. */
TKJ_DEVICE tkj_u32 tkj_lowest_of_bin(const tkj_held_row *held, tkj_u32 parts,
                                     const tkj_value_map *map, tkj_held_shared *shared)
{
    tkj_u32 bin = shared->histogram.bin;
    tkj_u32 low = 0xffffffffu;
    TKJ_NO_UNROLL
    for (tkj_u32 part = 0; part < parts; part++) {
        float x[TKJ_GROUP];
        tkj_load_sample(held, part, parts, x);
        TKJ_UNROLL
        for (tkj_u32 i = 0; i < TKJ_GROUP; i++) {
            tkj_u32 key = tkj_float_key(x[i]);
            low = tkj_value_bin(map, x[i]) == bin && key < low ? key : low;
        }
    }
    publish_keys(0, low, shared);
    tkj_block_barrier();
    return tkj_warp_min(shared->low[tkj_lane() % TKJ_WARPS]);
}

/** The pivots by bins over the range of a sample, of which x is part 0. */
TKJ_DEVICE tkj_pivot tkj_find_pivot_in_range(const tkj_held_row *held, float x[TKJ_GROUP],
                                             const tkj_sample_ranks *ranks, tkj_u32 capacity,
                                             tkj_held_shared *shared)
{
    const tkj_histogram *found = &shared->histogram;
    float top, bottom;
    tkj_sample_range(x, &top, &bottom, shared);
    const tkj_value_map map = tkj_value_map_of(top, bottom);
    tkj_bin_sample(held, x, ranks, &map, &shared->histogram);
    tkj_pivot pivot;
    float width = (top - bottom) / (float)(TKJ_BINS - 1);
    /* A difference to +0 has the sign of -0, to -0 none: both zeros are to pass (filter). */
    float low = top - ((float)found->bin + 0.51f) * width;
    pivot.low = low == 0.0f ? -0.0f : low;
    pivot.high = top - ((float)found->high_bin - 0.5f) * width;
    pivot.on_plateau = tkj_passing(found, ranks, held->end - held->begin) > 0.95f * (float)capacity;
    if (pivot.on_plateau)
        pivot.plateau = tkj_lowest_of_bin(held, ranks->size / TKJ_SAMPLE, &map, shared);
    return pivot;
}

/** The pivots of a row of which at most `capacity` scores should pass. `x`: part 0 of 1 of its
 * sample. The same in every block that has the same row. */
TKJ_DEVICE tkj_pivot tkj_find_pivot(const tkj_held_row *held, float x[TKJ_GROUP], tkj_u32 capacity,
                                    tkj_held_shared *shared)
{
    const tkj_histogram *found = &shared->histogram;
    tkj_i32 n = held->end - held->begin;
    tkj_u32 parts = tkj_sample_parts(n, capacity);
    const tkj_sample_ranks ranks = tkj_sample_ranks_of(TKJ_SAMPLE * parts, n);
    if (parts != 1)
        tkj_load_sample(held, 0, parts, x);
    tkj_bin_sample(held, x, &ranks, 0, &shared->histogram);
    if (found->high_bin >= TKJ_HALF_RANK_FIRST && found->bin <= TKJ_HALF_RANK_LAST &&
        tkj_passing(found, &ranks, n) < 0.9f * (float)capacity) {
        tkj_pivot pivot = {tkj_half_bin_edge(found->bin), tkj_half_bin_edge(found->high_bin - 1),
                           false, 0};
        pivot.low = pivot.low == 0.0f ? -0.0f : pivot.low; /* both zeros are to pass */
        return pivot;
    }
    if (parts != 1)
        tkj_load_sample(held, 0, parts, x);
    return tkj_find_pivot_in_range(held, x, &ranks, capacity, shared);
}

#endif /* TKJ_SAMPLED_PIVOT_CUH */
