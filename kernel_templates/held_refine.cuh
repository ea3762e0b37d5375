/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file held_refine.cuh
 * @brief Fewer candidates, where those of one bin are too many to compare one by one: binned again
 * by their keys, until they are few or all equal.
 *
 * Bins are of equal width over the candidates' own range of keys, which they divide by at least
 * TKJ_BINS / 2: three rounds end with one key a bin. Scores are read again, from L1, some groups at
 * a time: all of them in registers would weigh on every row.
 */
#ifndef TKJ_HELD_REFINE_CUH
#define TKJ_HELD_REFINE_CUH

#include "held_choice.cuh"
#include "value_bins.cuh"

/* Blocks of 1024 threads were 2 % slower with a call; with TKJ_ORDERED registers would not do. */
#if TKJ_THREADS < 1024 || TKJ_ORDERED
#define TKJ_REFINE TKJ_OUT_OF_LINE
#else
#define TKJ_REFINE TKJ_DEVICE
#endif

/* Groups that are loaded at once. */
#define TOGETHER ((TKJ_GROUPS + 1) / 2)
#define TKJ_STEP (TOGETHER * TKJ_GROUP)

/** A thread's scores from group g on; both zeros as +0. */
TKJ_DEVICE void load_step(const tkj_held_row *held, tkj_u32 g, float x[TKJ_STEP])
{
    tkj_quad quads[TOGETHER];
    TKJ_UNROLL
    for (tkj_u32 j = 0; j < TOGETHER; j++)
        quads[j] = load_group(held, group_column(held, g + j));
    TKJ_UNROLL
    for (tkj_u32 i = 0; i < TKJ_STEP; i++)
        x[i] = tkj_float_of(element_of(quads[i / TKJ_GROUP], i % TKJ_GROUP)) + 0.0f;
}

/** Bits of a thread's scores from group g on, and their keys. */
TKJ_DEVICE tkj_u32 load_keys(const tkj_held_row *held, tkj_u32 g, tkj_u32 mask,
                             tkj_u32 keys[TKJ_STEP])
{
    float x[TKJ_STEP];
    load_step(held, g, x);
    TKJ_UNROLL
    for (tkj_u32 i = 0; i < TKJ_STEP; i++)
        keys[i] = tkj_float_key(x[i]);
    return mask >> (g * TKJ_GROUP);
}

/** A range of keys, ends included. */
typedef struct tkj_key_range {
    tkj_u32 high;
    tkj_u32 low;
} tkj_key_range;

/** The range of all threads' ranges, in every thread. */
TKJ_DEVICE tkj_key_range range_of_all(const tkj_key_range *own, tkj_held_shared *shared)
{
    publish_keys(own->high, own->low, shared);
    tkj_block_barrier();
    const tkj_key_range all = {tkj_warp_max(shared->high[tkj_lane() % TKJ_WARPS]),
                               tkj_warp_min(shared->low[tkj_lane() % TKJ_WARPS])};
    return all;
}

/** The candidates' range, in every thread. */
TKJ_DEVICE tkj_key_range range_of_candidates(const tkj_held_row *held, tkj_u32 candidates,
                                             tkj_held_shared *shared)
{
    tkj_key_range range = {0, 0xffffffffu};
    TKJ_NO_UNROLL
    for (tkj_u32 g = 0; g < TKJ_GROUPS; g += TOGETHER) {
        tkj_u32 keys[TKJ_STEP];
        tkj_u32 bits = load_keys(held, g, candidates, keys);
        TKJ_UNROLL
        for (tkj_u32 i = 0; i < TKJ_STEP; i++) {
            bool counts = bits >> i & 1;
            range.high = counts && keys[i] > range.high ? keys[i] : range.high;
            range.low = counts && keys[i] < range.low ? keys[i] : range.low;
        }
    }
    return range_of_all(&range, shared);
}

/* So many candidates in one bin are most likely equal: a tenth of a row of ten values is. */
#define TKJ_LIKELY_EQUAL (TKJ_CAPACITY / 16)

/** True if all candidates are equal, in every thread; zeros of both signs are. Takes less than
 * their range, but is one more look at the scores where they are not. Ends with a barrier. A call
 * of its own: in line it raised sorted kernels from 80 to 86 registers. */
TKJ_REFINE bool are_equal(const tkj_held_row held, tkj_u32 candidates)
{
    TKJ_SHARED(tkj_held_shared, shared); /* comes first in every kernel's */
    tkj_key_range range = {0, 0xffffffffu};
    if (candidates != 0) {
        const tkj_u32 place = position_of(&held, tkj_lowest_bit(candidates));
        const float own = tkj_float_of(held.row[held.begin + (tkj_i32)place]) + 0.0f;
        tkj_u32 differing = 0;
        TKJ_NO_UNROLL
        for (tkj_u32 g = 0; g < TKJ_GROUPS; g += TOGETHER) {
            float x[TKJ_STEP];
            load_step(&held, g, x);
            TKJ_UNROLL
            for (tkj_u32 i = 0; i < TKJ_STEP; i++)
                if (candidates >> (g * TKJ_GROUP) >> i & 1)
                    differing |= tkj_bits_from_float(x[i]) ^ tkj_bits_from_float(own);
        }
        range.high = differing == 0 ? tkj_float_key(own) : 0xffffffffu;
        range.low = differing == 0 ? tkj_float_key(own) : 0;
    }
    range = range_of_all(&range, shared);
    tkj_block_barrier();
    return range.high == range.low;
}

/** Bins of keys: of candidates below TKJ_BINS, and in the last one the lowest keys. */
typedef struct tkj_key_bins {
    tkj_u32 high;
    tkj_u32 shift;
    tkj_u32 last;
} tkj_key_bins;

TKJ_DEVICE tkj_key_bins key_bins_of(const tkj_key_range *range)
{
    tkj_u32 width = tkj_bit_width(range->high - range->low);
    tkj_u32 shift = width > TKJ_BIN_BITS ? width - TKJ_BIN_BITS : 0;
    tkj_key_bins bins = {range->high, shift, (range->high - range->low) >> shift};
    return bins;
}

/** Counts the candidates, but not in the last bin, where equal ones would be in each other's way.
 */
TKJ_DEVICE void count_candidates(const tkj_held_row *held, tkj_u32 candidates,
                                 const tkj_key_bins *bins, tkj_histogram *histogram)
{
    tkj_histogram_clear(histogram);
    tkj_block_barrier();
    TKJ_NO_UNROLL
    for (tkj_u32 g = 0; g < TKJ_GROUPS; g += TOGETHER) {
        tkj_u32 keys[TKJ_STEP];
        tkj_u32 bits = load_keys(held, g, candidates, keys);
        TKJ_UNROLL
        for (tkj_u32 i = 0; i < TKJ_STEP; i++) {
            tkj_u32 bin = (bins->high - keys[i]) >> bins->shift;
            if ((bits >> i & 1) != 0 && bin != bins->last)
                tkj_atomic_count(histogram->bins, 0, bin);
        }
    }
    tkj_block_barrier();
}

/** Candidates in earlier bins are taken, those in later ones are not. */
TKJ_DEVICE void divide_candidates(const tkj_held_row *held, const tkj_key_bins *bins, tkj_u32 bin,
                                  tkj_choice *choice)
{
    tkj_u32 inside = 0;
    TKJ_NO_UNROLL
    for (tkj_u32 g = 0; g < TKJ_GROUPS; g += TOGETHER) {
        tkj_u32 keys[TKJ_STEP];
        tkj_u32 bits = load_keys(held, g, choice->candidates, keys);
        TKJ_UNROLL
        for (tkj_u32 i = 0; i < TKJ_STEP; i++) {
            tkj_u32 place = (bins->high - keys[i]) >> bins->shift;
            tkj_u32 bit = (bits & 1u << i) << (g * TKJ_GROUP);
            choice->taken |= place < bin ? bit : 0;
            inside |= place == bin ? bit : 0;
        }
    }
    choice->candidates = inside;
}

/** One round. */
TKJ_DEVICE void bin_by_key(const tkj_held_row *held, const tkj_key_bins *bins, tkj_choice *choice,
                           tkj_histogram *histogram)
{
    count_candidates(held, choice->candidates, bins, histogram);
    tkj_count own[TKJ_BINS_PER_THREAD] = {0};
    tkj_histogram_collect(histogram, own);
    TKJ_UNROLL
    for (tkj_u32 j = 0; j < TKJ_BINS_PER_THREAD; j++)
        own[j] = tkj_own_bin(j) == bins->last ? (tkj_count)choice->count : own[j];
    tkj_histogram_find(histogram, own, choice->wanted);
    tkj_u32 bin = histogram->bin;
    tkj_u32 before = (tkj_u32)histogram->before;
    divide_candidates(held, bins, bin, choice);
    choice->wanted -= before;
    choice->count = bin == bins->last ? choice->count - before : (tkj_u32)histogram->inside;
    choice->all_equal = bins->shift == 0;
}

/** What the warps' extremes say of the row. */
typedef struct tkj_shape {
    float bottom;  /* at which it is flat, or NaN */
    bool distinct; /* as tkj_bins_are_distinct */
} tkj_shape;

TKJ_DEVICE tkj_shape shape_of(const tkj_held_shared *shared)
{
    tkj_u32 high = shared->high[tkj_lane() % TKJ_WARPS];
    tkj_u32 low = shared->low[tkj_lane() % TKJ_WARPS];
    tkj_u32 highest = tkj_warp_max(high == 0xffffffffu ? 0 : high);
    tkj_u32 lowest = tkj_warp_min(low == 0 ? 0xffffffffu : low);
    bool is_flat = lowest == tkj_warp_max(low);
    tkj_shape shape = {tkj_float_of_key(is_flat ? lowest : 0xffffffffu),
                       tkj_bins_are_distinct(tkj_float_of_key(highest), tkj_float_of_key(lowest))};
    return shape;
}

/** Where the k-th largest is on a plateau at the bottom of the row, such as the zeros of a ReLU or
 * masked scores: what is above is taken, the plateau's scores are all equal. */
TKJ_DEVICE void try_plateau(const tkj_held_row *held, float plateau, tkj_choice *choice,
                            tkj_scan_shared *scan)
{
    tkj_u32 above = 0;
    tkj_u32 below = 0;
    TKJ_NO_UNROLL
    for (tkj_i32 g = TKJ_GROUPS - TOGETHER; g >= 0; g -= TOGETHER) {
        float x[TKJ_STEP];
        load_step(held, (tkj_u32)g, x);
        TKJ_UNROLL
        for (tkj_i32 i = TKJ_STEP - 1; i >= 0; i--) {
#if TKJ_NAN_LAST
            x[i] = x[i] != x[i] ? -TKJ_FLOAT_INFINITY : x[i]; /* below any plateau that is tried */
#endif
            above = tkj_push_sign(above, tkj_sign_if_below(plateau, x[i]));
            below = tkj_push_sign(below, tkj_sign_if_below(x[i], plateau));
        }
    }
    above &= choice->candidates;
    tkj_u32 equal = choice->candidates & ~above & ~below;
    tkj_count counts;
    tkj_u32 own = tkj_count_bits(above) | tkj_count_bits(equal) << 16;
    tkj_block_exclusive_sum_of_warps((tkj_count)tkj_warp_sum(own), &counts, scan);
    tkj_u32 higher = (tkj_u32)counts & 0xffffu;
    tkj_u32 level = (tkj_u32)counts >> 16;
    if (choice->wanted <= higher || choice->wanted > higher + level)
        return;
    choice->taken |= above;
    choice->candidates = equal;
    choice->wanted -= higher;
    choice->count = level;
    choice->all_equal = true;
}

/** Takes as many as are wanted of candidates that are all equal, in no particular order. */
TKJ_DEVICE void settle_equal(tkj_choice *choice, tkj_held_shared *shared)
{
    tkj_u32 place = tkj_warp_slots(tkj_count_bits(choice->candidates), &shared->listed[1]);
    choice->taken |= tkj_taken_bits(choice->candidates, place, choice->wanted);
    choice->candidates = 0;
    choice->count = 0;
}

/** All rounds. @return taken scores in the upper half, candidates in the lower one; what all
 * threads share is in shared->refined. Ends with a barrier. */
TKJ_REFINE tkj_u64 refine_choice(const tkj_held_row held, tkj_u32 taken, tkj_u32 candidates,
                                 tkj_u32 wanted, tkj_u32 count)
{
    TKJ_SHARED(tkj_held_shared, shared); /* comes first in every kernel's */
    tkj_choice choice = {taken, candidates, wanted, count, false};
    const tkj_shape shape = shape_of(shared);
    float bottom = shape.bottom;
    tkj_u32 bin = shared->histogram.bin;
    tkj_block_barrier(); /* the extremes are about to be written anew */
    bool is_flat = bottom == bottom && (!TKJ_NAN_LAST || bottom != -TKJ_FLOAT_INFINITY);
    if (is_flat && bin == TKJ_BINS - 1)
        try_plateau(&held, bottom, &choice, &shared->scan);
    else
        choice.all_equal = shape.distinct && bin > 0 && bin < TKJ_BINS - 1;
    if (is_crowded(&choice) && choice.count > TKJ_LIKELY_EQUAL)
        choice.all_equal = are_equal(held, choice.candidates);
    TKJ_NO_UNROLL
    while (is_crowded(&choice)) {
        const tkj_key_range range = range_of_candidates(&held, choice.candidates, shared);
        const tkj_key_bins bins = key_bins_of(&range);
        choice.all_equal = range.high == range.low;
        if (!choice.all_equal)
            bin_by_key(&held, &bins, &choice, &shared->histogram);
    }
    if (!TKJ_ORDERED && choice.all_equal)
        settle_equal(&choice, shared);
    if (tkj_thread() == 0)
        shared->refined = choice;
    tkj_block_barrier();
    return (tkj_u64)choice.taken << 32 | choice.candidates;
}

/** Makes crowded candidates fewer. */
TKJ_DEVICE void refine(const tkj_held_row *held, tkj_choice *choice, tkj_held_shared *shared)
{
    if (!is_crowded(choice))
        return;
    tkj_u64 masks =
        refine_choice(*held, choice->taken, choice->candidates, choice->wanted, choice->count);
    *choice = shared->refined;
    choice->taken = (tkj_u32)(masks >> 32);
    choice->candidates = (tkj_u32)masks;
}

#endif /* TKJ_HELD_REFINE_CUH */
