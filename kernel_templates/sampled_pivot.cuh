/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sampled_pivot.cuh
 * @brief A pivot that the k-th largest of a long row will hardly be below, from a sample that is
 * evenly spread over the row.
 *
 * With p = k / n, of S samples the k-th largest is near the rank S p; the pivot is at the rank
 * S p + 4 sqrt(S p (1 - p)) + 3, and a second one as far above. The sample is counted in bins
 * by magnitude (half_bins.cuh), which suit most rows; where too much would pass, in bins by value
 * over its own range. Nothing here is trusted: what the pivots let through is counted.
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
    bool on_plateau; /* too many would pass: */
    tkj_u32 plateau; /* the key of most of them; else one that may be on a plateau, or 0 */
} tkj_pivot;

/** True if a plateau is to be tried where the lists of these pivots were of no use. */
TKJ_DEVICE bool tkj_retries_plateau(bool on_plateau, tkj_u32 plateau)
{
    return !on_plateau && plateau != 0;
}

/* Lanes whose groups are side by side: a warp's load touches fewer lines. */
#define TKJ_SAMPLED_TOGETHER 4
#define TKJ_FOURS (TKJ_THREADS * TKJ_SAMPLE_GROUPS / TKJ_SAMPLED_TOGETHER) /* of a part */
TKJ_STATIC_ASSERT(TKJ_SAMPLED_TOGETHER < TKJ_WARPS, "extremes have a place each");
TKJ_STATIC_ASSERT((TKJ_FOURS & (TKJ_FOURS - 1)) == 0, "products by 2^32 / TKJ_FOURS are shifts");

/** This thread's samples: whole groups of the window only, by fours at even distances. Part `part`
 * of `parts` samples that interleave, a power of two. */
TKJ_DEVICE void tkj_load_sample(const tkj_held_row *held, tkj_u32 part, tkj_u32 parts,
                                float x[TKJ_SAMPLED])
{
    tkj_u32 first = (tkj_u32)(held->begin - held->first + TKJ_GROUP - 1) / TKJ_GROUP;
    tkj_u32 fours = ((tkj_u32)(held->end - held->first) / TKJ_GROUP - first) / TKJ_SAMPLED_TOGETHER;
    tkj_u32 own = (tkj_thread() / TKJ_SAMPLED_TOGETHER * parts + part) * TKJ_SAMPLE_GROUPS;
    tkj_u32 shift = tkj_bit_width(TKJ_FOURS * parts) - 1;
    TKJ_UNROLL
    for (tkj_u32 i = 0; i < TKJ_SAMPLE_GROUPS; i++) {
        tkj_u32 place = own + i;
        tkj_u32 four = parts == 1 ? tkj_upper_product(place * (0x80000000u / TKJ_FOURS * 2), fours)
                                  : (tkj_u32)((tkj_u64)place * fours >> shift);
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

/** True if more may pass of a row than are to: a fifth is spare, and three standard deviations of
 * how many of the sample would be. */
TKJ_DEVICE bool tkj_is_tight(const tkj_sample_ranks *ranks)
{
    float spare = ranks->full - (float)ranks->low;
    return (float)ranks->low > 0.8f * ranks->full || spare * spare < 9.0f * ranks->full;
}

/** The ranks in as many parts of a sample as are needed for not too many to pass. */
TKJ_DEVICE tkj_sample_ranks tkj_ranks_of_parts(tkj_i32 n, tkj_u32 capacity)
{
    tkj_u32 parts = 1;
    tkj_sample_ranks ranks = tkj_sample_ranks_of(TKJ_SAMPLE, n, capacity);
    TKJ_NO_UNROLL
    while (parts < TKJ_PARTS_MAX && tkj_is_tight(&ranks)) {
        parts *= TKJ_DENSER;
        ranks = tkj_sample_ranks_of(parts * TKJ_SAMPLE, n, capacity);
    }
    return ranks;
}

/** Counts samples by magnitude. */
TKJ_DEVICE void tkj_count_sample(const float x[TKJ_SAMPLED], tkj_histogram *histogram)
{
    TKJ_UNROLL
    for (tkj_u32 i = 0; i < TKJ_SAMPLED; i += 2)
        tkj_count_halves(histogram, x[i], x[i + 1]);
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

TKJ_DEVICE tkj_sample_bins tkj_sample_bins_of(float top, float bottom)
{
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

/** Bins from the lowest maximum of a quarter of the finite samples to the highest minimum of one:
 * few are beyond, however far out. Quarters are of lanes, so that each is spread over the row.
 * `equal` becomes the key of all samples, or 0 where they are not equal. */
TKJ_DEVICE tkj_sample_bins tkj_bin_sample(const float x[TKJ_SAMPLED], tkj_u32 *equal,
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
    tkj_u32 own = tkj_float_key(x[0]);
    tkj_u32 most = tkj_warp_max(differing == 0 ? own : 0xffffffffu);
    tkj_u32 least = tkj_warp_min(differing == 0 ? own : 0);
    tkj_u32 highest = tkj_float_key(high);
    tkj_u32 lowest = tkj_float_key(low);
    TKJ_UNROLL
    for (tkj_u32 mask = TKJ_SAMPLED_TOGETHER; mask < TKJ_WARP; mask *= 2) {
        tkj_u32 other_high = tkj_shuffle_xor(highest, mask);
        tkj_u32 other_low = tkj_shuffle_xor(lowest, mask);
        highest = other_high > highest ? other_high : highest;
        lowest = other_low < lowest ? other_low : lowest;
    }
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
    *equal = most == least ? most : 0;
    tkj_u32 top = tkj_warp_min(shared->high[tkj_lane() % TKJ_SAMPLED_TOGETHER]);
    tkj_u32 bottom = tkj_warp_max(shared->low[tkj_lane() % TKJ_SAMPLED_TOGETHER]);
    return tkj_sample_bins_of(tkj_cut_to_finite(tkj_float_of_key(top)),
                              tkj_cut_to_finite(tkj_float_of_key(bottom)));
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

/** Finds the bins of the ranks among the samples counted by magnitude. */
TKJ_DEVICE void tkj_find_ranks(const tkj_sample_ranks *ranks, tkj_histogram *histogram)
{
    tkj_block_barrier();
    tkj_count own[TKJ_BINS_PER_THREAD] = {0};
    tkj_half_bins_collect(histogram, own);
    tkj_histogram_find(histogram, own, ranks->low, ranks->high);
}

/** The same of samples counted by value; and how many are beyond those. */
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

/** The lowest samples in a bin: where a bin is crowded, most of its scores are
 * equal, and those of a ReLU, of few values or of masked keys are its lowest. The key is the
 * block's, the count this thread's. */
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

/** True if of the `passing` samples of a bin and those before it most are as the lowest one, and
 * the `wanted`-th surely. */
TKJ_DEVICE bool tkj_is_level(const tkj_level *level, tkj_u32 passing, float wanted,
                             tkj_held_shared *shared)
{
    tkj_u32 count = tkj_warp_sum(level->count);
    if (tkj_lane() == 0)
        tkj_atomic_add(&shared->listed[0], count);
    tkj_block_barrier();
    float above = (float)(passing - shared->listed[0]);
    return above + 2.0f * tkj_square_root(above) < wanted;
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

/** About the rank of the k-th largest in a sample. */
TKJ_DEVICE float tkj_middle_rank(const tkj_sample_ranks *ranks)
{
    return 0.5f * (float)(ranks->low + ranks->high);
}

/** Whether the k-th largest is NaN or infinite, or may be. */
TKJ_DEVICE void tkj_find_plateau_beyond(const tkj_sample_ranks *ranks, tkj_pivot *pivot,
                                        const tkj_held_shared *shared)
{
    float nans = (float)shared->beyond[TKJ_SAMPLE_NAN];
    float infinite = (float)shared->beyond[TKJ_SAMPLE_INFINITE];
    float sure = tkj_middle_rank(ranks);
    sure += 2.0f * tkj_square_root(sure);
    pivot->on_plateau = nans + infinite >= sure;
    if (nans + infinite > 0.0f)
        pivot->plateau = nans >= (pivot->on_plateau ? sure : infinite)
                             ? 0xffffffffu
                             : tkj_float_key(TKJ_FLOAT_INFINITY);
}

/** Whether the k-th largest is on a plateau of one bin, or may be: where more than the list holds
 * pass, or so many of the bin. `x`: part 0 of the sample. */
TKJ_DEVICE void tkj_find_plateau(const tkj_held_row *held, const tkj_sample_ranks *ranks,
                                 const tkj_sample_bins *bins, float x[TKJ_SAMPLED],
                                 tkj_pivot *pivot, tkj_held_shared *shared)
{
    const tkj_histogram *found = &shared->histogram;
    tkj_u32 before = (tkj_u32)found->before;
    tkj_u32 inside = (tkj_u32)found->inside;
    float passing = (float)(before + inside);
    bool too_many = passing > 0.95f * ranks->full;
    bool more_may = passing + 2.0f * tkj_square_root((float)inside) > 0.95f * ranks->full;
    if (!more_may && (found->bin != found->high_bin || passing <= 0.25f * ranks->full))
        return;
    float middle = tkj_middle_rank(ranks);
    bool behind = (float)before >= middle; /* the k-th largest is likely before the bin */
    if (tkj_thread() == 0)
        shared->listed[0] = 0;
    const tkj_level level = tkj_lowest_of_bin(held, ranks->size / TKJ_SAMPLE, bins,
                                              behind ? found->high_bin : found->bin, x, shared);
    pivot->plateau = level.key;
    pivot->on_plateau =
        too_many || tkj_is_level(&level, behind ? before : before + inside, middle, shared);
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
    tkj_pivot pivot = {0.0f, 0.0f, true, 0};
    const tkj_sample_bins bins = tkj_bin_sample(x, &pivot.plateau, shared);
    if (pivot.plateau != 0)
        return pivot;
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

/** Counts all parts of a sample by magnitude: out of the way of rows that need one. */
TKJ_OUT_OF_LINE void tkj_count_more(const tkj_element *row, tkj_i32 first, tkj_i32 begin,
                                    tkj_i32 end, tkj_u32 parts)
{
    const tkj_held_row held = {row, first, 0, begin, end, 1};
    TKJ_SHARED(tkj_held_shared, shared);
    tkj_block_barrier();
    tkj_histogram_clear(&shared->histogram);
    tkj_block_barrier();
    TKJ_NO_UNROLL
    for (tkj_u32 part = 0; part < parts; part++) {
        float x[TKJ_SAMPLED];
        tkj_load_sample(&held, part, parts, x);
        tkj_count_sample(x, &shared->histogram);
    }
}

/** The pivots of a row by magnitude. Part 0 of 1 of its sample is counted. The same in every block
 * that has the same row. @return false if too much would pass: see tkj_find_pivot_in_range */
TKJ_DEVICE bool tkj_find_pivot(const tkj_held_row *held, tkj_pivot *pivot, tkj_histogram *histogram)
{
    const tkj_sample_ranks ranks = tkj_ranks_of_parts(held->end - held->begin, TKJ_LIST);
    if (ranks.size != TKJ_SAMPLE)
        tkj_count_more(held->row, held->first, held->begin, held->end, ranks.size / TKJ_SAMPLE);
    tkj_find_ranks(&ranks, histogram);
    if (histogram->high_bin < TKJ_HALF_RANK_FIRST || histogram->bin > TKJ_HALF_RANK_LAST ||
        histogram->bin == histogram->high_bin ||
        (float)(tkj_u32)(histogram->before + histogram->inside) > 0.9f * ranks.full)
        return false;
    float low = tkj_half_bin_edge(histogram->bin);
    pivot->low = low == 0.0f ? -0.0f : low; /* both zeros are to pass */
    pivot->high = tkj_half_bin_edge(histogram->high_bin - 1);
    pivot->on_plateau = false;
    pivot->plateau = 0;
    return true;
}

#endif /* TKJ_SAMPLED_PIVOT_CUH */
