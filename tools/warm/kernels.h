/* SPDX-License-Identifier: Apache-2.0 */
/** @file kernels.h @brief The kernels that topk-jit-warm builds, and what became of each. */
#ifndef TKJ_WARM_KERNELS_H
#define TKJ_WARM_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <topk_jit/topk_jit.h>

#include "pairs.h"
#include "target.h"
#include "variants.h"

typedef enum warm_state {
    WARM_NOT_TRIED = 0, /* the run ended before anybody came to it */
    WARM_FAILED,
    WARM_COMPILED,
    WARM_ALREADY_THERE,
    WARM_WOULD_COMPILE, /* by a run that only looks */
    WARM_EVICTED,       /* compiled or there, and removed again: the cache is full */
} warm_state;

/** One kernel to build, and what became of it. */
typedef struct warm_kernel {
    topk_jit_spec spec;
    tkj_variant variant;
    tkj_target target;
    warm_state state;
    uint64_t bytes;
    uint64_t nanoseconds;
    char *error;     /* owned, of a failure; may be NULL */
    bool everywhere; /* its cause would fail every kernel */
} warm_kernel;

/** All of them, each once. */
typedef struct warm_kernels {
    warm_kernel *at;
    size_t count;
    size_t capacity;
} warm_kernels;

/**
 * Every variant of each pair.
 * @param pairs  no two of them equal
 * @param[out] out  released with warm_kernels_release, also after a failure
 * @return WARM_EXIT_DONE, WARM_EXIT_FAILED (out of memory, after a line on stderr)
 */
int warm_kernels_of(const warm_pairs *pairs, warm_kernels *out);

/** What became of a kernel, for a person: "already there". */
const char *warm_state_words(warm_state state);

void warm_kernels_release(warm_kernels *kernels);

#endif /* TKJ_WARM_KERNELS_H */
