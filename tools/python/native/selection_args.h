/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file selection_args.h
 * @brief The open tensors of a selection as topk_jit_select takes them.
 */
#ifndef TKP_SELECTION_ARGS_H
#define TKP_SELECTION_ARGS_H

#include "selection_tensors.h"

/** Completes the args of the request. */
int tkp_selection_fill_args(tkp_selection *self);

#endif
