/* SPDX-License-Identifier: Apache-2.0 */
/** @file plan_async.h @brief Preparations on a thread of the context, one after the other. */
#ifndef TKJ_PLAN_ASYNC_H
#define TKJ_PLAN_ASYNC_H

#include "context.h"

/**
 * Hands specs to the context's thread, which is started if there is none.
 * @param specs   canonical; copied
 * @param stream  NULL: of the context that is current in this thread
 * @return TOPK_JIT_OK, TOPK_JIT_OUT_OF_MEMORY, TOPK_JIT_OS_FAILED, what the driver returns
 */
topk_jit_status tkj_plan_prepare_async(topk_jit_context *context, const topk_jit_spec *specs,
                                       size_t count, CUstream stream,
                                       topk_jit_prepare_callback callback, void *user);

#endif /* TKJ_PLAN_ASYNC_H */
