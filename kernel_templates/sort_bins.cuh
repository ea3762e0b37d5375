/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sort_bins.cuh
 * @brief Steps 2 and 3 of sort.cuh: elements in the slots of ever narrower bins, compared with
 * those of the same bin at last.
 */
#ifndef TKJ_SORT_BINS_CUH
#define TKJ_SORT_BINS_CUH

#include "ranked.cuh"
#include "scan.cuh"

#if TKJ_SORT_CAPACITY > 0

/* Fewer elements than this are compared with one another, so many or more are a crowd. */
#define TKJ_CROWD 32
#define TKJ_IS_CROWD 0xffe0ffe0u /* bits of two counts */

#define TKJ_SORT_TURNS (2 * TKJ_RANK_WORDS)
#define TKJ_SORT_OWN ((TKJ_SORT_CAPACITY + TKJ_THREADS - 1) / TKJ_THREADS)
#define TKJ_SORT_QUADS ((TKJ_SORT_CAPACITY + 3) / 4) /* of 8 bins each */

/** What each word of a crowd's elements lies between. */
typedef struct alignas(16) tkj_crowd {
    tkj_u32 high[TKJ_RANK_WORDS];
    tkj_u32 low[TKJ_RANK_WORDS];
} tkj_crowd;

/** Shared memory of a sort. */
typedef struct tkj_sort_shared {
    union {
        tkj_index positions[TKJ_SORT_CAPACITY]; /* the result, at a multiple of 16 bytes */
        tkj_quad quads[TKJ_SORT_QUADS + 1];
        tkj_u32 counts[4 * TKJ_SORT_QUADS + 4]; /* of two bins each */
        tkj_u16 begins[8 * TKJ_SORT_QUADS + 8]; /* and then, the first slot of each bin */
    };
    tkj_ranked ranked[TKJ_SORT_CAPACITY + 1]; /* in the slots of their bins; and a last one */
    tkj_u16 bins[TKJ_SORT_CAPACITY];          /* of those */
    tkj_crowd crowds[TKJ_SORT_CAPACITY / TKJ_CROWD + 1]; /* see tkj_crowd_of */
    tkj_scan_shared scan;
    tkj_u32 crowd_bits; /* did this turn leave a crowd? */
} tkj_sort_shared;

#else

/** More slots than fit: sorted in place, keys fetched by position. */
typedef struct tkj_sort_shared {
    char unused;
} tkj_sort_shared;

#endif

#if TKJ_SORT_CAPACITY > 0

/* ---- step 2 ---- */

/** One of the elements that a thread keeps. */
typedef struct tkj_sort_item {
    tkj_ranked ranked;
    tkj_u32 first; /* slot of its crowd or bin */
    tkj_u32 count; /* elements of that; 0: there is no element */
} tkj_sort_item;

/** The crowd of an item: TKJ_CROWD slots or more have a first one that is a multiple of it. */
TKJ_DEVICE tkj_crowd *tkj_crowd_of(const tkj_sort_item *item, tkj_sort_shared *shared)
{
    return &shared->crowds[(item->first + TKJ_CROWD - 1) / TKJ_CROWD];
}

/** Clears all crowds; a barrier must follow. */
TKJ_DEVICE void tkj_clear_crowds(tkj_sort_shared *shared)
{
    TKJ_NO_UNROLL
    for (tkj_u32 c = tkj_thread(); c < TKJ_SORT_CAPACITY / TKJ_CROWD + 1; c += TKJ_THREADS) {
        TKJ_UNROLL
        for (tkj_u32 w = 0; w < TKJ_RANK_WORDS; w++) {
            shared->crowds[c].high[w] = 0;
            shared->crowds[c].low[w] = 0xffffffffu;
        }
    }
}

/** Notes what word w of a warp's items of one crowd lies between. */
TKJ_DEVICE void tkj_note_word(const tkj_sort_item items[TKJ_SORT_OWN], tkj_u32 w, tkj_crowd *crowd)
{
    tkj_u32 high = 0;
    tkj_u32 low = 0xffffffffu;
    TKJ_UNROLL
    for (tkj_u32 e = 0; e < TKJ_SORT_OWN; e++) {
        tkj_u32 word = tkj_rank_word(items[e].ranked, w);
        tkj_u32 none = items[e].count > 0 ? 0 : 0xffffffffu;
        high = (word & ~none) > high ? word & ~none : high;
        low = (word | none) < low ? word | none : low;
    }
    high = tkj_warp_max(high);
    low = tkj_warp_min(low);
    if (tkj_lane() == 0) {
        tkj_atomic_max(&crowd->high[w], high);
        tkj_atomic_min(&crowd->low[w], low);
    }
}

/** What the only crowd of the first turn lies between: positions anywhere below `bound`. */
TKJ_DEVICE void tkj_note_all(const tkj_sort_item items[TKJ_SORT_OWN], tkj_i64 bound,
                             tkj_sort_shared *shared)
{
    const tkj_ranked highest = tkj_rank(0, 0);
    const tkj_ranked lowest = tkj_rank(0, (tkj_index)(bound - 1));
    TKJ_UNROLL
    for (tkj_u32 w = 0; w < TKJ_KEY_WORDS; w++)
        tkj_note_word(items, w, &shared->crowds[0]);
    TKJ_UNROLL
    for (tkj_u32 w = TKJ_KEY_WORDS; w < TKJ_RANK_WORDS; w++) {
        if (tkj_thread() == 0) {
            shared->crowds[0].high[w] = tkj_rank_word(highest, w);
            shared->crowds[0].low[w] = tkj_rank_word(lowest, w);
        }
    }
}

/** How a crowd's elements map to bins: a word of theirs, below `high`, times `factor`, by 2^32. */
typedef struct tkj_sort_map {
    tkj_u32 word;
    tkj_u32 high;
    tkj_u32 factor;
} tkj_sort_map;

TKJ_DEVICE tkj_sort_map tkj_sort_map_of(const tkj_crowd *crowd, tkj_u32 count)
{
    tkj_sort_map map = {0, 0, 0};
    tkj_u32 extent = 0;
    TKJ_UNROLL
    for (tkj_u32 w = TKJ_RANK_WORDS; w-- > 0;) {
        bool differs = crowd->high[w] != crowd->low[w];
        map.word = differs ? w : map.word;
        map.high = differs ? crowd->high[w] : map.high;
        extent = differs ? crowd->high[w] - crowd->low[w] : extent;
    }
    float share = (float)(2 * count) * tkj_reciprocal((float)extent + 1.0f);
    /* Where each word has a bin of its own, the bin is how far the word is below the highest: for
       d < 2^32 - 1 the upper half of (d + 1) * (2^32 - 1) is d. */
    bool is_fine = share >= 1.0f;
    map.high += is_fine;
    map.factor = is_fine ? 0xffffffffu : (tkj_u32)(share * 0x1p32f);
    return map;
}

/** The bin of an element of a crowd: its bins are twice its slots. */
TKJ_DEVICE tkj_u32 tkj_sort_bin(const tkj_sort_map *map, const tkj_sort_item *item)
{
    tkj_u32 word = tkj_rank_word(item->ranked, TKJ_RANK_WORDS - 1);
    TKJ_UNROLL
    for (tkj_u32 w = 0; w + 1 < TKJ_RANK_WORDS; w++)
        word = map->word == w ? tkj_rank_word(item->ranked, w) : word;
    tkj_u32 bin = tkj_upper_product(map->high - word, map->factor);
    tkj_u32 last = 2 * item->count - 1;
    return 2 * item->first + (bin < last ? bin : last);
}

/** Turns counts of n elements into where their bins begin. Ends with a barrier. */
TKJ_DEVICE void tkj_sum_bins(tkj_u32 n, tkj_sort_shared *shared)
{
    const tkj_u32 own = (TKJ_SORT_QUADS + TKJ_THREADS - 1) / TKJ_THREADS;
    tkj_u32 first = tkj_thread() * own;
    tkj_u32 sums = 0;
    tkj_u32 bits = 0;
    TKJ_UNROLL
    for (tkj_u32 q = first; q < first + own; q++) {
        if (q >= TKJ_SORT_QUADS)
            continue;
        const tkj_quad quad = shared->quads[q];
        TKJ_UNROLL
        for (tkj_u32 i = 0; i < 4; i++) {
            sums += quad.words[i];
            bits |= quad.words[i];
        }
    }
    tkj_u32 begin =
        (tkj_u32)tkj_block_exclusive_sum((sums & 0xffffu) + (sums >> 16), &shared->scan);
    TKJ_UNROLL
    for (tkj_u32 q = first; q < first + own; q++) {
        if (q >= TKJ_SORT_QUADS)
            continue;
        tkj_quad quad = shared->quads[q];
        TKJ_UNROLL
        for (tkj_u32 i = 0; i < 4; i++) {
            tkj_u32 counts = quad.words[i];
            quad.words[i] = begin * 0x10001u + (counts << 16);
            begin += (counts & 0xffffu) + (counts >> 16);
        }
        shared->quads[q] = quad;
    }
    if (tkj_thread() == 0)
        shared->counts[4 * TKJ_SORT_QUADS] = n;
    if (bits & TKJ_IS_CROWD)
        tkj_atomic_or(&shared->crowd_bits, 1);
    tkj_block_barrier();
}

/** Item e of a thread once the elements are in the slots of their bins. */
TKJ_DEVICE tkj_sort_item tkj_sort_item_at(tkj_u32 e, tkj_u32 n, const tkj_sort_shared *shared)
{
    tkj_u32 s = tkj_thread() + e * TKJ_THREADS;
    tkj_u32 there = s < n ? s : 0;
    tkj_u32 bin = shared->bins[there];
    tkj_sort_item item = {shared->ranked[there], shared->begins[bin], 0};
    item.count = s < n ? shared->begins[bin + 1] - item.first : 0;
    return item;
}

/** What the crowds of a later turn lie between. The lanes of a warp have neighbouring slots, so
 * mostly one crowd, or none. */
TKJ_DEVICE void tkj_note_crowds(tkj_u32 n, tkj_sort_shared *shared)
{
    TKJ_NO_UNROLL
    for (tkj_u32 e = 0; e < TKJ_SORT_OWN; e++) {
        const tkj_sort_item item = tkj_sort_item_at(e, n, shared);
        bool is_crowded = item.count >= TKJ_CROWD;
        tkj_u32 first = is_crowded ? item.first : 0xffffffffu;
        bool is_one = tkj_warp_max(first) == tkj_warp_min(first);
        tkj_crowd *crowd = tkj_crowd_of(&item, shared);
        if (is_one && !is_crowded)
            continue;
        TKJ_UNROLL
        for (tkj_u32 w = 0; w < TKJ_RANK_WORDS; w++) {
            tkj_u32 word = tkj_rank_word(item.ranked, w);
            tkj_u32 high = is_one ? tkj_warp_max(word) : word;
            tkj_u32 low = is_one ? tkj_warp_min(word) : word;
            if (is_one ? tkj_lane() == 0 : is_crowded) {
                tkj_atomic_max(&crowd->high[w], high);
                tkj_atomic_min(&crowd->low[w], low);
            }
        }
    }
}

/** One turn of step 2; what its crowds lie between is known but for the first one. Ends with a
 * barrier. @return whether it left crowds */
TKJ_DEVICE bool tkj_spread(const tkj_sort_item items[TKJ_SORT_OWN], tkj_u32 n, tkj_i64 bound,
                           bool is_first, tkj_sort_shared *shared)
{
    const tkj_quad zero = {{0, 0, 0, 0}};
    tkj_u32 bins[TKJ_SORT_OWN];
    tkj_u32 places[TKJ_SORT_OWN];
    if (tkj_thread() == 0)
        shared->crowd_bits = 0;
    TKJ_UNROLL
    for (tkj_u32 q = tkj_thread(); q < TKJ_SORT_QUADS + 1; q += TKJ_THREADS)
        shared->quads[q] = zero;
    tkj_block_barrier();
    if (is_first) {
        tkj_note_all(items, bound, shared);
        tkj_block_barrier();
    }
    tkj_sort_map map = tkj_sort_map_of(&shared->crowds[0], n);
    TKJ_UNROLL
    for (tkj_u32 e = 0; e < TKJ_SORT_OWN; e++) {
        tkj_u32 bin = 2 * items[e].first;
        if (!is_first && items[e].count >= TKJ_CROWD)
            map = tkj_sort_map_of(tkj_crowd_of(&items[e], shared), items[e].count);
        if (is_first || items[e].count >= TKJ_CROWD)
            bin = tkj_sort_bin(&map, &items[e]);
        bins[e] = items[e].count > 0 ? bin : 8 * TKJ_SORT_QUADS + 2; /* of no use */
        tkj_u32 shift = bins[e] % 2 * 16;
        tkj_u32 counts = tkj_atomic_fetch_add(&shared->counts[bins[e] / 2], 1u << shift);
        places[e] = counts >> shift & 0xffffu;
    }
    tkj_block_barrier();
    tkj_sum_bins(n, shared);
    TKJ_UNROLL
    for (tkj_u32 e = 0; e < TKJ_SORT_OWN; e++) {
        tkj_u32 s = shared->begins[bins[e]] + places[e];
        if (items[e].count > 0) {
            shared->ranked[s] = items[e].ranked;
            shared->bins[s] = (tkj_u16)bins[e];
        }
    }
    if (tkj_thread() == 0)
        shared->ranked[n] = tkj_rank(0, (tkj_index) ~(tkj_count)0);
    tkj_clear_crowds(shared);
    tkj_block_barrier();
    return shared->crowd_bits != 0;
}

/** Later turns. A barrier must have come before, and one comes at the end. @return whether they
 * left crowds */
TKJ_OUT_OF_LINE bool tkj_spread_crowds(tkj_u32 n, tkj_sort_shared *shared)
{
    bool is_crowded = true;
    TKJ_NO_UNROLL
    for (tkj_u32 turn = 1; is_crowded && turn < TKJ_SORT_TURNS; turn++) {
        tkj_sort_item items[TKJ_SORT_OWN];
        tkj_note_crowds(n, shared);
        TKJ_UNROLL
        for (tkj_u32 e = 0; e < TKJ_SORT_OWN; e++)
            items[e] = tkj_sort_item_at(e, n, shared);
        tkj_block_barrier();
        is_crowded = tkj_spread(items, n, 0, false, shared);
    }
    return is_crowded;
}

/* ---- step 3 ---- */

/* Elements that a thread compares side by side: more would take too many registers. */
#define TKJ_SORT_BATCH 4
#define TKJ_SORT_BATCHES ((TKJ_SORT_OWN + TKJ_SORT_BATCH - 1) / TKJ_SORT_BATCH)

/** Where an element is to go. */
typedef struct tkj_sorted_item {
    tkj_u32 slot;
    tkj_index position;
} tkj_sorted_item;

/** Items of a thread from `first` on, each compared with all of its bin. */
TKJ_DEVICE void tkj_compare_bins(tkj_u32 first, tkj_u32 n, const tkj_sort_shared *shared,
                                 tkj_sorted_item sorted[TKJ_SORT_BATCH])
{
    tkj_sort_item items[TKJ_SORT_BATCH];
    tkj_u32 most = 0;
    TKJ_UNROLL
    for (tkj_u32 e = 0; e < TKJ_SORT_BATCH; e++) {
        items[e] = tkj_sort_item_at(first + e, n, shared);
        sorted[e].slot = items[e].first;
        sorted[e].position = tkj_ranked_position(items[e].ranked);
        most = items[e].count > most ? items[e].count : most;
    }
    TKJ_NO_UNROLL
    for (tkj_u32 i = 0; i < most; i++) {
        TKJ_UNROLL
        for (tkj_u32 e = 0; e < TKJ_SORT_BATCH; e++) {
            tkj_u32 end = items[e].first + items[e].count; /* there is none that comes before */
            tkj_u32 other = items[e].first + i < end ? items[e].first + i : end;
            sorted[e].slot += tkj_ranks_before(shared->ranked[other], items[e].ranked);
        }
    }
}

/** Step 3. Ends with a barrier. */
TKJ_DEVICE void tkj_sort_bins(tkj_u32 n, tkj_sort_shared *shared)
{
    tkj_sorted_item sorted[TKJ_SORT_BATCHES][TKJ_SORT_BATCH];
    TKJ_UNROLL
    for (tkj_u32 b = 0; b < TKJ_SORT_BATCHES; b++)
        tkj_compare_bins(b * TKJ_SORT_BATCH, n, shared, sorted[b]);
    tkj_block_barrier();
    TKJ_UNROLL
    for (tkj_u32 b = 0; b < TKJ_SORT_BATCHES; b++) {
        TKJ_UNROLL
        for (tkj_u32 e = 0; e < TKJ_SORT_BATCH; e++)
            if (tkj_thread() + (b * TKJ_SORT_BATCH + e) * TKJ_THREADS < n)
                shared->positions[sorted[b][e].slot] = sorted[b][e].position;
    }
    tkj_block_barrier();
}

#endif

#endif /* TKJ_SORT_BINS_CUH */
