/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sampled_pivot.cuh
 * @brief A pivot that the k-th largest of a long row will hardly be below, from a sample that is
 * evenly spread over the row.
 *
 * With p = k / n, of S samples the k-th largest is near the rank S p; the pivot is at the rank
 * S p + 4 sqrt(S p (1 - p)) + 3, and a second one as far above. The sample is counted in bins
 * by magnitude (half_bins.cuh), which suit most rows; for the others see sampled_range.cuh. Nothing
 * here is trusted: what the pivots let through is counted.
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

/** Ranks in a sample. */
typedef struct tkj_sample_ranks {
    tkj_u32 size; /* of the sample */
    tkj_u32 low;  /* the k-th largest of the row is hardly behind, */
    tkj_u32 high; /* hardly before, */
    float mean;   /* about here */
    float full;   /* so many pass where as many as a list holds pass of the row */
} tkj_sample_ranks;

TKJ_DEVICE tkj_sample_ranks tkj_sample_ranks_of(tkj_u32 size, tkj_i32 n, tkj_u32 capacity)
{
    float share = tkj_reciprocal((float)n);
    float sampled = share * (float)size;
    float mean = sampled * (float)TKJ_TOPK;
    float margin = 4.0f * tkj_square_root(mean * (1.0f - share * (float)TKJ_TOPK)) + 3.0f;
    float high = mean - margin;
    tkj_sample_ranks ranks = {size, (tkj_u32)(mean + margin), high > 1.0f ? (tkj_u32)high : 1, mean,
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

/** Finds the bins of the ranks among the samples counted by magnitude. */
TKJ_DEVICE void tkj_find_ranks(const tkj_sample_ranks *ranks, tkj_histogram *histogram)
{
    tkj_block_barrier();
    tkj_count own[TKJ_BINS_PER_THREAD] = {0};
    tkj_half_bins_collect(histogram, own);
    tkj_histogram_find(histogram, own, ranks->low, ranks->high);
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
