/* SPDX-License-Identifier: Apache-2.0 */
/** @file plan_explain.h @brief What a spec means here: its kernels, what they are for, where they
 * are. */
#ifndef TKJ_PLAN_EXPLAIN_H
#define TKJ_PLAN_EXPLAIN_H

#include "plan.h"

/** Whose kernels are explained. */
typedef struct tkj_plan_aim {
    tkj_target order[TKJ_TARGET_ORDER_MAX]; /* targets whose entries would serve, best first */
    size_t order_count;
    int architecture; /* whose variants are used */
    int newest_major; /* of CUDA, whose entries would serve */
    int ordinal;      /* of the device; -1 = a target was named */
} tkj_plan_aim;

/** A target by its name. @return TOPK_JIT_OK, TOPK_JIT_INVALID_ARGUMENT */
topk_jit_status tkj_plan_aim_name(const char *target, tkj_plan_aim *out);

/** A device of this machine. @return TOPK_JIT_OK, what the driver returns, TOPK_JIT_NOT_SUPPORTED
 */
topk_jit_status tkj_plan_aim_device(int ordinal, tkj_plan_aim *out);

/** As topk_jit_explain, of a canonical spec. */
topk_jit_status tkj_plan_explain(topk_jit_context *context, const topk_jit_spec *spec,
                                 const char *target, CUstream stream, char *text, size_t capacity,
                                 size_t *length);

#endif /* TKJ_PLAN_EXPLAIN_H */
