/* SPDX-License-Identifier: Apache-2.0 */
/** @file native.h @brief --arch native: what the GPUs of this machine run best. */
#ifndef TKJ_WARM_NATIVE_H
#define TKJ_WARM_NATIVE_H

#include <stddef.h>

#include "devices.h"
#include "pairs.h"

#define WARM_NATIVE_MAX WARM_DEVICES_MAX

/**
 * One entry for each GPU present, also where several have the same architecture: what is built is
 * made unique later. What is wrong is said in one line on stderr.
 * @return WARM_EXIT_DONE, WARM_EXIT_NO_GPU, WARM_EXIT_FAILED (no NVRTC, or one that is too old for
 *         these GPUs)
 */
int warm_native(topk_jit_context *context, warm_gpu out[WARM_NATIVE_MAX], size_t *count);

#endif /* TKJ_WARM_NATIVE_H */
