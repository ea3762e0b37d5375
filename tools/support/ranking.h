/* SPDX-License-Identifier: Apache-2.0 */
/** @file ranking.h @brief The judge's core: is this choice of positions a right top-k of one row?
 */
#ifndef TKJ_RANKING_H
#define TKJ_RANKING_H

#include <stdbool.h>
#include <stdint.h>
#include <topk_jit/topk_jit.h>

/** What is asked of the choice beyond being a top-k. */
typedef struct tkj_ranking_rules {
    bool sorted;    /**< descending scores, equal ones by ascending position */
    bool ascending; /**< ascending positions */
    topk_jit_tie_break tie_break;
} tkj_ranking_rules;

/** One row and the positions that an engine chose. */
typedef struct tkj_ranking {
    topk_jit_dtype dtype;
    bool nan_last;
    int64_t row;        /**< for messages */
    const void *scores; /**< position p is element first + p * step */
    int64_t first;
    int64_t step;
    int64_t length;  /**< positions 0 .. length - 1 */
    int64_t slots;   /**< k */
    int64_t *chosen; /**< what each slot holds */
    bool *taken;     /**< scratch, one per position */
    char *message;   /**< TKJ_JUDGE_MESSAGE_SIZE bytes */
} tkj_ranking;

/** Sets slots and allocates chosen and taken, for rows of at most `longest` positions.
 *  @return false with a message if there is no memory */
bool tkj_ranking_allocate(tkj_ranking *ranking, int64_t longest, int64_t slots);

/** Frees what tkj_ranking_allocate allocated. */
void tkj_ranking_release(tkj_ranking *ranking);

/** @return false at the first fault, with a message */
bool tkj_ranking_judge(const tkj_ranking *ranking, tkj_ranking_rules rules);

/** Says that a slot is wrong. @return false */
bool tkj_ranking_reject(const tkj_ranking *ranking, int64_t slot, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** How many slots belong to positions: min(slots, length). */
int64_t tkj_ranking_selected(const tkj_ranking *ranking);

#endif /* TKJ_RANKING_H */
