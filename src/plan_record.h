/* SPDX-License-Identifier: Apache-2.0 */
/** @file plan_record.h @brief The record of what a process met: a file of specs, one a line. */
#ifndef TKJ_PLAN_RECORD_H
#define TKJ_PLAN_RECORD_H

#include "context.h"

/** Appends a spec in its canonical form to the file of the option or TOPK_JIT_RECORD, unless it has
 *  that line. Trouble is one warning of the context, and nobody's failure. */
void tkj_plan_record(topk_jit_context *context, const topk_jit_spec *spec);

/** Opens a regular file to append to. @param more  O_CREAT, or 0: only if it is there
 *  @return a descriptor, or -1 with errno: ELOOP for a symbolic link, EINVAL for what is no file */
int tkj_plan_record_open(const char *path, int more);

#endif /* TKJ_PLAN_RECORD_H */
