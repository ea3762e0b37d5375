/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sort.cuh
 * @brief Orders collected positions by descending score, equal scores by ascending position.
 *
 * Batcher's bitonic network in the form whose comparators all point the same way (the first step of
 * each merge mirrors instead of shifting): slots from n to the next power of two behave like last
 * elements that never move, so n may be any number. O(n log^2 n) comparisons.
 * Source: K. E. Batcher, Sorting networks and their applications, 1968.
 */
#ifndef TKJ_SORT_CUH
#define TKJ_SORT_CUH

#include "ordered_key.cuh"
#include "slots.cuh"

/** A position and its key, as the network compares them. */
typedef struct tkj_ranked {
    tkj_key key;
    tkj_index position;
} tkj_ranked;

TKJ_DEVICE bool tkj_ranks_before(tkj_ranked a, tkj_ranked b)
{
    return a.key > b.key || (a.key == b.key && a.position < b.position);
}

#if TKJ_SORT_CAPACITY > 0
/** Shared memory of a sort: the slots with their keys. */
typedef struct tkj_sort_shared {
    tkj_key keys[TKJ_SORT_CAPACITY];
    tkj_index positions[TKJ_SORT_CAPACITY];
} tkj_sort_shared;
#else
/** More slots than fit: sorted in place, keys fetched by position. */
typedef struct tkj_sort_shared {
    char unused;
} tkj_sort_shared;
#endif

TKJ_DEVICE tkj_ranked tkj_sort_load(const tkj_elements *elements, const tkj_slots *slots,
                                    const tkj_sort_shared *shared, tkj_i64 s)
{
#if TKJ_SORT_CAPACITY > 0
    tkj_ranked loaded = {shared->keys[s], shared->positions[s]};
#else
    tkj_index position = *tkj_slot(slots, s);
    tkj_ranked loaded = {tkj_key_at(elements, position), position};
#endif
    return loaded;
}

TKJ_DEVICE void tkj_sort_store(const tkj_slots *slots, tkj_sort_shared *shared, tkj_i64 s,
                               tkj_ranked ranked)
{
#if TKJ_SORT_CAPACITY > 0
    shared->keys[s] = ranked.key;
    shared->positions[s] = ranked.position;
#else
    *tkj_slot(slots, s) = ranked.position;
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
TKJ_DEVICE void tkj_sort(const tkj_elements *elements, const tkj_slots *slots, tkj_i64 n,
                         tkj_sort_shared *shared)
{
#if TKJ_SORT_CAPACITY > 0
    for (tkj_i64 s = tkj_thread(); s < n; s += TKJ_THREADS) {
        shared->positions[s] = *tkj_slot(slots, s);
        shared->keys[s] = tkj_key_at(elements, shared->positions[s]);
    }
    tkj_block_barrier();
#endif
    for (tkj_i64 size = 2; size / 2 < n; size *= 2)
        for (tkj_i64 distance = size / 2; distance > 0; distance /= 2)
            tkj_sort_step(elements, slots, n, size, distance, shared);
#if TKJ_SORT_CAPACITY > 0
    for (tkj_i64 s = tkj_thread(); s < n; s += TKJ_THREADS)
        *tkj_slot(slots, s) = shared->positions[s];
    tkj_block_barrier();
#endif
}

#endif /* TKJ_SORT_CUH */
