/* SPDX-License-Identifier: Apache-2.0 */
/** @file scan.cuh @brief Prefix sums over the threads of a block. */
#ifndef TKJ_SCAN_CUH
#define TKJ_SCAN_CUH

#include "slots.cuh"

#define TKJ_WARPS (TKJ_THREADS / TKJ_WARP)
TKJ_STATIC_ASSERT(TKJ_WARPS <= TKJ_WARP, "a warp holds one sum of each");

/** Scratch of one scan, which the caller does not touch. */
typedef struct tkj_scan_shared {
    tkj_count warp_sums[TKJ_WARPS];
} tkj_scan_shared;

/** Sum over the lower lanes of this warp. */
TKJ_DEVICE tkj_u32 tkj_warp_exclusive_sum(tkj_u32 value)
{
    tkj_u32 sum = value;
    TKJ_UNROLL
    for (tkj_u32 distance = 1; distance < TKJ_WARP; distance *= 2)
        sum = tkj_add_from_below(sum, distance);
    return sum - value;
}

TKJ_DEVICE tkj_u64 tkj_warp_exclusive_sum(tkj_u64 value)
{
    tkj_u64 sum = value;
    TKJ_UNROLL
    for (tkj_u32 distance = 1; distance < TKJ_WARP; distance *= 2) {
        tkj_u64 below = tkj_shuffle_up(sum, distance);
        sum += tkj_lane() >= distance ? below : 0;
    }
    return sum - value;
}

/** The first of `count` places for each lane's own, in no particular order among warps, of a
 * counter in shared memory. All lanes call. */
TKJ_DEVICE tkj_u32 tkj_warp_slots(tkj_u32 count, tkj_u32 *counter)
{
    tkj_u32 below = tkj_warp_exclusive_sum(count);
    tkj_u32 total = tkj_shuffle(below + count, TKJ_WARP - 1);
    tkj_u32 base = tkj_lane() == 0 && total != 0 ? tkj_atomic_fetch_add(counter, total) : 0;
    return tkj_shuffle(base, 0) + below;
}

/** Places of a lane in two lists. */
typedef struct tkj_places {
    tkj_u32 first;
    tkj_u32 second;
} tkj_places;

/** The same of two counters at once, each for less than 65536 places a warp. */
TKJ_DEVICE tkj_places tkj_warp_places(tkj_u32 first, tkj_u32 second, tkj_u32 counters[2])
{
    tkj_u32 own = first | second << 16;
    tkj_u32 below = tkj_warp_exclusive_sum(own);
    tkj_u32 total = tkj_shuffle(below + own, TKJ_WARP - 1);
    tkj_u32 base = 0;
    if (tkj_lane() < 2)
        base = tkj_atomic_fetch_add(&counters[tkj_lane()],
                                    tkj_lane() == 0 ? total & 0xffffu : total >> 16);
    tkj_places places = {tkj_shuffle(base, 0) + (below & 0xffffu),
                         tkj_shuffle(base, 1) + (below >> 16)};
    return places;
}

/** Sum of the sums of the warps below this one; and of all warps. All lanes call. */
TKJ_DEVICE tkj_count tkj_sum_of_lower_warps(const tkj_scan_shared *shared, tkj_count *total)
{
    tkj_count sum = tkj_lane() < TKJ_WARPS ? shared->warp_sums[tkj_lane() % TKJ_WARPS] : 0;
    *total = tkj_warp_sum(sum);
    return tkj_warp_sum(tkj_lane() < tkj_warp() ? sum : 0);
}

/**
 * Given one sum a warp (the same value in all its lanes): the total of the lower warps, and of all.
 * Every thread calls; the barrier before the return makes the scratch free again.
 */
TKJ_DEVICE tkj_count tkj_block_exclusive_sum_of_warps(tkj_count warp_sum, tkj_count *total,
                                                      tkj_scan_shared *shared)
{
    if (tkj_lane() == 0)
        shared->warp_sums[tkj_warp()] = warp_sum;
    tkj_block_barrier();
    tkj_count below = tkj_sum_of_lower_warps(shared, total);
    tkj_block_barrier();
    return below;
}

/** Sum over the lower threads of the block. Every thread calls; the scratch is free again after the
 *  caller's next barrier. */
TKJ_DEVICE tkj_count tkj_block_exclusive_sum(tkj_count value, tkj_scan_shared *shared)
{
    tkj_count below = tkj_warp_exclusive_sum(value);
    tkj_count total;
    if (tkj_lane() == TKJ_WARP - 1)
        shared->warp_sums[tkj_warp()] = below + value;
    tkj_block_barrier();
    return below + tkj_sum_of_lower_warps(shared, &total);
}

#endif /* TKJ_SCAN_CUH */
