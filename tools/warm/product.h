/* SPDX-License-Identifier: Apache-2.0 */
/** @file product.h @brief The kernels that a command line of topk-jit-warm asks for. */
#ifndef TKJ_WARM_PRODUCT_H
#define TKJ_WARM_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <topk_jit/topk_jit.h>

#include "build_options.h"
#include "target.h"
#include "variants.h"

/** For which GPU: its variants, and what they are compiled to. */
typedef struct warm_gpu {
    int architecture;
    tkj_target target;
} warm_gpu;

typedef enum warm_state {
    WARM_FAILED = 0, /* or not tried: so is a kernel that nobody came to */
    WARM_COMPILED,
    WARM_ALREADY_THERE,
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
 * The cross product: every variant of each distinct spec for each GPU. What is impossible is said
 * in one line on stderr.
 * @param[out] out  released with warm_kernels_release, also after a failure
 * @return WARM_EXIT_DONE, WARM_EXIT_USAGE, WARM_EXIT_FAILED (out of memory)
 */
int warm_product(const warm_options *options, const warm_gpu *gpus, size_t gpu_count,
                 warm_kernels *out);

void warm_kernels_release(warm_kernels *kernels);

#endif /* TKJ_WARM_PRODUCT_H */
