/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file held_choice.cuh
 * @brief What of the scores that a block holds is taken, as masks of each thread; and how it
 * becomes a list of positions: as it comes, or with TKJ_ORDERED ascending, by a bitmap.
 *
 * Of a choice that is not settled yet, candidates are compared one by one (codes.cuh), or, where
 * all are equal, taken by position.
 *
 * Synchronisation: block barriers only.
 */
#ifndef TKJ_HELD_CHOICE_CUH
#define TKJ_HELD_CHOICE_CUH

#include "codes.cuh"
#include "histogram.cuh"
#include "row_groups.cuh"

/* Words of a bitmap, which has a byte for a group; and how many of them a thread scans, if any. */
#define BITMAP_WORDS (TKJ_THREADS * TKJ_GROUPS / 4)
#define WORDS ((TKJ_GROUPS + 3) / 4)
TKJ_STATIC_ASSERT(BITMAP_WORDS % WORDS == 0, "a thread scans all of its words or none");
TKJ_STATIC_ASSERT(TKJ_CAPACITY <= 65536, "positions fit 16 bits");

#define TKJ_SELECTED (TKJ_TOPK < TKJ_CAPACITY ? (int)TKJ_TOPK : TKJ_CAPACITY)

/** What is known of the choice so far. Masks have one bit for each of this thread's scores. */
typedef struct tkj_choice {
    tkj_u32 taken;
    tkj_u32 candidates; /* some of them are taken, too: */
    tkj_u32 wanted;     /* this many, block-wide, */
    tkj_u32 count;      /* of this many */
    bool all_equal;     /* which are known to be equal */
} tkj_choice;

/** True if candidates are too many to compare one by one. */
TKJ_DEVICE bool is_crowded(const tkj_choice *choice)
{
    return choice->count > TKJ_COMPARED && choice->wanted < choice->count && !choice->all_equal;
}

/* Of tkj_held_shared.counts: not 0 if a list's bins have one key each (tkj_bins_are_distinct). */
#define TKJ_DISTINCT 2

/** Shared memory. */
typedef struct tkj_held_shared {
    tkj_histogram histogram; /* steps 2 to 4 */
    union {
        tkj_pair aligned;
        tkj_u16 selected[TKJ_SELECTED]; /* step 6: positions */
    };
#if TKJ_ORDERED
    tkj_u32 taken[BITMAP_WORDS]; /* scores that are taken */
    tkj_u32 equal[BITMAP_WORDS]; /* the same, of candidates that are all equal */
#endif
    tkj_u64 candidates[TKJ_COMPARED]; /* codes */
    tkj_choice refined;               /* held_refine.cuh; of thread 0 */
    tkj_u32 listed[2];                /* positions that are taken, candidates */
    tkj_u32 high[TKJ_WARPS];          /* extreme keys of each warp's scores, or of sample parts */
    tkj_u32 low[TKJ_WARPS];
    tkj_scan_shared scan;
    tkj_window window; /* for what comes after: out of the registers until then */
    tkj_held_row row;  /* likewise, of tkj_find_pivot_in_range */
    tkj_u32 beyond[2]; /* of a sample: how many are NaN, and infinite */
    tkj_u32 counts[3]; /* of rows that no block holds: see long_row.cuh */
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

/** Takes all candidates of a choice that takes as many as there are. */
TKJ_DEVICE void settle(tkj_choice *choice)
{
    if (choice->wanted == choice->count) {
        choice->taken |= choice->candidates;
        choice->candidates = 0;
        choice->count = 0;
        choice->all_equal = false;
    }
}

/** Key of this thread's score e. */
TKJ_DEVICE tkj_u32 key_of(const tkj_held_row *held, tkj_u32 e)
{
    return tkj_float_key(tkj_float_of(held->row[held->begin + (tkj_i32)position_of(held, e)]));
}

/** Lists this thread's candidates from a place on. */
TKJ_DEVICE void list_candidates(const tkj_held_row *held, tkj_u32 candidates, tkj_u32 place,
                                tkj_held_shared *shared)
{
    TKJ_NO_UNROLL /* few turns: copies of the body would only cost registers */
    for (; candidates != 0; candidates &= candidates - 1) {
        tkj_u32 e = tkj_lowest_bit(candidates);
        shared->candidates[place++] = tkj_code(key_of(held, e), position_of(held, e));
    }
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

/** Offset from the block's first score of a bit of this thread's word w of a bitmap. */
TKJ_DEVICE tkj_u32 offset_of_bit(tkj_u32 w, tkj_u32 bit)
{
    return ((tkj_thread() * WORDS + w) * 4 + bit / 8) * TKJ_GROUP + bit % 8;
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

/** Positions of the marked scores in ascending order. `wanted` of `count` equal ones. */
TKJ_DEVICE void emit_bitmap(const tkj_held_row *held, tkj_u32 wanted, tkj_u32 count,
                            tkj_held_shared *shared)
{
    tkj_u32 words[WORDS];
    tkj_u32 equal[WORDS];
    tkj_u32 counts = 0; /* taken in the low half, equal in the high half */
    bool scans = tkj_thread() * WORDS < BITMAP_WORDS;
    TKJ_UNROLL
    for (tkj_u32 w = 0; w < WORDS; w++) {
        words[w] = scans ? shared->taken[tkj_thread() * WORDS + w] : 0;
        equal[w] = scans && count > 0 ? shared->equal[tkj_thread() * WORDS + w] : 0;
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

/** Lists what a choice takes. Ends with a barrier. */
TKJ_DEVICE void list_taken(const tkj_held_row *held, const tkj_choice *choice,
                           tkj_held_shared *shared)
{
    bool compares = choice->count > 0 && !choice->all_equal;
    store_mask(shared->taken, choice->taken);
    if (choice->all_equal)
        store_mask(shared->equal, choice->candidates);
    if (compares) {
        tkj_u32 place = tkj_warp_slots(tkj_count_bits(choice->candidates), &shared->listed[1]);
        list_candidates(held, choice->candidates, place, shared);
    }
    tkj_block_barrier();
    if (compares) {
        for (tkj_u32 c = tkj_warp(); c < choice->count; c += TKJ_WARPS) {
            tkj_u64 code = shared->candidates[c];
            tkj_u32 above = tkj_codes_above(code, choice->count, shared->candidates);
            if (above < choice->wanted && tkj_lane() == 0)
                mark(shared->taken, held, tkj_position_of_code(code));
        }
        tkj_block_barrier();
    }
    emit_bitmap(held, choice->wanted, choice->all_equal ? choice->count : 0, shared);
    tkj_block_barrier();
}

#else

/** Lists what a choice takes. Ends with a barrier. */
TKJ_DEVICE void list_taken(const tkj_held_row *held, const tkj_choice *choice,
                           tkj_held_shared *shared)
{
    const tkj_places place = tkj_warp_places(tkj_count_bits(choice->taken),
                                             tkj_count_bits(choice->candidates), shared->listed);
    tkj_u16 *slot = shared->selected + place.first;
    TKJ_UNROLL
    for (tkj_u32 e = 0; e < TKJ_ITEMS; e++)
        if (choice->taken >> e & 1)
            *slot++ = (tkj_u16)position_of(held, e);
    list_candidates(held, choice->candidates, place.second, shared);
    tkj_block_barrier();
    if (choice->count == 0)
        return;
    tkj_u32 first = (tkj_u32)TKJ_TOPK - choice->wanted;
    for (tkj_u32 c = tkj_warp(); c < choice->count; c += TKJ_WARPS) {
        tkj_u64 code = shared->candidates[c];
        tkj_u32 above = tkj_codes_above(code, choice->count, shared->candidates);
        if (above < choice->wanted && tkj_lane() == 0)
            shared->selected[first + above] = (tkj_u16)tkj_position_of_code(code);
    }
    tkj_block_barrier();
}

#endif

#endif /* TKJ_HELD_CHOICE_CUH */
