/* SPDX-License-Identifier: Apache-2.0 */
/** @file evicted.h @brief Kernels that a build had no room for: the cache directory was full of
 * them.
 */
#ifndef TKJ_WARM_EVICTED_H
#define TKJ_WARM_EVICTED_H

#include <topk_jit/topk_jit.h>

#include "kernels.h"

/** Looks again after a build that removed entries: kernels that were made or found and are not
 * there any more become WARM_EVICTED, which one line on stderr says. */
void warm_evicted_find(topk_jit_context *context, warm_kernels *kernels);

#endif /* TKJ_WARM_EVICTED_H */
