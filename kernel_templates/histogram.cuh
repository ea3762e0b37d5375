/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file histogram.cuh
 * @brief Counts of elements in bins, largest elements in bin 0, and the bin in which a rank lies.
 */
#ifndef TKJ_HISTOGRAM_CUH
#define TKJ_HISTOGRAM_CUH

#include "scan.cuh"

#define TKJ_BIN_BITS 11
#define TKJ_BINS (1 << TKJ_BIN_BITS)
#define TKJ_BINS_PER_THREAD (TKJ_BINS / TKJ_THREADS)
TKJ_STATIC_ASSERT(TKJ_BINS % TKJ_THREADS == 0, "every thread owns the same number of bins");

/** Shared memory of a histogram and of a search in it. */
typedef struct tkj_histogram {
    tkj_u32 bins[TKJ_BINS + 4]; /* at a multiple of 16 bytes; TKJ_BINS is for what does not count */
    tkj_scan_shared scan;
    tkj_u32 bin;      /* found: the bin in which the wanted element lies */
    tkj_u32 high_bin; /* likewise for a second rank, if one was asked for */
    tkj_count before; /* elements in the bins before it, all larger */
    tkj_count inside; /* elements in it */
} tkj_histogram;

/** Thread t owns the t-th run of TKJ_BINS_PER_THREAD bins. */
TKJ_DEVICE tkj_u32 tkj_own_bin(tkj_u32 j)
{
    return tkj_thread() * TKJ_BINS_PER_THREAD + j;
}

/* Bins are read and written by fours, or in blocks of 1024 threads by twos. */
#if TKJ_BINS_PER_THREAD % 4 == 0
#define TKJ_BINS_AT_ONCE 4
typedef tkj_quad tkj_some_bins;
#else
#define TKJ_BINS_AT_ONCE 2
typedef tkj_pair tkj_some_bins;
#endif
TKJ_STATIC_ASSERT(TKJ_BINS_PER_THREAD % TKJ_BINS_AT_ONCE == 0, "a thread owns some at once");

/** A run of bins that begins with one of a multiple of TKJ_BINS_AT_ONCE. */
TKJ_DEVICE tkj_some_bins *tkj_run_of_bins(tkj_histogram *histogram, tkj_u32 first)
{
    return (tkj_some_bins *)(histogram->bins + first);
}

/** Clears this thread's bins; a barrier must follow. */
TKJ_DEVICE void tkj_histogram_clear(tkj_histogram *histogram)
{
    const tkj_some_bins zero = {{0}};
    TKJ_UNROLL
    for (tkj_u32 q = 0; q < TKJ_BINS_PER_THREAD / TKJ_BINS_AT_ONCE; q++)
        tkj_run_of_bins(histogram, tkj_own_bin(0))[q] = zero;
    if (tkj_thread() == 0)
        histogram->bins[TKJ_BINS] = 0;
}

/** Adds a run of bins to a thread's own counts; a barrier must have come before. */
TKJ_DEVICE void tkj_histogram_collect_run(tkj_histogram *histogram, tkj_u32 first,
                                          tkj_count own[TKJ_BINS_PER_THREAD])
{
    TKJ_UNROLL
    for (tkj_u32 q = 0; q < TKJ_BINS_PER_THREAD / TKJ_BINS_AT_ONCE; q++) {
        tkj_some_bins some = tkj_run_of_bins(histogram, first)[q];
        TKJ_UNROLL
        for (tkj_u32 j = 0; j < TKJ_BINS_AT_ONCE; j++)
            own[TKJ_BINS_AT_ONCE * q + j] += some.words[j];
    }
}

/** Adds this thread's bins to its own counts; a barrier must have come before. */
TKJ_DEVICE void tkj_histogram_collect(tkj_histogram *histogram, tkj_count own[TKJ_BINS_PER_THREAD])
{
    tkj_histogram_collect_run(histogram, tkj_own_bin(0), own);
}

/**
 * Finds the bin of the `wanted`-th largest of the counted elements, 1 <= wanted <= their number;
 * and that of the `high`-th, unless it is 0. Ends with a barrier; the result stays until the next
 * search's first barrier.
 */
TKJ_DEVICE void tkj_histogram_find(tkj_histogram *histogram,
                                   const tkj_count own[TKJ_BINS_PER_THREAD], tkj_count wanted,
                                   tkj_count high = 0)
{
    tkj_count sum = 0;
    TKJ_UNROLL
    for (tkj_u32 j = 0; j < TKJ_BINS_PER_THREAD; j++)
        sum += own[j];
    tkj_count before = tkj_block_exclusive_sum(sum, &histogram->scan);
    /* Of this thread's bins the one whose sum reaches the rank; without branches, whose code would
       lie elsewhere and be fetched for one thread. */
    tkj_count first = before;
    tkj_count inside = own[0];
    tkj_count end = before;
    tkj_u32 bin = 0;
    tkj_u32 high_bin = 0;
    TKJ_UNROLL
    for (tkj_u32 j = 0; j + 1 < TKJ_BINS_PER_THREAD; j++) {
        end += own[j];
        bool behind = end < wanted;
        bin += behind;
        first = behind ? end : first;
        inside = behind ? own[j + 1] : inside;
        high_bin += end < high;
    }
    if (before < wanted && wanted - before <= sum) {
        histogram->bin = tkj_own_bin(bin);
        histogram->before = first;
        histogram->inside = inside;
    }
    if (before < high && high - before <= sum)
        histogram->high_bin = tkj_own_bin(high_bin);
    tkj_block_barrier();
}

#endif /* TKJ_HISTOGRAM_CUH */
