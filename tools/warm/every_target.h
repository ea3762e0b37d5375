/* SPDX-License-Identifier: Apache-2.0 */
/** @file every_target.h @brief --arch all: whatever can be compiled for here. */
#ifndef TKJ_WARM_EVERY_TARGET_H
#define TKJ_WARM_EVERY_TARGET_H

#include <stddef.h>

#include "pairs.h"

#define WARM_EVERY_MAX 64

/**
 * One entry for each architecture that both this library and the NVRTC found know, in ascending
 * order: machine code, no PTX. What is wrong is said in one line on stderr.
 * @return WARM_EXIT_DONE, WARM_EXIT_FAILED (no NVRTC)
 */
int warm_every_target(topk_jit_context *context, warm_gpu out[WARM_EVERY_MAX], size_t *count);

#endif /* TKJ_WARM_EVERY_TARGET_H */
