/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file listed_row.cuh
 * @brief Exact selection of the k largest of a list of at most TKJ_LIST scores and their positions,
 *        in any order.
 *
 * 1. Count all in bins by value (value_bins.cuh), find the bin of the k-th largest. Scores in
 *    earlier bins are taken. Those in it are candidates.
 * 2. While there are too many candidates to compare one by one, bin them by their keys, which
 *    divides the keys' range by at least TKJ_BINS / 2. Of equal ones as many are taken as are
 *    wanted; with TKJ_ORDERED there are none, for bins are by codes (codes.cuh) then.
 * 3. Compare the candidates' codes one by one.
 * 4. List the positions of what is taken: as it comes, or with TKJ_ORDERED ascending, each
 *    where its rank in a bitmap says that holds TKJ_MARKED positions at a time.
 *
 * Exact: bins are monotone in the score, and codes are exact.
 *
 * Synchronisation: block barriers only.
 */
#ifndef TKJ_LISTED_ROW_CUH
#define TKJ_LISTED_ROW_CUH

#include "codes.cuh"
#include "value_bins.cuh"

/** A score and its position in the window. */
typedef tkj_pair tkj_survivor;
#define SCORE_OF(survivor) tkj_float_from_bits((survivor).words[0])
#define POSITION_OF(survivor) ((survivor).words[1])

/* The longest list, and what of it one thread has; so many are looked at before it is asked whether
 * there are more: that is how many there mostly are. */
#define TKJ_LIST 6144
#define TKJ_LISTED (TKJ_LIST / TKJ_THREADS)
#define TKJ_BATCH (TKJ_CLUSTERS ? 4 : 6)
TKJ_STATIC_ASSERT(TKJ_LIST % TKJ_THREADS == 0 && TKJ_LISTED <= 32, "a word has a bit for each");
TKJ_STATIC_ASSERT(TKJ_LISTED % TKJ_BATCH == 0, "batches are full");

/* Positions that the bitmap holds, and words of it for each thread: less where k leaves less room.
 */
#define TKJ_MARK_WORDS (TKJ_BINS / TKJ_THREADS * (TKJ_TOPK > 2048 ? 1 : 2))
#define TKJ_MARKED (TKJ_THREADS * TKJ_MARK_WORDS * 32)

/** Shared memory. */
typedef struct tkj_listed_shared {
#if TKJ_ORDERED
    union {
        tkj_quad words_at_once;
        tkj_u32 marks[TKJ_MARKED / 32]; /* a bitmap of positions; all 0 but in step 4 */
    };
    tkj_u64 last; /* code of the k-th largest */
#endif
    tkj_u64 codes[TKJ_COMPARED];
    tkj_u64 low[TKJ_WARPS]; /* extreme codes of each warp's candidates */
    tkj_u64 high[TKJ_WARPS];
    tkj_scan_shared scan;
    tkj_u32 listed[2]; /* positions that are taken, codes */
    union {
        tkj_quad aligned;
        tkj_u32 selected[TKJ_TOPK]; /* positions */
    };
} tkj_listed_shared;

/** A list as this thread sees it: it has the survivors first, first + step, ... below end. */
typedef struct tkj_list {
    const tkj_survivor *survivors;
    tkj_u32 first;
    tkj_u32 step;
    tkj_u32 end;
    tkj_u32 positions; /* all are below */
} tkj_list;

#if TKJ_ORDERED
/** Clears the bitmap. */
TKJ_DEVICE void tkj_clear_marks(tkj_listed_shared *shared)
{
    const tkj_quad zero = {{0, 0, 0, 0}};
    TKJ_UNROLL
    for (tkj_u32 q = 0; q < TKJ_MARK_WORDS / 4; q++)
        ((tkj_quad *)shared->marks)[q * TKJ_THREADS + tkj_thread()] = zero;
}
#endif

/** Makes the scratch ready for a list; a barrier must follow. */
TKJ_DEVICE void tkj_listed_clear(tkj_listed_shared *shared)
{
    if (tkj_thread() < 2)
        shared->listed[tkj_thread()] = 0;
#if TKJ_ORDERED
    tkj_clear_marks(shared);
#endif
}

/** True if this thread has a survivor i. */
TKJ_DEVICE bool tkj_has_survivor(const tkj_list *list, tkj_u32 i)
{
    return list->first + i * list->step < list->end;
}

/** True if a thread of this warp has a survivor i, or, of the first ones, may have. */
TKJ_DEVICE bool tkj_has_batch(const tkj_list *list, tkj_u32 i)
{
    return i == 0 || list->first - tkj_lane() + i * list->step < list->end;
}

/** This thread's survivor i. */
TKJ_DEVICE tkj_survivor tkj_own_survivor(const tkj_list *list, tkj_u32 i)
{
    return list->survivors[list->first + i * list->step];
}

TKJ_DEVICE tkj_u64 tkj_code_of(tkj_survivor survivor)
{
    return tkj_code(tkj_float_key(SCORE_OF(survivor)), POSITION_OF(survivor));
}

/** What is known of the choice so far. Masks have one bit for each of this thread's survivors. */
typedef struct tkj_listed_choice {
    tkj_u32 taken;
    tkj_u32 candidates; /* some of them are taken, too: */
    tkj_u32 wanted;     /* this many, block-wide, */
    tkj_u32 count;      /* of this many */
} tkj_listed_choice;

/** Counts a batch of this thread's survivors, from `first` on. @return their bins, as the bits of
 * tkj_value_bin_bits; of none TKJ_BINS, without a branch */
TKJ_DEVICE void tkj_count_batch(const tkj_list *list, const tkj_value_map *map, tkj_u32 first,
                                tkj_u32 bins[TKJ_BATCH], tkj_histogram *histogram)
{
    float scores[TKJ_BATCH];
    TKJ_UNROLL
    for (tkj_u32 j = 0; j < TKJ_BATCH; j++)
        scores[j] =
            tkj_has_survivor(list, first + j) ? SCORE_OF(tkj_own_survivor(list, first + j)) : 0.0f;
    TKJ_UNROLL
    for (tkj_u32 j = 0; j < TKJ_BATCH; j++) {
        bool exists = tkj_has_survivor(list, first + j);
        bins[j] = exists ? tkj_value_bin_bits(map, scores[j]) : TKJ_TWO_23_BITS + TKJ_BINS;
        tkj_atomic_count(histogram->bins, TKJ_TWO_23_BITS, bins[j]);
    }
}

/** Step 1. The histogram is clear. */
TKJ_DEVICE tkj_listed_choice tkj_choose_listed(const tkj_list *list, const tkj_value_map *map,
                                               tkj_u32 wanted, tkj_histogram *histogram)
{
    tkj_u32 bins[TKJ_LISTED];
    TKJ_UNROLL
    for (tkj_u32 b = 0; b < TKJ_LISTED && tkj_has_batch(list, b); b += TKJ_BATCH)
        tkj_count_batch(list, map, b, bins + b, histogram);
    tkj_block_barrier();
    tkj_count own[TKJ_BINS_PER_THREAD] = {0};
    tkj_histogram_collect(histogram, own);
    tkj_histogram_find(histogram, own, wanted);
    tkj_u32 bin = TKJ_TWO_23_BITS + histogram->bin;
    tkj_listed_choice choice = {0, 0, (tkj_u32)(wanted - histogram->before),
                                (tkj_u32)histogram->inside};
    TKJ_UNROLL
    for (tkj_u32 b = 0; b < TKJ_LISTED && tkj_has_batch(list, b); b += TKJ_BATCH) {
        tkj_u32 taken = 0;
        tkj_u32 candidates = 0;
        TKJ_UNROLL
        for (tkj_u32 j = TKJ_BATCH; j-- > 0;) {
            taken = tkj_push_sign(taken, bins[b + j] - bin);
            candidates = tkj_push_sign(candidates, bins[b + j] - bin - 1);
        }
        choice.taken |= taken << b;
        choice.candidates |= (candidates & ~taken) << b;
    }
    return choice;
}

/* ---- step 2 ---- */

/* What candidates are binned by. */
#if TKJ_ORDERED
typedef tkj_u64 tkj_rank_code;
#else
typedef tkj_u32 tkj_rank_code;
#endif

TKJ_DEVICE tkj_rank_code tkj_rank_code_of(const tkj_list *list, tkj_u32 i)
{
    tkj_survivor survivor = tkj_own_survivor(list, i);
#if TKJ_ORDERED
    return tkj_code_of(survivor);
#else
    return tkj_float_key(SCORE_OF(survivor));
#endif
}

TKJ_DEVICE tkj_u64 tkj_warp_max(tkj_u64 value)
{
    tkj_u32 high = tkj_warp_max((tkj_u32)(value >> 32));
    tkj_u32 low = tkj_warp_max((tkj_u32)(value >> 32) == high ? (tkj_u32)value : 0);
    return (tkj_u64)high << 32 | low;
}

/** A range of codes, ends included. */
typedef struct tkj_code_range {
    tkj_rank_code low;
    tkj_rank_code high;
} tkj_code_range;

/** From the candidates' lowest code to the highest one, in every thread. */
TKJ_DEVICE tkj_code_range tkj_range_of_codes(const tkj_list *list, tkj_u32 candidates,
                                             tkj_listed_shared *shared)
{
    tkj_code_range range = {~(tkj_rank_code)0, 0};
    TKJ_NO_UNROLL
    for (; candidates != 0; candidates &= candidates - 1) {
        tkj_rank_code code = tkj_rank_code_of(list, tkj_lowest_bit(candidates));
        range.high = code > range.high ? code : range.high;
        range.low = code < range.low ? code : range.low;
    }
    range.high = tkj_warp_max(range.high);
    range.low = ~tkj_warp_max(~range.low);
    if (tkj_lane() == 0) {
        shared->high[tkj_warp()] = range.high;
        shared->low[tkj_warp()] = range.low;
    }
    tkj_block_barrier();
    range.high = tkj_warp_max((tkj_rank_code)shared->high[tkj_lane() % TKJ_WARPS]);
    range.low = ~tkj_warp_max(~(tkj_rank_code)shared->low[tkj_lane() % TKJ_WARPS]);
    return range;
}

/** Decides candidates whose codes are outside of a range: higher ones are taken. */
TKJ_DEVICE void tkj_decide_outside(const tkj_list *list, const tkj_code_range *range,
                                   tkj_listed_choice *choice)
{
    tkj_u32 candidates = choice->candidates;
    TKJ_NO_UNROLL
    for (tkj_u32 bits = candidates; bits != 0; bits &= bits - 1) {
        tkj_u32 bit = bits & (0 - bits);
        tkj_rank_code code = tkj_rank_code_of(list, tkj_lowest_bit(bits));
        choice->taken |= code > range->high ? bit : 0;
        choice->candidates ^= code > range->high || code < range->low ? bit : 0;
    }
}

/** Bins of equal width over the range, which shrinks to that of the k-th largest. */
TKJ_DEVICE void tkj_bin_by_code(const tkj_list *list, tkj_listed_choice *choice,
                                tkj_code_range *range, tkj_histogram *histogram)
{
    tkj_rank_code extent = range->high - range->low;
    tkj_u32 upper = (tkj_u32)((tkj_u64)extent >> 32);
    tkj_u32 width = upper ? 32 + tkj_bit_width(upper) : tkj_bit_width((tkj_u32)extent);
    tkj_u32 shift = width > TKJ_BIN_BITS ? width - TKJ_BIN_BITS : 0;
    tkj_histogram_clear(histogram);
    tkj_block_barrier();
    TKJ_NO_UNROLL
    for (tkj_u32 bits = choice->candidates; bits != 0; bits &= bits - 1) {
        tkj_rank_code code = tkj_rank_code_of(list, tkj_lowest_bit(bits));
        tkj_atomic_add(&histogram->bins[(tkj_u32)((range->high - code) >> shift)], 1);
    }
    tkj_block_barrier();
    tkj_count own[TKJ_BINS_PER_THREAD] = {0};
    tkj_histogram_collect(histogram, own);
    tkj_histogram_find(histogram, own, choice->wanted);
    tkj_rank_code above = (tkj_rank_code)histogram->bin << shift; /* of the range before the bin */
    tkj_rank_code depth = ((tkj_rank_code)1 << shift) - 1;
    range->high -= above;
    range->low = extent - above > depth ? range->high - depth : range->low;
    choice->wanted -= (tkj_u32)histogram->before;
    choice->count = (tkj_u32)histogram->inside;
    tkj_decide_outside(list, range, choice);
}

/** Takes as many candidates as are wanted, whichever they are. */
TKJ_DEVICE void tkj_settle_equal(tkj_listed_choice *choice, tkj_listed_shared *shared)
{
    tkj_u32 place = tkj_warp_slots(tkj_count_bits(choice->candidates), &shared->listed[1]);
    choice->taken |= tkj_taken_bits(choice->candidates, place, choice->wanted);
    choice->candidates = choice->wanted = choice->count = 0;
}

/** Step 2. */
TKJ_DEVICE void tkj_refine_listed(const tkj_list *list, tkj_listed_choice *choice,
                                  tkj_histogram *histogram, tkj_listed_shared *shared)
{
    tkj_code_range range = tkj_range_of_codes(list, choice->candidates, shared);
    TKJ_NO_UNROLL
    while (choice->count > TKJ_COMPARED && range.low < range.high)
        tkj_bin_by_code(list, choice, &range, histogram);
    if (choice->count > TKJ_COMPARED)
        tkj_settle_equal(choice, shared);
}

/* ---- step 3 ---- */

/** Lists the codes of this thread's candidates, for all to compare with, from a place on. */
TKJ_DEVICE void tkj_list_codes(const tkj_list *list, tkj_u32 candidates, tkj_u32 place,
                               tkj_listed_shared *shared)
{
    TKJ_NO_UNROLL
    for (; candidates != 0; candidates &= candidates - 1)
        shared->codes[place++] = tkj_code_of(tkj_own_survivor(list, tkj_lowest_bit(candidates)));
}

#if TKJ_ORDERED

/** Step 3: all candidates that are taken, are. */
TKJ_DEVICE void tkj_decide_candidates(const tkj_list *list, tkj_listed_choice *choice,
                                      tkj_listed_shared *shared)
{
    tkj_u32 place = tkj_warp_slots(tkj_count_bits(choice->candidates), &shared->listed[1]);
    tkj_list_codes(list, choice->candidates, place, shared);
    tkj_block_barrier();
    for (tkj_u32 c = tkj_warp(); c < choice->count; c += TKJ_WARPS) {
        tkj_u64 code = shared->codes[c];
        tkj_u32 above = tkj_codes_above(code, choice->count, shared->codes);
        if (above == choice->wanted - 1 && tkj_lane() == 0)
            shared->last = code;
    }
    tkj_block_barrier();
    const tkj_code_range last = {shared->last, shared->last};
    tkj_decide_outside(list, &last, choice);
    choice->taken |= choice->candidates; /* the last one */
}

/** Marks what is taken of positions [first, first + TKJ_MARKED). */
TKJ_DEVICE void tkj_mark_taken(const tkj_list *list, tkj_u32 taken, tkj_u32 first,
                               tkj_listed_shared *shared)
{
    TKJ_NO_UNROLL
    for (; taken != 0; taken &= taken - 1) {
        tkj_u32 place = POSITION_OF(tkj_own_survivor(list, tkj_lowest_bit(taken))) - first;
        if (place < TKJ_MARKED)
            tkj_atomic_or(&shared->marks[place / 32], 1u << (place % 32));
    }
}

/** Counts the marks before each word; a barrier must have come before. @return all */
TKJ_DEVICE tkj_u32 tkj_rank_marks(tkj_u16 *ranks, tkj_listed_shared *shared)
{
    const tkj_u32 *own = shared->marks + tkj_thread() * TKJ_MARK_WORDS;
    tkj_u32 before[TKJ_MARK_WORDS];
    tkj_u32 count = 0;
    TKJ_UNROLL
    for (tkj_u32 w = 0; w < TKJ_MARK_WORDS; w++) {
        before[w] = count;
        count += tkj_count_bits(own[w]);
    }
    tkj_u32 below = tkj_warp_exclusive_sum(count);
    if (tkj_lane() == TKJ_WARP - 1)
        shared->scan.warp_sums[tkj_warp()] = below + count;
    tkj_block_barrier();
    tkj_count total;
    below += (tkj_u32)tkj_sum_of_lower_warps(&shared->scan, &total);
    TKJ_UNROLL
    for (tkj_u32 w = 0; w < TKJ_MARK_WORDS; w++)
        ranks[tkj_thread() * TKJ_MARK_WORDS + w] = (tkj_u16)(below + before[w]);
    tkj_block_barrier();
    return (tkj_u32)total;
}

/** Lists the marked positions from slot `slot` on: each where its rank says. */
TKJ_DEVICE void tkj_list_marked(const tkj_list *list, tkj_u32 taken, tkj_u32 first, tkj_u32 slot,
                                const tkj_u16 *ranks, tkj_listed_shared *shared)
{
    TKJ_NO_UNROLL
    for (; taken != 0; taken &= taken - 1) {
        tkj_u32 position = POSITION_OF(tkj_own_survivor(list, tkj_lowest_bit(taken)));
        tkj_u32 place = position - first;
        if (place < TKJ_MARKED) {
            tkj_u32 lower = shared->marks[place / 32] & ((1u << (place % 32)) - 1);
            shared->selected[slot + ranks[place / 32] + tkj_count_bits(lower)] = position;
        }
    }
}

/** Steps 3 and 4, of `asked` in all. Nobody is to read the histogram any more. */
TKJ_DEVICE void tkj_list_taken(const tkj_list *list, tkj_listed_choice *choice, tkj_u32 asked,
                               tkj_histogram *histogram, tkj_listed_shared *shared)
{
    tkj_u16 *ranks = (tkj_u16 *)histogram->bins;
    if (choice->wanted == choice->count)
        choice->taken |= choice->candidates;
    else
        tkj_decide_candidates(list, choice, shared);
    tkj_u32 slot = 0;
    TKJ_NO_UNROLL
    for (tkj_u32 first = 0; first < list->positions; first += TKJ_MARKED) {
        tkj_mark_taken(list, choice->taken, first, shared);
        tkj_block_barrier();
        tkj_u32 marked = tkj_rank_marks(ranks, shared);
        tkj_list_marked(list, choice->taken, first, slot, ranks, shared);
        slot += marked;
        tkj_block_barrier();
        tkj_clear_marks(shared);
        if (list->positions - first > TKJ_MARKED)
            tkj_block_barrier();
    }
}

#else

/** Steps 3 and 4, of `asked` in all. */
TKJ_DEVICE void tkj_list_taken(const tkj_list *list, tkj_listed_choice *choice, tkj_u32 asked,
                               tkj_histogram *histogram, tkj_listed_shared *shared)
{
    bool whole = choice->wanted == choice->count;
    tkj_u32 taken = choice->taken | (whole ? choice->candidates : 0);
    tkj_u32 compared = whole ? 0 : choice->candidates;
    const tkj_places places =
        tkj_warp_places(tkj_count_bits(taken), tkj_count_bits(compared), shared->listed);
    tkj_cursor cursor = tkj_cursor_at(shared->selected + places.first);
    TKJ_UNROLL
    for (tkj_u32 b = 0; b < TKJ_LISTED && tkj_has_batch(list, b); b += TKJ_BATCH) {
        tkj_u32 positions[TKJ_BATCH];
        TKJ_UNROLL
        for (tkj_u32 j = 0; j < TKJ_BATCH; j++)
            positions[j] = taken >> (b + j) & 1 ? POSITION_OF(tkj_own_survivor(list, b + j)) : 0;
        TKJ_UNROLL
        for (tkj_u32 j = 0; j < TKJ_BATCH; j++)
            cursor = tkj_append(cursor, positions[j], taken, b + j);
    }
    tkj_list_codes(list, compared, places.second, shared);
    tkj_block_barrier();
    if (whole)
        return;
    for (tkj_u32 c = tkj_warp(); c < choice->count; c += TKJ_WARPS) {
        tkj_u64 code = shared->codes[c];
        tkj_u32 above = tkj_codes_above(code, choice->count, shared->codes);
        if (above < choice->wanted && tkj_lane() == 0)
            shared->selected[asked - choice->wanted + above] = tkj_position_of_code(code);
    }
    tkj_block_barrier();
}

#endif

#endif /* TKJ_LISTED_ROW_CUH */
