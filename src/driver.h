/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file driver.h
 * @brief The CUDA Driver API: devices, loading, launching. Only driver_api.h includes cuda.h.
 *
 * libcuda is opened once per process, through dlopen and cuGetProcAddress, on the first call that
 * needs it, and stays open. All cold calls run in relaxed capture mode, so that another thread's
 * capture in global mode stays valid (flashinfer PR#3172).
 */
#ifndef TKJ_DRIVER_H
#define TKJ_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <topk_jit/topk_jit.h>

#include "device.h"

/** A kernel in the driver: both handles are the driver's, library is owned. */
typedef struct tkj_kernel {
    void *library; /* CUlibrary */
    void *kernel;  /* CUkernel: valid in every context */
} tkj_kernel;

/** Shape of one launch. */
typedef struct tkj_launch {
    void *kernel; /* CUkernel */
    uint32_t grid;
    uint32_t threads;
    uint32_t shared_bytes;
    uint32_t cluster; /* blocks of a cluster; 0 or 1 = no clusters */
    bool pdl;
} tkj_launch;

/**
 * Opens libcuda and initialises it, once per process (a failure is tried again).
 * @param[out] version  1000 * major + 10 * minor of the CUDA version the driver supports
 * @return TOPK_JIT_OK, TOPK_JIT_DRIVER_NOT_FOUND, TOPK_JIT_DRIVER_TOO_OLD, TOPK_JIT_NO_DEVICE,
 *         TOPK_JIT_DRIVER_FAILED (in a process that was forked while a thread opened it: always)
 */
topk_jit_status tkj_driver_open(int *version);

/** Number of devices. The driver must be open, here and below. */
topk_jit_status tkj_driver_device_count(int *count);

/** The CUDA context that is current in this thread; NULL if none is. The driver must be open. */
topk_jit_status tkj_driver_current_context(void **out);

/** Makes a context current in this thread until tkj_driver_leave_context; NULL: changes nothing,
 *  and is not to be left. */
topk_jit_status tkj_driver_enter_context(void *context);
void tkj_driver_leave_context(void *context);

/** Facts of one device. @return TOPK_JIT_NO_DEVICE if there is no such ordinal */
topk_jit_status tkj_driver_device_facts(int ordinal, tkj_device_facts *out);

/** Ordinal of the device of the stream's context; NULL = of the current context.
 *  @return TOPK_JIT_NO_DEVICE if no context is current */
topk_jit_status tkj_driver_stream_device(CUstream stream, int *ordinal);

/** True while the stream is being captured into a graph, or work on it would break another capture
 *  (the legacy stream while a blocking one captures).
 *  @return TOPK_JIT_OK, TOPK_JIT_NO_DEVICE if no context is current, TOPK_JIT_DRIVER_FAILED */
topk_jit_status tkj_driver_is_capturing(CUstream stream, bool *capturing);

/**
 * Loads a cubin or PTX from memory, finds its entry, loads it into the stream's context and allows
 * it shared_bytes of dynamic shared memory on the device.
 * @param[out] out  released with tkj_driver_unload
 * @return TOPK_JIT_OK, TOPK_JIT_LOAD_FAILED (message: the driver's reason), TOPK_JIT_DRIVER_FAILED
 */
topk_jit_status tkj_driver_load(const void *image, const char *entry, uint32_t shared_bytes,
                                int ordinal, CUstream stream, tkj_kernel *out);

/** Loads kernels into the stream's context too: a device may have several (green contexts, another
 *  than the primary one). @return TOPK_JIT_OK, TOPK_JIT_LOAD_FAILED, TOPK_JIT_DRIVER_FAILED */
topk_jit_status tkj_driver_load_into(const tkj_kernel *kernels, size_t count, CUstream stream);

/** Most blocks of a cluster, a power of two up to `most`, of which the device of the stream's
 * context has room for one at a time; 1 if it has none, or the driver does not tell. `launch` gives
 * kernel, threads and shared memory. @return TOPK_JIT_OK, TOPK_JIT_DRIVER_FAILED */
topk_jit_status tkj_driver_cluster_max(const tkj_launch *launch, int most, CUstream stream,
                                       int *out);

/** Unloads; a zeroed kernel is ignored, errors too (the process may be exiting). */
void tkj_driver_unload(tkj_kernel *kernel);

/** Enqueues one launch: the only driver call of the hot path.
 *  @param params  the kernel's one parameter, by address; copied before the call returns
 *  @return TOPK_JIT_OK, TOPK_JIT_LAUNCH_FAILED */
topk_jit_status tkj_driver_launch(const tkj_launch *launch, const void *params, CUstream stream);

#endif /* TKJ_DRIVER_H */
