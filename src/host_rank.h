/* SPDX-License-Identifier: Apache-2.0 */
/** @file host_rank.h @brief Ranking for the host engine: keys with their positions. Pure. */
#ifndef TKJ_HOST_RANK_H
#define TKJ_HOST_RANK_H

#include <stdbool.h>
#include <stdint.h>

/** An element by its ordered key, and where it is. */
typedef struct tkj_rank_pair {
    uint64_t key;
    int64_t position;
} tkj_rank_pair;

/**
 * Moves the k pairs with the largest keys to the front, in the order in which they stand in the
 * array. Of those that equal the k-th largest the first are taken, or the last ones with
 * `last_ties`. Time is linear in count for any keys.
 *
 * @param k  1 .. count
 */
void tkj_rank_keep(tkj_rank_pair *pairs, int64_t count, int64_t k, bool last_ties);

/** Sorts by descending key, and equal keys by ascending position. */
void tkj_rank_sort(tkj_rank_pair *pairs, int64_t count);

#endif /* TKJ_HOST_RANK_H */
