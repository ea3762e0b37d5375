/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file scores.h
 * @brief Seeded rows of scores for tests, demo and benchmark: what indexers write, and what breaks
 *        selections. The same arguments give the same bits on one machine.
 */
#ifndef TKJ_SCORES_H
#define TKJ_SCORES_H

#include <stdbool.h>
#include <stdint.h>
#include <topk_jit/topk_jit.h>

/** Every distribution: enumerator, name. n is the number of scores. */
#define TKJ_SCORES_MAP(X)                                                                          \
    X(NORMAL, "normal")                                                                            \
    X(RELU, "relu") /* exact zeros from about the k/2-th place on */                               \
    X(EQUAL, "equal")                                                                              \
    X(TEN_VALUES, "ten-values")                                                                    \
    X(ASCENDING, "ascending")                                                                      \
    X(DESCENDING, "descending")                                                                    \
    X(NEAR_ONE, "near-one") /* 1 + 1e-6 x normal */                                                \
    X(NARROW, "narrow")     /* [1.0, 1.245): one high byte of float16 */                           \
    X(BFLOAT16_ROUNDED, "bf16-rounded")                                                            \
    X(LOG_NORMAL, "log-normal")                                                                    \
    X(DENORMAL, "denormal") /* of the dtype, of both signs */                                      \
    X(FORCED, "forced")     /* normal, the first 4 and last 64 +inf */                             \
    X(OUTLIER, "outlier")   /* normal, one is 1e30 */                                              \
    X(SOME_NAN, "some-nan") /* normal, 1 % NaN of both signs */                                    \
    X(MINUS_INFINITY, "minus-inf")                                                                 \
    X(MASKED, "masked")               /* -inf but for about k/2 normal ones */                     \
    X(SIGNED_ZEROS, "signed-zeros")   /* +0 and -0, about k/2 of 1 and -1 each */                  \
    X(FAR_BELOW, "far-below")         /* below the least finite float16, where the dtype can */    \
    X(FEW_DENORMALS, "few-denormals") /* the 64 least numbers above 0 */                           \
    X(INFINITE, "infinite")           /* +inf but for 1 % NaN and a half normal ones */            \
    X(ANY_BITS, "any-bits")           /* every bit pattern of the dtype alike */

#define TKJ_SCORES_ENUMERATOR(name, text) TKJ_SCORES_##name,
/** A distribution; see TKJ_SCORES_MAP. */
typedef enum tkj_scores_distribution {
    TKJ_SCORES_MAP(TKJ_SCORES_ENUMERATOR) TKJ_SCORES_COUNT
} tkj_scores_distribution;
#undef TKJ_SCORES_ENUMERATOR

/** Name such as "log-normal". */
const char *tkj_scores_name(tkj_scores_distribution distribution);

/** @return false if no distribution has this name */
bool tkj_scores_parse(const char *name, tkj_scores_distribution *out);

/**
 * Fills a row: score j at row + j * stride, in elements.
 *
 * @param k      the k that the row is made for: where a plateau begins
 * @param dtype  FLOAT32, FLOAT16 or BFLOAT16
 */
void tkj_scores_fill(tkj_scores_distribution distribution, uint64_t seed, int64_t k,
                     topk_jit_dtype dtype, void *row, int64_t count, int64_t stride);

/**
 * Fills one row with what a sparse-attention indexer computes: the sum over heads of
 * weight * relu(query . key), of random queries and keys. Rows of one seed share their keys, as
 * queries on one KV cache do. With the row number grows the share of keys that no head likes, whose
 * score is exactly 0: from about a tenth in rows 0, 8, 16, ... to nearly all in rows 7, 15, ...
 */
void tkj_scores_fill_indexer(uint64_t seed, int64_t row_number, topk_jit_dtype dtype, void *row,
                             int64_t count);

/** A number of a 64-bit pseudo-random sequence; the state is any seed at first. */
uint64_t tkj_scores_random(uint64_t *state);

#endif /* TKJ_SCORES_H */
