/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host.h
 * @brief The host engine: both operations in plain C, for CPU tensors, and the oracle of the tests.
 *
 * Written for clarity. Takes the same parameters as the kernels, with host pointers.
 */
#ifndef TKJ_HOST_H
#define TKJ_HOST_H

#include <topk_jit/topk_jit.h>

#include "params.h"

/**
 * @param spec  valid, operation SELECT
 * @return TOPK_JIT_OK, or TOPK_JIT_OUT_OF_MEMORY before any output was touched
 */
topk_jit_status tkj_host_select(const topk_jit_allocator *allocator, const topk_jit_spec *spec,
                                const tkj_select_params *params);

/** As tkj_host_select, operation FAST_TOPK. */
topk_jit_status tkj_host_fast_topk(const topk_jit_allocator *allocator, const topk_jit_spec *spec,
                                   const tkj_fast_topk_params *params);

#endif /* TKJ_HOST_H */
