/* SPDX-License-Identifier: Apache-2.0 */
/** @file plan_record.h @brief The record of what a process met: a file of specs, one a line. */
#ifndef TKJ_PLAN_RECORD_H
#define TKJ_PLAN_RECORD_H

#include "context.h"

/** Appends a spec in its canonical form to the file of the option or TOPK_JIT_RECORD, unless it has
 *  that line. Trouble is one warning of the context, and nobody's failure. */
void tkj_plan_record(topk_jit_context *context, const topk_jit_spec *spec);

#endif /* TKJ_PLAN_RECORD_H */
