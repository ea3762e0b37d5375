/* SPDX-License-Identifier: Apache-2.0 */
/** @file builders.h @brief Builds the kernels of topk-jit-warm, several at a time. */
#ifndef TKJ_WARM_BUILDERS_H
#define TKJ_WARM_BUILDERS_H

#include <stddef.h>
#include <topk_jit/topk_jit.h>

#include "kernels.h"
#include "report.h"

/**
 * Builds all kernels and notes in each what became of it. A cause that would fail every kernel (no
 * NVRTC, no writable cache) ends the run: the rest is not tried.
 *
 * So does SIGINT, SIGTERM or SIGHUP: kernels at work are finished, for a few seconds at most; after
 * that, and at a second signal, the process ends within this call, as such a signal would end it:
 * with 128 + its number and the cache as whole as ever.
 * @param builders  at least 1
 * @param flags     of tkj_plan_warm
 * @return the signal that ended the run, 0 if none did
 */
int warm_build(topk_jit_context *context, warm_kernels *kernels, size_t builders, unsigned flags,
               warm_report *report);

#endif /* TKJ_WARM_BUILDERS_H */
