/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file selection.h
 * @brief One selection: Python tensors and options to topk_jit_select and back.
 */
#ifndef TKP_SELECTION_H
#define TKP_SELECTION_H

#include "context.h"
#include "selection_request.h"

/** Makes the call. @return the indices, or the Selection */
PyObject *tkp_selection_run(tkp_state *state, PyObject *context, tkp_request *request);

#endif
