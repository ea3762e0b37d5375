/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file allocation.h
 * @brief New tensors of a framework.
 */
#ifndef TKP_ALLOCATION_H
#define TKP_ALLOCATION_H

#include "framework.h"

/**
 * @brief A new tensor of the framework and device of `like`, with undefined contents.
 * @param view  of `like`
 */
PyObject *tkp_allocate(tkp_state *state, tkp_framework *framework, PyObject *like,
                       const DLTensor *view, int64_t *shape, int dimensions, tkp_element element);

/** What is returned for a tensor that was allocated. Steals it. */
PyObject *tkp_allocation_finish(const tkp_framework *framework, PyObject *allocated);

#endif
