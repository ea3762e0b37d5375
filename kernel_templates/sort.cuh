/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sort.cuh
 * @brief Orders selected positions by descending score, equal scores by ascending position.
 *
 * 1. Each thread keeps some of them with their keys. All n are one crowd, which is to fill the
 *    slots from 0 on.
 * 2. A crowd counts its elements in twice as many bins, of equal width, over the range of their
 *    keys, or of their positions where all keys are equal. Sums over the bins say which slots each
 *    is to fill. A bin of many elements is a crowd in the next turn; mostly one turn leaves none.
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

#include "sort_bins.cuh"

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
        tkj_note_slow_path();
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
