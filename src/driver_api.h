/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file driver_api.h
 * @brief The loaded driver as driver.c finds it and driver_kernel.c uses it. Theirs alone: the only
 * header that needs cuda.h.
 */
#ifndef TKJ_DRIVER_API_H
#define TKJ_DRIVER_API_H

#include <cuda.h>
#include <cudaTypedefs.h>
#include <stdatomic.h>

#include "driver.h"

/* The first with cuLibraryLoadData and context-free kernels. */
#define TKJ_DRIVER_OLDEST_VERSION 12000

/* Every function used, in the version that TKJ_DRIVER_OLDEST_VERSION has: name, suffix of its type.
 */
#define TKJ_DRIVER_FUNCTIONS(X)                                                                    \
    X(cuInit, v2000)                                                                               \
    X(cuGetErrorName, v6000)                                                                       \
    X(cuGetErrorString, v6000)                                                                     \
    X(cuDeviceGet, v2000)                                                                          \
    X(cuDeviceGetCount, v2000)                                                                     \
    X(cuDeviceGetAttribute, v2000)                                                                 \
    X(cuCtxGetCurrent, v4000)                                                                      \
    X(cuCtxGetDevice, v2000)                                                                       \
    X(cuCtxPushCurrent, v4000)                                                                     \
    X(cuCtxPopCurrent, v4000)                                                                      \
    X(cuStreamGetCtx, v9020)                                                                       \
    X(cuStreamIsCapturing, v10000)                                                                 \
    X(cuThreadExchangeStreamCaptureMode, v10010)                                                   \
    X(cuModuleLoadDataEx, v2010)                                                                   \
    X(cuModuleUnload, v2000)                                                                       \
    X(cuLibraryLoadData, v12000)                                                                   \
    X(cuLibraryUnload, v12000)                                                                     \
    X(cuLibraryGetKernel, v12000)                                                                  \
    X(cuKernelGetFunction, v12000)                                                                 \
    X(cuKernelSetAttribute, v12000)                                                                \
    X(cuOccupancyMaxActiveClusters, v11070)                                                        \
    X(cuLaunchKernelEx, v11060)

/** The driver as it was found. */
struct tkj_driver {
    int version;
#define TKJ_DRIVER_MEMBER(name, suffix) PFN_##name##_##suffix name##_;
    TKJ_DRIVER_FUNCTIONS(TKJ_DRIVER_MEMBER)
#undef TKJ_DRIVER_MEMBER
};

/* Set once by tkj_driver_open, when all of it is complete, and never changed again. */
extern _Atomic(const struct tkj_driver *) tkj_opened_driver;

/** The driver, which must be open: one load, no lock. */
static inline const struct tkj_driver *tkj_driver_opened(void)
{
    return atomic_load_explicit(&tkj_opened_driver, memory_order_acquire);
}

/** Records a failed call with the driver's own name and text for it. */
topk_jit_status tkj_driver_call_failed(const struct tkj_driver *cuda, topk_jit_status status,
                                       CUresult result, const char *call);

/** Makes the thread's calls legal while another thread captures in global mode, which they would
 *  otherwise invalidate (flashinfer PR#3172, newton#357). @param[out] mode  for the restore */
topk_jit_status tkj_driver_relax(const struct tkj_driver *cuda, CUstreamCaptureMode *mode);

/** Gives the thread its mode back. @return the status given, or why that failed */
topk_jit_status tkj_driver_restore(const struct tkj_driver *cuda, CUstreamCaptureMode mode,
                                   topk_jit_status status);

/** Makes the stream's context current; that of NULL is the current one. */
topk_jit_status tkj_driver_push_context(const struct tkj_driver *cuda, CUstream stream);

/** Undoes a push. @return the status given, or why that failed */
topk_jit_status tkj_driver_pop_context(const struct tkj_driver *cuda, topk_jit_status status);

#endif /* TKJ_DRIVER_API_H */
