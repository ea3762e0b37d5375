/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file held_row.cuh
 * @brief Exact selection of the k largest of at most TKJ_CAPACITY scores that the threads of a
 * block hold in registers: one read, one histogram.
 *
 * 1. Load the scores, 16 bytes at a time, TKJ_ITEMS a thread.
 * 2. Take their range from the extremes of the warps, and count all of them in bins by value
 *    (value_bins.cuh).
 * 3. Find the bin of the k-th largest. Scores in earlier bins are taken. Those in it are
 *    candidates; where they are too many to compare one by one, make them fewer (held_refine.cuh).
 * 4. List what is taken (held_choice.cuh).
 *
 * Exact: bins are monotone in the score, so every score before the bin of the k-th largest is
 * larger than it, every one behind it smaller, and candidates are compared by their exact keys.
 * With TKJ_ORDERED deterministic: the order follows from a bitmap.
 *
 * Synchronisation: block barriers only.
 */
#ifndef TKJ_HELD_ROW_CUH
#define TKJ_HELD_ROW_CUH

#include "held_refine.cuh"
#include "value_bins.cuh"

/* The range is a guess, so every fourth score will do, unless k is so small that the k-th largest
   lies beyond what a sample sees. */
#define SAMPLING (TKJ_TOPK * 16 >= TKJ_CAPACITY ? 4 : 1)
#define SAMPLED (SAMPLING == 4 ? 0x11111111u : 0xffffffffu) /* bits of those */

/** Writes this warp's extreme keys; a warp without scores is neutral in `range_of`. */
TKJ_DEVICE void publish_extremes(const float x[TKJ_ITEMS], const tkj_held_row *held, tkj_u32 inside,
                                 tkj_held_shared *shared)
{
    float high = -TKJ_FLOAT_INFINITY;
    float low = TKJ_FLOAT_INFINITY;
    if (is_full(held)) {
        TKJ_UNROLL
        for (tkj_u32 e = 0; e < TKJ_ITEMS; e += SAMPLING) {
            high = fmaxf(high, x[e]);
            low = fminf(low, x[e]);
        }
    } else {
        TKJ_UNROLL
        for (tkj_u32 e = 0; e < TKJ_ITEMS; e += SAMPLING) {
            high = fmaxf(high, inside >> e & 1 ? x[e] : high);
            low = fminf(low, inside >> e & 1 ? x[e] : low);
        }
    }
    bool empty = tkj_ballot((inside & SAMPLED) != 0) == 0;
    publish_keys(empty ? 0xffffffffu : tkj_float_key(high), empty ? 0 : tkj_float_key(low), shared);
}

/**
 * The range that the bins cover. The lowest maximum of a warp, and the highest minimum, are not
 * moved by a few outliers or infinities; where the k-th largest may lie beyond them, the extremes
 * serve. An eighth more is for ascending rows. The scores beyond share the first and the last bin.
 */
TKJ_DEVICE tkj_value_map range_of(tkj_i32 n, const tkj_held_shared *shared)
{
    bool lane_has_warp = tkj_lane() < TKJ_WARPS;
    tkj_u32 high = lane_has_warp ? shared->high[tkj_lane() % TKJ_WARPS] : 0xffffffffu;
    tkj_u32 low = lane_has_warp ? shared->low[tkj_lane() % TKJ_WARPS] : 0;
    tkj_u32 top_key = tkj_warp_min(high);
    tkj_u32 bottom_key = tkj_warp_max(low);
    if (TKJ_TOPK < 8 * TKJ_WARPS)
        top_key = tkj_warp_max(high == 0xffffffffu ? 0 : high);
    if (n - TKJ_TOPK < 8 * TKJ_WARPS)
        bottom_key = tkj_warp_min(low == 0 ? 0xffffffffu : low);
    float top = tkj_cut_to_finite(tkj_float_of_key(top_key));
    float bottom = tkj_cut_to_finite(tkj_float_of_key(bottom_key));
    return tkj_value_map_of(top + (top - bottom) * 0.125f, bottom);
}

#define LAST_BIN (TKJ_TWO_23_BITS + TKJ_BINS - 1)

/** Steps 2 and 3. The bins replace the scores. */
TKJ_DEVICE tkj_choice choose_by_value(const tkj_held_row *held, float x[TKJ_ITEMS], tkj_u32 inside,
                                      tkj_held_shared *shared)
{
    tkj_histogram *histogram = &shared->histogram;
    tkj_i32 n = held->end - held->begin;
    const tkj_value_map map = range_of(n, shared);
    tkj_u32 bins[TKJ_ITEMS];
    TKJ_UNROLL
    for (tkj_u32 e = 0; e < TKJ_ITEMS; e++)
        bins[e] = tkj_value_bin_bits(&map, x[e]);
    if (n < TKJ_CAPACITY) {
        TKJ_UNROLL
        for (tkj_u32 e = 0; e < TKJ_ITEMS; e++)
            bins[e] = inside >> e & 1 ? bins[e] : LAST_BIN;
    }
    TKJ_UNROLL
    for (tkj_u32 e = 0; e < TKJ_ITEMS; e++)
        tkj_atomic_count(histogram->bins, TKJ_TWO_23_BITS, bins[e]);
    tkj_block_barrier();

    tkj_count own[TKJ_BINS_PER_THREAD] = {0};
    tkj_histogram_collect(histogram, own);
    if (tkj_thread() == TKJ_THREADS - 1)
        own[TKJ_BINS_PER_THREAD - 1] = (tkj_count)n; /* whatever was counted: enough for any rank */
    tkj_histogram_find(histogram, own, TKJ_TOPK);

    tkj_u32 bin = TKJ_TWO_23_BITS + histogram->bin;
    tkj_u32 before = (tkj_u32)histogram->before;
    tkj_choice choice = {0, 0, (tkj_u32)TKJ_TOPK - before,
                         bin == LAST_BIN ? (tkj_u32)n - before : (tkj_u32)histogram->inside};
    TKJ_UNROLL
    for (tkj_i32 e = TKJ_ITEMS - 1; e >= 0; e--) {
        choice.taken = tkj_push_sign(choice.taken, bins[e] - bin);
        choice.candidates = tkj_push_sign(choice.candidates, bins[e] - bin - 1);
    }
    choice.candidates &= inside & ~choice.taken;
    return choice;
}

/** Steps 2 to 4 for a window of more than k scores. Ends with a barrier. */
TKJ_DEVICE void select_held(const tkj_held_row *held, float x[TKJ_ITEMS], tkj_held_shared *shared)
{
    tkj_u32 inside = window_mask(held);
    publish_extremes(x, held, inside, shared);
    tkj_histogram_clear(&shared->histogram);
    if (tkj_thread() < 2)
        shared->listed[tkj_thread()] = 0;
    tkj_block_barrier();
    tkj_choice choice = choose_by_value(held, x, inside, shared);
    refine(held, &choice, shared);
    settle(&choice);
    list_taken(held, &choice, shared);
}

#endif /* TKJ_HELD_ROW_CUH */
