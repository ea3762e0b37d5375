/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sampled_pivot.cuh
 * @brief A pivot that the k-th largest of a long row will hardly be below, from a sample that is
 * evenly spread over the row.
 *
 * With p = k / n, of S samples the k-th largest is near the rank S p; the pivot is at the rank
 * S p + 4 sqrt(S p (1 - p)) + 3, and a second one as far above. The sample is counted in bins
 * by magnitude (half_bins.cuh), which suit most rows; where too much would pass, in bins by value
 * over its own range (value_bins.cuh). Nothing here is trusted: what the pivots let through is
 * counted.
 */
#ifndef TKJ_SAMPLED_PIVOT_CUH
#define TKJ_SAMPLED_PIVOT_CUH

#include "half_bins.cuh"
#include "held_row.cuh"

/* Scores that are sampled at once, of a thread and of a block. */
#define TKJ_SAMPLED (TKJ_GROUP * TKJ_SAMPLE_GROUPS)
#define TKJ_SAMPLE (TKJ_THREADS * TKJ_SAMPLED)

/* How many samples more are drawn where one lets too many scores pass: so many times as many. */
#define TKJ_DENSER 4
#define TKJ_PARTS_MAX 256

/** Where to cut a row. */
typedef struct tkj_pivot {
    float low;       /* scores from here on pass */
    float high;      /* few of the k largest are above, more than none */
    bool tied;       /* what is between them is equal */
    bool on_plateau; /* too many would pass: */
    tkj_u32 plateau; /* the key of most of them */
} tkj_pivot;

/* Lanes whose groups are side by side: a warp's load touches fewer lines. */
#define TKJ_SAMPLED_TOGETHER 4
#define TKJ_FOURS (TKJ_THREADS * TKJ_SAMPLE_GROUPS / TKJ_SAMPLED_TOGETHER) /* of a part */
TKJ_STATIC_ASSERT((TKJ_FOURS & (TKJ_FOURS - 1)) == 0, "products by 2^32 / TKJ_FOURS are shifts");

/** This thread's samples: whole groups of the window only, by fours at even distances. Part `part`
 * of `parts` samples that interleave. */
TKJ_DEVICE void tkj_load_sample(const tkj_held_row *held, tkj_u32 part, tkj_u32 parts,
                                float x[TKJ_SAMPLED])
{
    tkj_u32 first = (tkj_u32)(held->begin - held->first + TKJ_GROUP - 1) / TKJ_GROUP;
    tkj_u32 fours = ((tkj_u32)(held->end - held->first) / TKJ_GROUP - first) / TKJ_SAMPLED_TOGETHER;
    tkj_u32 own = (tkj_thread() / TKJ_SAMPLED_TOGETHER * parts + part) * TKJ_SAMPLE_GROUPS;
    TKJ_UNROLL
    for (tkj_u32 i = 0; i < TKJ_SAMPLE_GROUPS; i++) {
        tkj_u32 place = own + i;
        tkj_u32 four = parts == 1 ? tkj_upper_product(place * (0x80000000u / TKJ_FOURS * 2), fours)
                                  : (tkj_u32)((tkj_u64)place * fours / TKJ_FOURS / parts);
        tkj_u32 group = first + four * TKJ_SAMPLED_TOGETHER + tkj_thread() % TKJ_SAMPLED_TOGETHER;
        tkj_i32 column = held->first + (tkj_i32)(group * TKJ_GROUP);
        unpack(*(const tkj_quad *)(held->row + column), x + i * TKJ_GROUP);
    }
}

/** A sample of `size`, ranks in it that the k-th largest of n is hardly behind, and hardly before,
 * and how many of the sample pass where as many as a list holds pass of n. */
typedef struct tkj_sample_ranks {
    tkj_u32 size;
    tkj_u32 low;
    tkj_u32 high;
    float full;
} tkj_sample_ranks;

TKJ_DEVICE tkj_sample_ranks tkj_sample_ranks_of(tkj_u32 size, tkj_i32 n, tkj_u32 capacity)
{
    float share = tkj_reciprocal((float)n);
    float sampled = share * (float)size;
    float mean = sampled * (float)TKJ_TOPK;
    float margin = 4.0f * tkj_square_root(mean * (1.0f - share * (float)TKJ_TOPK)) + 3.0f;
    float high = mean - margin;
    tkj_sample_ranks ranks = {size, (tkj_u32)(mean + margin), high > 1.0f ? (tkj_u32)high : 1,
                              sampled * (float)capacity};
    return ranks;
}

/** The ranks in as many parts of a sample as are needed for not too many to pass. */
TKJ_DEVICE tkj_sample_ranks tkj_ranks_of_parts(tkj_i32 n, tkj_u32 capacity)
{
    tkj_u32 parts = 1;
    tkj_sample_ranks ranks = tkj_sample_ranks_of(TKJ_SAMPLE, n, capacity);
    TKJ_NO_UNROLL
    while (parts < TKJ_PARTS_MAX && (float)ranks.low > 0.8f * ranks.full) {
        parts *= TKJ_DENSER;
        ranks = tkj_sample_ranks_of(parts * TKJ_SAMPLE, n, capacity);
    }
    return ranks;
}

/** The range of a sample's bins: from the highest minimum of a warp to the lowest maximum of a
 * quarter of the warps, beyond which few samples are, however far out. */
TKJ_DEVICE void tkj_sample_range(float x[TKJ_SAMPLED], float *top, float *bottom,
                                 tkj_held_shared *shared)
{
    float high = -TKJ_FLOAT_INFINITY;
    float low = TKJ_FLOAT_INFINITY;
    TKJ_UNROLL
    for (tkj_u32 i = 0; i < TKJ_SAMPLED; i++) {
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

/** Counts samples in bins of a map, or without one by magnitude. */
TKJ_DEVICE void tkj_count_sample(const float x[TKJ_SAMPLED], const tkj_value_map *map,
                                 tkj_histogram *histogram)
{
    TKJ_UNROLL
    for (tkj_u32 i = 0; i < TKJ_SAMPLED; i += 2) {
        if (map) {
            tkj_atomic_add(&histogram->bins[tkj_value_bin(map, x[i])], 1);
            tkj_atomic_add(&histogram->bins[tkj_value_bin(map, x[i + 1])], 1);
        } else {
            tkj_count_halves(histogram, x[i], x[i + 1]);
        }
    }
}

/** Counts all parts of a sample. The histogram need not be clear; nobody is to read it any more. */
TKJ_DEVICE void tkj_count_parts(const tkj_held_row *held, tkj_u32 parts, const tkj_value_map *map,
                                tkj_histogram *histogram)
{
    tkj_histogram_clear(histogram);
    tkj_block_barrier();
    TKJ_NO_UNROLL
    for (tkj_u32 part = 0; part < parts; part++) {
        float x[TKJ_SAMPLED];
        tkj_load_sample(held, part, parts, x);
        tkj_count_sample(x, map, histogram);
    }
}

/** Finds the bins of the ranks among the counted samples. */
TKJ_DEVICE void tkj_find_ranks(const tkj_sample_ranks *ranks, const tkj_value_map *map,
                               tkj_histogram *histogram)
{
    tkj_block_barrier();
    tkj_count own[TKJ_BINS_PER_THREAD] = {0};
    if (map)
        tkj_histogram_collect(histogram, own);
    else
        tkj_half_bins_collect(histogram, own);
    tkj_histogram_find(histogram, own, ranks->low, ranks->high);
}

/** Of a sample, those that are not behind the bin that was found. */
TKJ_DEVICE float tkj_passing(const tkj_histogram *found)
{
    return (float)(tkj_u32)(found->before + found->inside);
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
        float x[TKJ_SAMPLED];
        tkj_load_sample(held, part, parts, x);
        TKJ_UNROLL
        for (tkj_u32 i = 0; i < TKJ_SAMPLED; i++) {
            tkj_u32 key = tkj_float_key(x[i]);
            low = tkj_value_bin(map, x[i]) == bin && key < low ? key : low;
        }
    }
    publish_keys(0, low, shared);
    tkj_block_barrier();
    return tkj_warp_min(shared->low[tkj_lane() % TKJ_WARPS]);
}

/** The pivots by bins over the range of a sample. */
TKJ_DEVICE tkj_pivot tkj_find_pivot_in_range(const tkj_held_row *held, tkj_held_shared *shared)
{
    const tkj_sample_ranks ranks = tkj_ranks_of_parts(held->end - held->begin, TKJ_LIST);
    tkj_u32 parts = ranks.size / TKJ_SAMPLE;
    const tkj_histogram *found = &shared->histogram;
    float x[TKJ_SAMPLED];
    float top, bottom;
    tkj_load_sample(held, 0, parts, x);
    tkj_sample_range(x, &top, &bottom, shared);
    const tkj_value_map map = tkj_value_map_of(top, bottom);
    tkj_count_parts(held, parts, &map, &shared->histogram);
    tkj_find_ranks(&ranks, &map, &shared->histogram);
    tkj_pivot pivot;
    pivot.tied = false;
    float width = (top - bottom) / (float)(TKJ_BINS - 1);
    /* A difference to +0 has the sign of -0, to -0 none: both zeros are to pass (filter). */
    float low = top - ((float)found->bin + 0.51f) * width;
    pivot.low = low == 0.0f ? -0.0f : low;
    pivot.high = top - ((float)found->high_bin - 0.5f) * width;
    pivot.on_plateau = tkj_passing(found) > 0.95f * ranks.full;
    if (pivot.on_plateau)
        pivot.plateau = tkj_lowest_of_bin(held, parts, &map, shared);
    return pivot;
}

/** The pivots of a row by magnitude. Part 0 of 1 of its sample is counted. The same in every block
 * that has the same row. @return false if too much would pass: see tkj_find_pivot_in_range */
TKJ_DEVICE bool tkj_find_pivot(const tkj_held_row *held, tkj_pivot *pivot, tkj_histogram *histogram)
{
    const tkj_sample_ranks ranks = tkj_ranks_of_parts(held->end - held->begin, TKJ_LIST);
    if (ranks.size != TKJ_SAMPLE) {
        tkj_block_barrier();
        tkj_count_parts(held, ranks.size / TKJ_SAMPLE, 0, histogram);
    }
    tkj_find_ranks(&ranks, 0, histogram);
    if (histogram->high_bin < TKJ_HALF_RANK_FIRST || histogram->bin > TKJ_HALF_RANK_LAST ||
        tkj_passing(histogram) > 0.9f * ranks.full)
        return false;
    float low = tkj_half_bin_edge(histogram->bin);
    pivot->low = low == 0.0f ? -0.0f : low; /* both zeros are to pass */
    pivot->high = tkj_half_bin_edge(histogram->high_bin - 1);
    pivot->tied = false;
    pivot->on_plateau = false;
    return true;
}

/** True if a sampled score is in the bin that was found, by magnitude. */
TKJ_DEVICE bool tkj_is_in_found_bin(float x, const tkj_histogram *found)
{
    tkj_u32 rank = found->bin;
    float low = rank > TKJ_HALF_RANK_LAST ? -TKJ_FLOAT_INFINITY : tkj_half_bin_edge(rank);
    float high = tkj_half_bin_edge(rank > TKJ_HALF_RANK_LAST ? TKJ_HALF_RANK_LAST : rank - 1);
    return (tkj_sign_if_below(x, low == 0.0f ? -0.0f : low) >> 31) == 0 &&
           tkj_sign_if_below(x, high) >> 31 == 1;
}

/** Pivots just around the lowest sampled score of the bin that tkj_find_pivot found, if by the
 * sample at most k scores are above it: where a bin is crowded, most of it is mostly equal. @return
 * false, and no pivots, if not */
TKJ_DEVICE bool tkj_find_tie(const tkj_held_row *held, tkj_pivot *pivot, tkj_held_shared *shared)
{
    const tkj_histogram *found = &shared->histogram;
    const tkj_sample_ranks ranks = tkj_ranks_of_parts(held->end - held->begin, TKJ_LIST);
    if (ranks.size != TKJ_SAMPLE || found->bin < TKJ_HALF_RANK_FIRST)
        return false;
    float x[TKJ_SAMPLED];
    tkj_load_sample(held, 0, 1, x);
    tkj_u32 low = 0xffffffffu;
    TKJ_UNROLL
    for (tkj_u32 i = 0; i < TKJ_SAMPLED; i++) {
        tkj_u32 key = tkj_float_key(x[i]);
        low = tkj_is_in_found_bin(x[i], found) && key < low ? key : low;
    }
    if (tkj_thread() == 0)
        shared->listed[0] = 0;
    publish_keys(0, low, shared);
    tkj_block_barrier();
    tkj_u32 key = tkj_warp_min(shared->low[tkj_lane() % TKJ_WARPS]);
    tkj_u32 equal = 0;
    TKJ_UNROLL
    for (tkj_u32 i = 0; i < TKJ_SAMPLED; i++)
        equal += tkj_float_key(x[i]) == key;
    equal = tkj_warp_sum(equal);
    if (tkj_lane() == 0)
        tkj_atomic_add(&shared->listed[0], equal);
    tkj_block_barrier();
    float above = tkj_passing(found) - (float)shared->listed[0];
    float wanted = 0.5f * (float)(ranks.low + ranks.high);
    float value = tkj_float_of_key(key);
    bool nan_is_equal = TKJ_NAN_LAST && value == -TKJ_FLOAT_INFINITY; /* for the filter */
    if (above + 2.0f * tkj_square_root(above) > wanted || nan_is_equal)
        return false;
    pivot->low = value == 0.0f ? -0.0f : value; /* both zeros are equal */
    pivot->high = tkj_float_of_key(key + 1);
    pivot->on_plateau = false;
    return true;
}

#endif /* TKJ_SAMPLED_PIVOT_CUH */
