/* SPDX-License-Identifier: Apache-2.0 */
/** @file plan_offline.h @brief What a miss says where nothing may be compiled. */
#ifndef TKJ_PLAN_OFFLINE_H
#define TKJ_PLAN_OFFLINE_H

#include "plan_build.h"
#include "text.h"

/** Appends the command that builds the kernels of the spec for the target aimed at. */
void tkj_plan_command(tkj_text *text, const tkj_build *build);

/**
 * Fails, with a message that has the command which creates the entry, the spec, the key, and each
 * place with what was found there. The log has all of it, the message as much as fits.
 * @param build      any target
 * @param target     what the command compiles for: the best one that the device can run
 * @param major      of the CUDA version that the driver supports
 * @param toolchain  the only one whose entries count; NULL = any
 * @return TOPK_JIT_OFFLINE_MISS
 */
topk_jit_status tkj_plan_offline_miss(tkj_build *build, tkj_target target, int major,
                                      const char *toolchain);

#endif /* TKJ_PLAN_OFFLINE_H */
