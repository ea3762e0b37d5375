/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file half_bins.cuh
 * @brief Bins by magnitude, that need to know nothing of a row: a score rounded towards zero to a
 * float16, less its lower five bits. 32 bins an octave from 2^-14 to 2^16, and zeros apart by sign.
 *
 * A bin is counted where its bits say. Its rank is its place in descending order of the scores:
 * positive ones from the last of theirs down, then negative ones from the first of theirs up.
 * Rounding is monotone, so a larger score never has a later rank.
 */
#ifndef TKJ_HALF_BINS_CUH
#define TKJ_HALF_BINS_CUH

#include "histogram.cuh"

#define TKJ_HALF_BIN_SHIFT 5
TKJ_STATIC_ASSERT(TKJ_HALF_BIN_SHIFT + TKJ_BIN_BITS == 16, "a bin is the upper part of a half");

/* Ranks of finite scores; those before are of infinity and NaN, those behind of -infinity. */
#define TKJ_HALF_RANK_FIRST 32u
#define TKJ_HALF_RANK_LAST 2015u

/* Ranks of zeros: of +0, then of -0. */
#define TKJ_HALF_RANK_ZERO (TKJ_BINS / 2 - 1u)

/** Counts two scores. */
TKJ_DEVICE void tkj_count_halves(tkj_histogram *histogram, float a, float b)
{
    tkj_u32 halves = tkj_halves_of(a, b);
    tkj_atomic_add(&histogram->bins[halves >> TKJ_HALF_BIN_SHIFT & (TKJ_BINS - 1)], 1);
    tkj_atomic_add(&histogram->bins[halves >> (TKJ_HALF_BIN_SHIFT + 16)], 1);
}

/** Adds the bins of this thread's ranks to its own counts; a barrier must have come before. */
TKJ_DEVICE void tkj_half_bins_collect(tkj_histogram *histogram, tkj_count own[TKJ_BINS_PER_THREAD])
{
    bool positive = tkj_thread() < TKJ_THREADS / 2;
    tkj_u32 behind = tkj_own_bin(TKJ_BINS_PER_THREAD);
    tkj_count run[TKJ_BINS_PER_THREAD] = {0};
    tkj_histogram_collect_run(histogram, positive ? TKJ_BINS / 2 - behind : tkj_own_bin(0), run);
    TKJ_UNROLL
    for (tkj_u32 j = 0; j < TKJ_BINS_PER_THREAD; j++)
        own[j] += positive ? run[TKJ_BINS_PER_THREAD - 1 - j] : run[j];
}

/** The float of a bin's first half. */
TKJ_DEVICE float tkj_float_of_half_bin(tkj_u32 bin)
{
    return tkj_float_from_half((tkj_u16)(bin << TKJ_HALF_BIN_SHIFT));
}

/** Scores whose rank is at most this one, and no others, are not below (tkj_sign_if_below). From
 * TKJ_HALF_RANK_FIRST - 1 to TKJ_HALF_RANK_LAST. */
TKJ_DEVICE float tkj_half_bin_edge(tkj_u32 rank)
{
    bool positive = rank < TKJ_BINS / 2;
    tkj_u32 bin = positive ? TKJ_BINS / 2 - 1 - rank : rank - TKJ_BINS / 2 + 1;
    tkj_u32 bits = tkj_bits_from_float(tkj_float_of_half_bin(bin));
    /* Negative scores down to, but without, the next bin's first one. */
    return tkj_float_from_bits(positive ? bits : bits + 0x7fffffffu);
}

#endif /* TKJ_HALF_BINS_CUH */
