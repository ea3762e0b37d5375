/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file radix.cuh
 * @brief Exact selection of the k largest of n > k elements by one block: threshold, then
 * collection.
 *
 * Reads the row once per digit (11 bits) and once to collect: 2 + 1 times for 16-bit keys, 3 + 1
 * for 32-bit, 6 + 1 for 64-bit ones, whatever the data. No candidate buffer exists that could
 * overflow.
 */
#ifndef TKJ_RADIX_CUH
#define TKJ_RADIX_CUH

#include "histogram.cuh"
#include "ordered_key.cuh"
#include "slots.cuh"

/* Groups of 32 elements that a warp collects a tile. */
#ifndef TKJ_COLLECTED
#define TKJ_COLLECTED TKJ_ITEMS
#endif

/* Elements counted before the 32-bit bins are emptied: they cannot overflow. */
#define TKJ_SEGMENT ((tkj_i64)1 << 31)

/** The k-th largest key, and how the elements that equal it share the remaining places. */
typedef struct tkj_threshold {
    tkj_key key;
    tkj_count equal;  /* elements with this key */
    tkj_count wanted; /* of them: 1 .. equal */
} tkj_threshold;

/** Counts this thread's bins over the elements whose key is `prefix` under `mask`. */
TKJ_DEVICE void tkj_count_digit(const tkj_elements *elements, tkj_i64 n, tkj_key prefix,
                                tkj_key mask, tkj_u32 shift, tkj_histogram *histogram,
                                tkj_count own[TKJ_BINS_PER_THREAD])
{
    TKJ_UNROLL
    for (tkj_u32 j = 0; j < TKJ_BINS_PER_THREAD; j++)
        own[j] = 0;
    for (tkj_i64 first = 0; first < n; first += TKJ_SEGMENT) {
        tkj_histogram_clear(histogram);
        tkj_block_barrier();
        tkj_i64 end = n - first > TKJ_SEGMENT ? first + TKJ_SEGMENT : n;
        for (tkj_i64 i = first + tkj_thread(); i < end; i += TKJ_THREADS) {
            tkj_key key = tkj_key_at(elements, i);
            if ((key & mask) == prefix)
                tkj_atomic_add(&histogram->bins[~(key >> shift) & (TKJ_BINS - 1)], 1);
        }
        tkj_block_barrier();
        tkj_histogram_collect(histogram, own);
    }
}

/**
 * The k-th largest key of n elements, 1 <= k < n, digit by digit from the highest.
 * Invariant: the k-th largest matches `prefix` under `mask`, and is the `wanted`-th largest of
 * those.
 */
TKJ_DEVICE tkj_threshold tkj_find_threshold(const tkj_elements *elements, tkj_i64 n, tkj_count k,
                                            tkj_histogram *histogram)
{
    tkj_threshold found = {0, 0, k};
    tkj_key mask = 0;
    tkj_u32 undecided = TKJ_KEY_BITS;
    while (undecided > 0) {
        /* The last digit overlaps the one before it, in bits that all counted elements share. */
        tkj_u32 shift = undecided > TKJ_BIN_BITS ? undecided - TKJ_BIN_BITS : 0;
        tkj_count own[TKJ_BINS_PER_THREAD];
        tkj_count_digit(elements, n, found.key, mask, shift, histogram, own);
        tkj_histogram_find(histogram, own, found.wanted);
        found.key |= (tkj_key)(TKJ_BINS - 1 - histogram->bin) << shift;
        found.equal = histogram->inside;
        found.wanted -= histogram->before;
        mask |= (tkj_key)(TKJ_BINS - 1) << shift;
        undecided = shift;
    }
    return found;
}

/**
 * Writes the positions of all elements above the threshold and of the wanted ones that equal it
 * into slots 0 .. k-1, in ascending position. The order follows from prefix sums alone, so it is
 * the same in every run. A warp takes TKJ_COLLECTED consecutive groups of 32 elements a tile.
 */
TKJ_DEVICE void tkj_collect(const tkj_elements *elements, tkj_i64 n, const tkj_threshold *threshold,
                            tkj_count k, const tkj_slots *slots, tkj_scan_shared *scan)
{
    tkj_count above_before = 0; /* elements above the threshold in the tiles before this one */
    tkj_count equal_before = 0;
    tkj_u32 lower_lanes = (1u << tkj_lane()) - 1;
    tkj_count wanted = threshold->wanted;
    for (tkj_i64 tile = 0; tile < n; tile += TKJ_THREADS * TKJ_COLLECTED) {
        tkj_i64 first = tile + (tkj_i64)tkj_warp() * TKJ_WARP * TKJ_COLLECTED + tkj_lane();
        tkj_u32 above[TKJ_COLLECTED]; /* one bit a lane */
        tkj_u32 equal[TKJ_COLLECTED];
        tkj_u32 counts = 0; /* above in the low half, equal in the high half */
        TKJ_UNROLL
        for (tkj_u32 j = 0; j < TKJ_COLLECTED; j++) {
            tkj_i64 i = first + j * TKJ_WARP;
            bool inside = i < n;
            tkj_key key = inside ? tkj_key_at(elements, i) : 0;
            above[j] = tkj_ballot(inside && key > threshold->key);
            equal[j] = tkj_ballot(inside && key == threshold->key);
            counts += tkj_count_bits(above[j]) + (tkj_count_bits(equal[j]) << 16);
        }
        tkj_count total;
        tkj_u32 lower = (tkj_u32)tkj_block_exclusive_sum_of_warps(counts, &total, scan);
        tkj_count above_rank = above_before + (lower & 0xffffu);
        tkj_count equal_rank = equal_before + (lower >> 16);
        TKJ_UNROLL
        for (tkj_u32 j = 0; j < TKJ_COLLECTED; j++) {
            tkj_count a = above_rank + tkj_count_bits(above[j] & lower_lanes);
            tkj_count e = equal_rank + tkj_count_bits(equal[j] & lower_lanes);
            tkj_count taken = tkj_taken_of_equal(e, wanted, threshold->equal);
            bool is_above = above[j] >> tkj_lane() & 1;
            bool is_taken = (equal[j] >> tkj_lane() & 1) &&
                            tkj_taken_of_equal(e + 1, wanted, threshold->equal) != taken;
            if (is_above || is_taken)
                *tkj_slot(slots, (tkj_i64)(a + taken)) = (tkj_index)(first + j * TKJ_WARP);
            above_rank += tkj_count_bits(above[j]);
            equal_rank += tkj_count_bits(equal[j]);
        }
        above_before += (tkj_u32)total & 0xffffu;
        equal_before += (tkj_u32)total >> 16;
        if (above_before + tkj_taken_of_equal(equal_before, wanted, threshold->equal) == k)
            break;
    }
}
TKJ_STATIC_ASSERT(TKJ_THREADS *TKJ_COLLECTED < 65536, "a tile's counts fit 16 bits");

#endif /* TKJ_RADIX_CUH */
