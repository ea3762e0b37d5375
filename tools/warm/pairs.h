/* SPDX-License-Identifier: Apache-2.0 */
/** @file pairs.h @brief What is to be built, wherever that was said: a list of (spec, GPU). */
#ifndef TKJ_WARM_PAIRS_H
#define TKJ_WARM_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <topk_jit/topk_jit.h>

#include "target.h"

/** More than any set of servers needs; a list that somebody else wrote ends here. */
#define WARM_PAIRS_MAX 65536

/** For which GPU: its variants, and what they are compiled to. */
typedef struct warm_gpu {
    int architecture;
    tkj_target target;
} warm_gpu;

/** Some of them, borrowed. */
typedef struct warm_gpus {
    const warm_gpu *at;
    size_t count;
} warm_gpus;

typedef struct warm_pair {
    topk_jit_spec spec; /* canonical */
    warm_gpu gpu;
} warm_pair;

/** In the order in which they were asked for. */
typedef struct warm_pairs {
    warm_pair *at; /* owned */
    size_t count;
    size_t capacity;
} warm_pairs;

/** The GPU that a target is named for. */
warm_gpu warm_gpu_of(tkj_target target);

/**
 * Adds a valid spec, once for each GPU. What is wrong is said in one line on stderr.
 * @return WARM_EXIT_DONE, WARM_EXIT_USAGE (too many), WARM_EXIT_FAILED (out of memory)
 */
int warm_pairs_add(warm_pairs *pairs, const topk_jit_spec *spec, warm_gpus gpus);

/** Leaves of equal ones the first. @return WARM_EXIT_DONE, WARM_EXIT_FAILED (out of memory) */
int warm_pairs_unique(warm_pairs *pairs);

void warm_pairs_release(warm_pairs *pairs);

#endif /* TKJ_WARM_PAIRS_H */
