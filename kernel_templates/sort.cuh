/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sort.cuh
 * @brief Orders selected positions by descending score, equal scores by ascending position.
 *
 * 1. Each thread keeps some of them with their keys. All n are one crowd, which is to fill the
 *    slots from 0 on.
 * 2. A crowd counts its elements in twice as many bins, of equal width, over the range of their
 *    keys, or of their positions where all keys are equal. Sums over the bins say which slots each
 * is to fill. A bin of many elements is a crowd in the next turn; mostly one turn leaves none.
 * 3. Elements go to the slots of their bins, and count those of the same bin that come before.
 * 4. Where all turns leave a crowd (each took only a few elements off), sort by a network instead;
 *    likewise, in the output slots, more positions than fit shared memory.
 *
 * The network is Batcher's bitonic one in the form whose comparators all point the same way (the
 * first step of each merge mirrors instead of shifting): slots from n to the next power of two
 * behave like last elements that never move, so n may be any number. O(n log^2 n) comparisons.
 * Source: K. E. Batcher, Sorting networks and their applications, 1968.
 *
 * Exact: bins are monotone in the order of their crowd, so all of one bin come before all of the
 * next, and elements of one bin are compared. Synchronisation: block barriers.
 */
#ifndef TKJ_SORT_CUH
#define TKJ_SORT_CUH

#include "ordered_key.cuh"
#include "scan.cuh"

/* What is ordered: a key and a position, larger ones first; in words of 32 bits, upper ones first,
   which do the same. */
#define TKJ_KEY_WORDS (sizeof(tkj_key) / 4)
#define TKJ_RANK_WORDS (TKJ_KEY_WORDS + sizeof(tkj_index) / 4)

#if TKJ_KEY_BITS <= 32 && TKJ_INDEX_BITS == 32

typedef tkj_u64 tkj_ranked;

TKJ_DEVICE tkj_ranked tkj_rank(tkj_key key, tkj_index position)
{
    return (tkj_u64)key << 32 | ~(tkj_u32)position;
}

TKJ_DEVICE tkj_index tkj_ranked_position(tkj_ranked ranked)
{
    return (tkj_index) ~(tkj_u32)ranked;
}

TKJ_DEVICE bool tkj_ranks_before(tkj_ranked a, tkj_ranked b)
{
    return a > b;
}

TKJ_DEVICE tkj_u32 tkj_rank_word(tkj_ranked ranked, tkj_u32 w)
{
    return (tkj_u32)(ranked >> (32 * (1 - w)));
}

#else

typedef struct alignas(16) tkj_ranked {
    tkj_key key;
    tkj_count place; /* of the position from the last one down */
} tkj_ranked;

TKJ_DEVICE tkj_ranked tkj_rank(tkj_key key, tkj_index position)
{
    tkj_ranked ranked = {key, ~(tkj_count)position};
    return ranked;
}

TKJ_DEVICE tkj_index tkj_ranked_position(tkj_ranked ranked)
{
    return (tkj_index)~ranked.place;
}

TKJ_DEVICE bool tkj_ranks_before(tkj_ranked a, tkj_ranked b)
{
    return a.key > b.key || (a.key == b.key && a.place > b.place);
}

TKJ_DEVICE tkj_u32 tkj_rank_word(tkj_ranked ranked, tkj_u32 w)
{
    if (w < TKJ_KEY_WORDS)
        return (tkj_u32)(ranked.key >> (32 * (TKJ_KEY_WORDS - 1 - w)));
    return (tkj_u32)(ranked.place >> (32 * (TKJ_RANK_WORDS - 1 - w)));
}

#endif

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

/* ---- step 4 ---- */

TKJ_DEVICE tkj_ranked tkj_sort_load(const tkj_elements *elements, const tkj_slots *slots,
                                    const tkj_sort_shared *shared, tkj_i64 s)
{
#if TKJ_SORT_CAPACITY > 0
    return shared->ranked[s];
#else
    tkj_index position = *tkj_slot(slots, s);
    return tkj_rank(tkj_key_at(elements, position), position);
#endif
}

TKJ_DEVICE void tkj_sort_store(const tkj_slots *slots, tkj_sort_shared *shared, tkj_i64 s,
                               tkj_ranked ranked)
{
#if TKJ_SORT_CAPACITY > 0
    shared->ranked[s] = ranked;
#else
    *tkj_slot(slots, s) = tkj_ranked_position(ranked);
#endif
}

/** One step of the network over n slots: merges of `size`, comparators `distance` apart. */
TKJ_DEVICE void tkj_sort_step(const tkj_elements *elements, const tkj_slots *slots, tkj_i64 n,
                              tkj_i64 size, tkj_i64 distance, tkj_sort_shared *shared)
{
    bool mirror = distance == size / 2;
    for (tkj_i64 pair = tkj_thread();; pair += TKJ_THREADS) {
        tkj_i64 offset = pair & (distance - 1);
        tkj_i64 base = (pair - offset) * 2;
        tkj_i64 low = base + offset;
        tkj_i64 high = mirror ? base + size - 1 - offset : low + distance;
        if (low >= n)
            break;
        if (high >= n)
            continue;
        tkj_ranked a = tkj_sort_load(elements, slots, shared, low);
        tkj_ranked b = tkj_sort_load(elements, slots, shared, high);
        if (tkj_ranks_before(b, a)) {
            tkj_sort_store(slots, shared, low, b);
            tkj_sort_store(slots, shared, high, a);
        }
    }
    tkj_block_barrier();
}

/** Sorts slots 0 .. n-1. The caller has a barrier before and needs none after. */
TKJ_DEVICE void tkj_sort_by_network(const tkj_elements *elements, const tkj_slots *slots, tkj_i64 n,
                                    tkj_sort_shared *shared)
{
    for (tkj_i64 size = 2; size / 2 < n; size *= 2)
        for (tkj_i64 distance = size / 2; distance > 0; distance /= 2)
            tkj_sort_step(elements, slots, n, size, distance, shared);
}

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

/** What the crowds of a later turn lie between. */
TKJ_DEVICE void tkj_note_crowds(const tkj_sort_item items[TKJ_SORT_OWN], tkj_sort_shared *shared)
{
    TKJ_UNROLL
    for (tkj_u32 e = 0; e < TKJ_SORT_OWN; e++) {
        if (items[e].count < TKJ_CROWD)
            continue;
        tkj_crowd *crowd = tkj_crowd_of(&items[e], shared);
        TKJ_UNROLL
        for (tkj_u32 w = 0; w < TKJ_RANK_WORDS; w++) {
            tkj_atomic_max(&crowd->high[w], tkj_rank_word(items[e].ranked, w));
            tkj_atomic_min(&crowd->low[w], tkj_rank_word(items[e].ranked, w));
        }
    }
}

/** How a crowd's elements map to bins. */
typedef struct tkj_sort_map {
    tkj_u32 word;   /* this one of an element, */
    tkj_u32 high;   /* below this, */
    tkj_u32 factor; /* times this, by 2^32 */
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
    map.factor = share < 0.999f ? (tkj_u32)(share * 0x1p32f) : 0xffffffffu;
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

/** One turn of step 2. Ends with a barrier. @return whether it left crowds */
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
    if (is_first)
        tkj_note_all(items, bound, shared);
    else
        tkj_note_crowds(items, shared);
    tkj_block_barrier();
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

/** Sorts a selection of at most k. Its arrays may be part of `shared`; a barrier must have come
 * since they were written. @param bound above all positions @param slots for more than fit shared
 * memory @return it in its order; a barrier has come */
TKJ_DEVICE tkj_selection tkj_sort(const tkj_elements *elements, const tkj_selection *selection,
                                  tkj_i64 bound, const tkj_slots *slots, tkj_sort_shared *shared)
{
    tkj_sort_item items[TKJ_SORT_OWN];
    tkj_u32 n = (tkj_u32)selection->count;
    if (n == 0)
        return *selection;
    TKJ_UNROLL
    for (tkj_u32 e = 0; e < TKJ_SORT_OWN; e++) {
        tkj_u32 s = tkj_thread() + e * TKJ_THREADS;
        tkj_i64 position = tkj_selected_at(selection, s < n ? s : 0);
        items[e].ranked = tkj_rank(tkj_key_at(elements, position), (tkj_index)position);
        items[e].first = 0;
        items[e].count = s < n ? n : 0;
    }
    tkj_block_barrier();
    tkj_clear_crowds(shared);
    bool is_crowded = tkj_spread(items, n, bound, true, shared);
    if (is_crowded)
        is_crowded = tkj_spread_crowds(n, shared);
    if (is_crowded) {
        tkj_sort_by_network(elements, slots, n, shared);
        for (tkj_u32 s = tkj_thread(); s < n; s += TKJ_THREADS)
            shared->positions[s] = tkj_ranked_position(shared->ranked[s]);
        tkj_block_barrier();
    } else {
        tkj_sort_bins(n, shared);
    }
#if TKJ_INDEX_BITS == 32
    const tkj_selection sorted = {selection->count, 0, (const tkj_u32 *)shared->positions};
#else
    const tkj_selection sorted = {selection->count, 0, 0, {shared->positions, 1}};
#endif
    return sorted;
}

#else

/** Likewise, in the slots. */
TKJ_DEVICE tkj_selection tkj_sort(const tkj_elements *elements, const tkj_selection *selection,
                                  tkj_i64 bound, const tkj_slots *slots, tkj_sort_shared *shared)
{
    for (tkj_i64 s = tkj_thread(); s < selection->count; s += TKJ_THREADS)
        *tkj_slot(slots, s) = (tkj_index)tkj_selected_at(selection, s);
    tkj_block_barrier();
    tkj_sort_by_network(elements, slots, selection->count, shared);
    const tkj_selection sorted = {selection->count, 0, 0, *slots};
    return sorted;
}

#endif

#endif /* TKJ_SORT_CUH */
