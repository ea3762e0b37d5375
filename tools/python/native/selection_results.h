/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file selection_results.h
 * @brief What a selection that was made gives to its caller.
 */
#ifndef TKP_SELECTION_RESULTS_H
#define TKP_SELECTION_RESULTS_H

#include "selection_tensors.h"

/** The indices, or the Selection. The views are closed: one may lock what is returned. */
PyObject *tkp_selection_result(tkp_selection *self);

/** Lets go of allocated outputs that were not returned. */
void tkp_selection_release(tkp_selection *self);

#endif
