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
 * candidates.
 * 4. While there are too many candidates to compare one by one, bin them again by their own keys,
 *    which at least divides their range by TKJ_BINS; candidates that are all equal need no more.
 * 5. Compare the candidates one by one, or take equal ones by position.
 * 6. List the positions of what is taken: as it comes, or with TKJ_ORDERED ascending, by a bitmap.
 *
 * Exact: bins are monotone in the score (value_bins.cuh), so every score before the bin of the k-th
 * largest is larger than it, every one behind it smaller, and steps 4 and 5 decide within the bin
 * by the exact keys. With TKJ_ORDERED deterministic: the order follows from the bitmap.
 *
 * Synchronisation: block barriers only.
 */
#ifndef TKJ_HELD_ROW_CUH
#define TKJ_HELD_ROW_CUH

#include "row_groups.cuh"
#include "value_bins.cuh"

#define WORDS (TKJ_GROUPS / 4) /* of a bitmap that a thread scans: a byte a group */
TKJ_STATIC_ASSERT(TKJ_GROUPS % 4 == 0, "a thread scans whole words of the bitmap");
TKJ_STATIC_ASSERT(TKJ_CAPACITY <= 65536, "positions fit 16 bits");

/* Candidates that are compared one by one: each reads all, so 256 cost as much as a histogram. */
#define TKJ_CANDIDATES 256

#define TKJ_SELECTED (TKJ_TOPK < TKJ_CAPACITY ? (int)TKJ_TOPK : TKJ_CAPACITY)

/** A candidate and where it is. */
typedef struct tkj_candidate {
    tkj_u32 key;
    tkj_u32 position;
} tkj_candidate;

/** Shared memory. */
typedef struct tkj_held_shared {
    tkj_histogram histogram; /* steps 2 to 4 */
    union {
        tkj_pair aligned;
        tkj_u16 selected[TKJ_SELECTED]; /* step 6: positions */
    };
#if TKJ_ORDERED
    tkj_u32 taken[TKJ_THREADS * WORDS]; /* one byte a group: scores that are taken */
    tkj_u32 equal[TKJ_THREADS * WORDS]; /* the same, of candidates that are all equal */
#else
    tkj_u32 taken; /* positions that are listed */
#endif
    tkj_candidate candidates[TKJ_CANDIDATES];
    tkj_u32 candidate_count;
    tkj_u32 high[TKJ_WARPS]; /* extreme keys of each warp's scores */
    tkj_u32 low[TKJ_WARPS];
    tkj_scan_shared scan;
    tkj_window window; /* for what comes after: out of the registers until then */
} tkj_held_shared;

/** Writes the extremes of this warp's keys. */
TKJ_DEVICE void publish_keys(tkj_u32 high, tkj_u32 low, tkj_held_shared *shared)
{
    high = tkj_warp_max(high);
    low = tkj_warp_min(low);
    if (tkj_lane() == 0) {
        shared->high[tkj_warp()] = high;
        shared->low[tkj_warp()] = low;
    }
}

/* The range is a guess, so of full rows every fourth score will do, unless k is so small that the
   k-th largest lies beyond what a sample sees. */
#define SAMPLING (TKJ_TOPK * 16 >= TKJ_CAPACITY ? 4 : 1)

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
        for (tkj_u32 e = 0; e < TKJ_ITEMS; e++) {
            high = fmaxf(high, inside >> e & 1 ? x[e] : high);
            low = fminf(low, inside >> e & 1 ? x[e] : low);
        }
    }
    bool empty = tkj_ballot(inside != 0) == 0;
    publish_keys(empty ? 0xffffffffu : tkj_float_key(high), empty ? 0 : tkj_float_key(low), shared);
}

/**
 * The range that the bins cover. The lowest maximum of a warp, and the highest minimum, are not
 * moved by a few outliers or infinities; where the k-th largest may lie beyond them, the extremes
 * serve. The scores beyond the range share the first and the last bin.
 */
TKJ_DEVICE tkj_value_map range_of(tkj_i32 n, const tkj_held_shared *shared)
{
    bool lane_has_warp = tkj_lane() < TKJ_WARPS;
    tkj_u32 high = lane_has_warp ? shared->high[tkj_lane() % TKJ_WARPS] : 0xffffffffu;
    tkj_u32 low = lane_has_warp ? shared->low[tkj_lane() % TKJ_WARPS] : 0;
    tkj_u32 top = tkj_warp_min(high);
    tkj_u32 bottom = tkj_warp_max(low);
    if (TKJ_TOPK < 8 * TKJ_WARPS)
        top = tkj_warp_max(high == 0xffffffffu ? 0 : high);
    if (n - TKJ_TOPK < 8 * TKJ_WARPS)
        bottom = tkj_warp_min(low == 0 ? 0xffffffffu : low);
    return tkj_value_map_of(tkj_cut_to_finite(tkj_float_of_key(top)),
                            tkj_cut_to_finite(tkj_float_of_key(bottom)));
}

/** What is known of the choice so far. Masks have one bit for each of this thread's scores. */
typedef struct tkj_choice {
    tkj_u32 taken;
    tkj_u32 candidates; /* some of them are taken, too: */
    tkj_u32 wanted;     /* this many, block-wide, */
    tkj_u32 count;      /* of this many */
    bool all_equal;     /* which are known to be equal */
} tkj_choice;

/** Steps 2 and 3. The bins replace the scores. */
TKJ_DEVICE tkj_choice choose_by_value(float x[TKJ_ITEMS], tkj_u32 inside, tkj_i32 n,
                                      tkj_held_shared *shared)
{
    tkj_histogram *histogram = &shared->histogram;
    tkj_value_map map = range_of(n, shared);
    tkj_u32 bins[TKJ_ITEMS];
    TKJ_UNROLL
    for (tkj_u32 e = 0; e < TKJ_ITEMS; e++)
        bins[e] = tkj_value_bin_bits(&map, x[e]);
    if (n < TKJ_CAPACITY) { /* what is outside counts in the last bin, and is taken off again */
        TKJ_UNROLL
        for (tkj_u32 e = 0; e < TKJ_ITEMS; e++)
            bins[e] = inside >> e & 1 ? bins[e] : TKJ_TWO_23_BITS + TKJ_BINS - 1;
    }
    TKJ_UNROLL
    for (tkj_u32 e = 0; e < TKJ_ITEMS; e++)
        tkj_atomic_add(&histogram->bins[bins[e] - TKJ_TWO_23_BITS], 1);
    tkj_block_barrier();

    tkj_count own[TKJ_BINS_PER_THREAD] = {0};
    tkj_histogram_collect(histogram, own);
    if (tkj_thread() == TKJ_THREADS - 1)
        own[TKJ_BINS_PER_THREAD - 1] -= (tkj_count)(TKJ_CAPACITY - n);
    tkj_histogram_find(histogram, own, TKJ_TOPK);

    tkj_u32 bin = TKJ_TWO_23_BITS + histogram->bin;
    tkj_choice choice = {0, 0, (tkj_u32)(TKJ_TOPK - histogram->before), (tkj_u32)histogram->inside};
    TKJ_UNROLL
    for (tkj_i32 e = TKJ_ITEMS - 1; e >= 0; e--) {
        choice.taken = tkj_push_sign(choice.taken, bins[e] - bin);
        choice.candidates = tkj_push_sign(choice.candidates, bins[e] - bin - 1);
    }
    choice.candidates &= inside & ~choice.taken;
    return choice;
}

/* Step 4 reads candidates again, from L1 or shared memory, in loops over their bits: in registers
   they would weigh on every row, and most threads have few. */

/** Key of this thread's score e. */
TKJ_DEVICE tkj_u32 key_of(const tkj_held_row *held, tkj_u32 e)
{
    return tkj_float_key(tkj_float_of(held->row[held->begin + (tkj_i32)position_of(held, e)]));
}

/** Extreme keys of the candidates, in every thread. */
TKJ_DEVICE void candidate_range(const tkj_held_row *held, tkj_u32 candidates, tkj_u32 *high,
                                tkj_u32 *low, tkj_held_shared *shared)
{
    tkj_u32 own_high = 0;
    tkj_u32 own_low = 0xffffffffu;
    TKJ_NO_UNROLL
    for (tkj_u32 bits = candidates; bits != 0; bits &= bits - 1) {
        tkj_u32 key = key_of(held, tkj_lowest_bit(bits));
        own_high = key > own_high ? key : own_high;
        own_low = key < own_low ? key : own_low;
    }
    publish_keys(own_high, own_low, shared);
    tkj_block_barrier();
    *high = tkj_warp_max(shared->high[tkj_lane() % TKJ_WARPS]);
    *low = tkj_warp_min(shared->low[tkj_lane() % TKJ_WARPS]);
}

/** Those candidates whose key is in [low, high]. */
TKJ_DEVICE tkj_u32 candidates_within(const tkj_held_row *held, tkj_u32 candidates, tkj_u32 low,
                                     tkj_u32 high)
{
    tkj_u32 within = 0;
    TKJ_NO_UNROLL
    for (tkj_u32 bits = candidates; bits != 0; bits &= bits - 1) {
        tkj_u32 key = key_of(held, tkj_lowest_bit(bits));
        within |= key >= low && key <= high ? bits & (0 - bits) : 0;
    }
    return within;
}

/** Where the k-th largest is among the lowest candidates, a plateau such as the zeros of a ReLU:
 * all others are taken. */
TKJ_DEVICE void try_plateau(const tkj_held_row *held, tkj_choice *choice, tkj_u32 low,
                            tkj_scan_shared *scan)
{
    tkj_count lowest;
    tkj_u32 plateau = candidates_within(held, choice->candidates, low, low);
    tkj_block_exclusive_sum_of_warps(tkj_warp_sum((tkj_count)tkj_count_bits(plateau)), &lowest,
                                     scan);
    if (choice->wanted <= choice->count - (tkj_u32)lowest)
        return;
    choice->taken |= choice->candidates & ~plateau;
    choice->candidates = plateau;
    choice->wanted -= choice->count - (tkj_u32)lowest;
    choice->count = (tkj_u32)lowest;
    choice->all_equal = true;
}

/** Bins of equal width over the candidates' range of keys, at least TKJ_BINS times narrower. */
TKJ_DEVICE void bin_by_key(const tkj_held_row *held, tkj_choice *choice, tkj_u32 high, tkj_u32 low,
                           tkj_histogram *histogram)
{
    tkj_u32 width = tkj_bit_width(high - low);
    tkj_u32 shift = width > TKJ_BIN_BITS ? width - TKJ_BIN_BITS : 0;
    tkj_histogram_clear(histogram);
    tkj_block_barrier();
    TKJ_NO_UNROLL
    for (tkj_u32 bits = choice->candidates; bits != 0; bits &= bits - 1)
        tkj_atomic_add(&histogram->bins[(high - key_of(held, tkj_lowest_bit(bits))) >> shift], 1);
    tkj_block_barrier();
    tkj_count own[TKJ_BINS_PER_THREAD] = {0};
    tkj_histogram_collect(histogram, own);
    tkj_histogram_find(histogram, own, choice->wanted);
    tkj_u32 top = high - (histogram->bin << shift);
    tkj_u32 above =
        top == 0xffffffffu ? 0 : candidates_within(held, choice->candidates, top + 1, high);
    tkj_u32 depth = (1u << shift) - 1; /* keys of scores end well above it */
    tkj_u32 inside = candidates_within(held, choice->candidates, top - depth, top);
    choice->taken |= above;
    choice->candidates = inside;
    choice->wanted -= (tkj_u32)histogram->before;
    choice->count = (tkj_u32)histogram->inside;
}

/** Step 4. */
TKJ_DEVICE void refine(const tkj_held_row *held, tkj_choice *choice, tkj_held_shared *shared)
{
    TKJ_NO_UNROLL
    while (choice->count > TKJ_CANDIDATES && choice->wanted < choice->count && !choice->all_equal) {
        tkj_u32 high, low;
        candidate_range(held, choice->candidates, &high, &low, shared);
        try_plateau(held, choice, low, &shared->scan);
        if (!choice->all_equal)
            bin_by_key(held, choice, high, low, &shared->histogram);
    }
}

/** Puts this thread's candidates into the list that all compare with. */
TKJ_DEVICE void list_candidates(const tkj_held_row *held, tkj_u32 candidates,
                                tkj_held_shared *shared)
{
    TKJ_NO_UNROLL /* few turns: copies of the body would only cost registers, here and below */
    while (candidates != 0) {
        tkj_u32 e = tkj_lowest_bit(candidates);
        candidates &= candidates - 1;
        tkj_u32 slot = tkj_atomic_fetch_add(&shared->candidate_count, 1);
        shared->candidates[slot].key = key_of(held, e);
        shared->candidates[slot].position = position_of(held, e);
    }
}

/** True if candidate a is taken before b. */
TKJ_DEVICE bool precedes(tkj_candidate a, tkj_candidate b)
{
    bool first = TKJ_TIE_LARGEST ? a.position > b.position : a.position < b.position;
    return a.key > b.key || (a.key == b.key && first);
}

/** How many of the listed candidates precede this one. All lanes call. */
TKJ_DEVICE tkj_u32 candidates_before(tkj_candidate own, tkj_u32 count,
                                     const tkj_held_shared *shared)
{
    tkj_u32 before = 0;
    for (tkj_u32 first = 0; first < count; first += TKJ_WARP) {
        tkj_u32 other = first + tkj_lane();
        before += tkj_count_bits(
            tkj_ballot(other < count && precedes(shared->candidates[other % TKJ_CANDIDATES], own)));
    }
    return before;
}

#if TKJ_ORDERED

/** Marks one position in a bitmap. */
TKJ_DEVICE void mark(tkj_u32 *bitmap, const tkj_held_row *held, tkj_u32 position)
{
    tkj_u32 offset = (tkj_u32)(held->begin - held->first) + position;
    tkj_u32 group = offset / TKJ_GROUP;
    tkj_atomic_or(&bitmap[group / 4], 1u << (group % 4 * 8 + offset % TKJ_GROUP));
}

/** Writes this thread's bytes of a bitmap. */
TKJ_DEVICE void store_mask(tkj_u32 *bitmap, tkj_u32 mask)
{
    TKJ_UNROLL
    for (tkj_u32 g = 0; g < TKJ_GROUPS; g++)
        ((tkj_u8 *)bitmap)[g * TKJ_THREADS + tkj_thread()] =
            (tkj_u8)(mask >> (g * TKJ_GROUP) & ((1u << TKJ_GROUP) - 1));
}

/** Step 5: marks the candidates that fewer than `wanted` others precede. A warp takes a candidate.
 */
TKJ_DEVICE void compare_candidates(const tkj_held_row *held, tkj_u32 count, tkj_u32 wanted,
                                   tkj_held_shared *shared)
{
    for (tkj_u32 c = tkj_warp(); c < count; c += TKJ_WARPS) {
        tkj_candidate own = shared->candidates[c];
        if (candidates_before(own, count, shared) < wanted && tkj_lane() == 0)
            mark(shared->taken, held, own.position);
    }
}

/** Offset from the block's first score of a bit of this thread's word w of a bitmap. */
TKJ_DEVICE tkj_u32 offset_of_bit(tkj_u32 w, tkj_u32 bit)
{
    return (tkj_thread() * TKJ_GROUPS + w * 4 + bit / 8) * TKJ_GROUP + bit % 8;
}

/** Those bits of a word of equal candidates, the first of which has this rank, that are taken. */
TKJ_DEVICE tkj_u32 taken_bits(tkj_u32 equal, tkj_u32 rank, tkj_u32 wanted, tkj_u32 count)
{
    tkj_u32 bits = 0;
    for (; equal != 0; equal &= equal - 1, rank++)
        if (tkj_taken_of_equal(rank + 1, wanted, count) != tkj_taken_of_equal(rank, wanted, count))
            bits |= equal & (0 - equal);
    return bits;
}

/** Step 6: positions of the marked scores in ascending order. `wanted` of `count` equal ones. */
TKJ_DEVICE void emit_bitmap(const tkj_held_row *held, tkj_u32 wanted, tkj_u32 count,
                            tkj_held_shared *shared)
{
    tkj_u32 words[WORDS];
    tkj_u32 equal[WORDS];
    tkj_u32 counts = 0; /* taken in the low half, equal in the high half */
    TKJ_UNROLL
    for (tkj_u32 w = 0; w < WORDS; w++) {
        words[w] = shared->taken[tkj_thread() * WORDS + w];
        equal[w] = count > 0 ? shared->equal[tkj_thread() * WORDS + w] : 0;
        counts += tkj_count_bits(words[w]) + (tkj_count_bits(equal[w]) << 16);
    }
    tkj_u32 before = (tkj_u32)tkj_block_exclusive_sum(counts, &shared->scan);
    tkj_u32 rank = before >> 16;
    tkj_u32 slot = (before & 0xffffu) + (tkj_u32)tkj_taken_of_equal(rank, wanted, count);
    tkj_u32 ahead = (tkj_u32)(held->begin - held->first);
    TKJ_UNROLL
    for (tkj_u32 w = 0; w < WORDS; w++) {
        tkj_u32 bits = words[w] | taken_bits(equal[w], rank, wanted, count);
        rank += tkj_count_bits(equal[w]);
        for (; bits != 0; bits &= bits - 1)
            shared->selected[slot++] = (tkj_u16)(offset_of_bit(w, tkj_lowest_bit(bits)) - ahead);
    }
}

/** Steps 5 and 6. */
TKJ_DEVICE void list_taken(const tkj_held_row *held, const tkj_choice *choice,
                           tkj_held_shared *shared)
{
    store_mask(shared->taken, choice->taken);
    if (choice->all_equal)
        store_mask(shared->equal, choice->candidates);
    else if (choice->count > 0)
        list_candidates(held, choice->candidates, shared);
    tkj_block_barrier();
    if (!choice->all_equal && choice->count > 0) {
        compare_candidates(held, choice->count, choice->wanted, shared);
        tkj_block_barrier();
    }
    emit_bitmap(held, choice->wanted, choice->all_equal ? choice->count : 0, shared);
    tkj_block_barrier();
}

#else

/** Lists as many as are wanted of candidates that are all equal. */
TKJ_DEVICE void list_equal(const tkj_held_row *held, const tkj_choice *choice,
                           tkj_held_shared *shared)
{
    tkj_u32 bits = choice->candidates;
    tkj_u32 slot = (tkj_u32)TKJ_TOPK - choice->wanted +
                   tkj_warp_slots(tkj_count_bits(bits), &shared->candidate_count);
    TKJ_NO_UNROLL
    for (; bits != 0 && slot < TKJ_TOPK; bits &= bits - 1)
        shared->selected[slot++] = (tkj_u16)position_of(held, tkj_lowest_bit(bits));
}

/** Steps 5 and 6. */
TKJ_DEVICE void list_taken(const tkj_held_row *held, const tkj_choice *choice,
                           tkj_held_shared *shared)
{
    tkj_u32 slot = tkj_warp_slots(tkj_count_bits(choice->taken), &shared->taken);
    TKJ_UNROLL
    for (tkj_u32 e = 0; e < TKJ_ITEMS; e++)
        if (choice->taken >> e & 1)
            shared->selected[slot++] = (tkj_u16)position_of(held, e);
    if (choice->all_equal)
        list_equal(held, choice, shared);
    else if (choice->count > 0)
        list_candidates(held, choice->candidates, shared);
    tkj_block_barrier();
    if (choice->all_equal || choice->count == 0)
        return;
    tkj_u32 first = (tkj_u32)TKJ_TOPK - choice->wanted;
    for (tkj_u32 c = tkj_warp(); c < choice->count; c += TKJ_WARPS) {
        tkj_candidate own = shared->candidates[c];
        tkj_u32 before = candidates_before(own, choice->count, shared);
        if (before < choice->wanted && tkj_lane() == 0)
            shared->selected[first + before] = (tkj_u16)own.position;
    }
    tkj_block_barrier();
}

#endif

/** Steps 2 to 6 for a window of more than k scores. Ends with a barrier. */
TKJ_DEVICE void select_held(const tkj_held_row *held, float x[TKJ_ITEMS], tkj_held_shared *shared)
{
    tkj_u32 inside = window_mask(held);
    publish_extremes(x, held, inside, shared);
    tkj_histogram_clear(&shared->histogram);
    if (tkj_thread() == 0) {
        shared->candidate_count = 0;
#if !TKJ_ORDERED
        shared->taken = 0;
#endif
    }
    tkj_block_barrier();
    tkj_choice choice = choose_by_value(x, inside, held->end - held->begin, shared);
    refine(held, &choice, shared);
    if (choice.wanted == choice.count) {
        choice.taken |= choice.candidates;
        choice.count = 0;
        choice.all_equal = false;
    }
    list_taken(held, &choice, shared);
}

#endif /* TKJ_HELD_ROW_CUH */
