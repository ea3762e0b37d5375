/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file tensor.h
 * @brief A Python tensor as the DLTensor that the library reads. Nothing is copied.
 */
#ifndef TKP_TENSOR_H
#define TKP_TENSOR_H

#include "framework.h"

enum { TKP_MAX_DIMENSIONS = 64 }; /* as in the library, and NumPy */

typedef struct tkp_view {
    DLTensor tensor;
    PyObject *capsule;           /* owned: what the exporter gave; NULL if nothing is held */
    tkp_managed_tensor *managed; /* owned likewise */
    int64_t strides[TKP_MAX_DIMENSIONS]; /* where the exporter counts bytes */
} tkp_view;

/**
 * @brief Reads a tensor. The view is valid while the tensor is, until it is closed.
 * @param argument  name for messages
 * @param output    the tensor will be written to: a read-only one is a ValueError
 */
int tkp_view_open(tkp_state *state, tkp_framework *framework, PyObject *object,
                  const char *argument, bool output, tkp_view *view);

/** May be closed twice. */
void tkp_view_close(tkp_view *view);

static inline bool tkp_view_is_on_gpu(const tkp_view *view)
{
    DLDeviceType type = view->tensor.device.device_type;
    return type == kDLCUDA || type == kDLCUDAManaged;
}

#endif
