/* SPDX-License-Identifier: Apache-2.0 */
/** @file kernels.h @brief The kernels that were compiled for a test: specs.txt. */
#ifndef TKJ_SIMT_KERNELS_H
#define TKJ_SIMT_KERNELS_H

#include "simt.h"

/** A kernel and what it is one of. */
typedef struct tkj_simt_listed {
    const char *spec; /* canonical text */
    size_t variant;   /* its index in the spec's list on the kernel's architecture */
    const tkj_simt_kernel *kernel;
} tkj_simt_listed;

extern const tkj_simt_listed tkj_simt_kernels[];
extern const size_t tkj_simt_kernel_count;

#endif /* TKJ_SIMT_KERNELS_H */
