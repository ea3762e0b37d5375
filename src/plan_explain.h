/* SPDX-License-Identifier: Apache-2.0 */
/** @file plan_explain.h @brief What a spec means here: its kernels, what they are for, where they
 * are. */
#ifndef TKJ_PLAN_EXPLAIN_H
#define TKJ_PLAN_EXPLAIN_H

#include "plan.h"

/** As topk_jit_explain, of a canonical spec. */
topk_jit_status tkj_plan_explain(topk_jit_context *context, const topk_jit_spec *spec,
                                 const char *target, CUstream stream, char *text, size_t capacity,
                                 size_t *length);

#endif /* TKJ_PLAN_EXPLAIN_H */
