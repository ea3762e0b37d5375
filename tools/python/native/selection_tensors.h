/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file selection_tensors.h
 * @brief The tensors of one selection: opened, allocated where they are missing, and let go.
 */
#ifndef TKP_SELECTION_TENSORS_H
#define TKP_SELECTION_TENSORS_H

#include "selection_request.h"
#include "tensor.h"

/** A selection under way. */
typedef struct tkp_selection {
    tkp_state *state;
    tkp_request *request;
    tkp_framework *framework;     /* of score */
    int opened[TKP_TENSOR_COUNT]; /* views that hold something, in order */
    int opened_count;
    PyObject *allocated[TKP_TENSOR_COUNT]; /* owned outputs */
    tkp_view views[TKP_TENSOR_COUNT];      /* those of absent tensors are never touched */
} tkp_selection;

/** Nothing is opened yet. The views are large and written only where they are used. */
void tkp_selection_begin(tkp_selection *self, tkp_state *state, tkp_request *request);

/** Opens the tensors that are given, and score, which has to be: None is a TypeError. */
int tkp_selection_open(tkp_selection *self);

/** Allocates and opens the outputs that are wanted and not given. */
int tkp_selection_allocate(tkp_selection *self);

/** The view of a tensor that is given or allocated; else NULL. */
const DLTensor *tkp_selection_tensor(const tkp_selection *self, int place);

/** May be closed twice. */
void tkp_selection_close(tkp_selection *self);

#endif
