/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file stub_cuda.c
 * @brief A libcuda that does nothing, as fast as it can: what is left of a call's time on it is
 * the library's own. One GPU of compute capability 9.0; memory is addresses that nobody reads.
 */
#include <cuda.h>
#include <string.h>

/* cuda.h of 13.0 renames it; the name that tools look for is the one that every driver has. */
#undef cuEventElapsedTime

#define EXPORT __attribute__((visibility("default")))

static char something; /* what every handle points to */
static uintptr_t next_address = (uintptr_t)1 << 40;

#define HANDLE(type) ((type)(void *)&something)

EXPORT CUresult cuDriverGetVersion(int *version)
{
    *version = 13000;
    return CUDA_SUCCESS;
}

static CUresult do_nothing(void)
{
    return CUDA_SUCCESS;
}

static CUresult give_handle(void **handle)
{
    *handle = &something;
    return CUDA_SUCCESS;
}

static CUresult give_zero(int *number)
{
    *number = 0;
    return CUDA_SUCCESS;
}

static CUresult give_text(CUresult error, const char **text)
{
    (void)error;
    *text = "of the stub";
    return CUDA_SUCCESS;
}

static CUresult give_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    (void)device;
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = 9;
        break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *value = 0;
        break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *value = 132;
        break;
    default:
        *value = 1 << 20;
    }
    return CUDA_SUCCESS;
}

static CUresult give_stream_context(CUstream stream, CUcontext *context)
{
    (void)stream;
    *context = HANDLE(CUcontext);
    return CUDA_SUCCESS;
}

static CUresult give_capture_status(CUstream stream, CUstreamCaptureStatus *status)
{
    (void)stream;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

static CUresult give_kernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    (void)library, (void)name;
    *kernel = HANDLE(CUkernel);
    return CUDA_SUCCESS;
}

static CUresult give_function(CUfunction *function, CUkernel kernel)
{
    (void)kernel;
    *function = HANDLE(CUfunction);
    return CUDA_SUCCESS;
}

static CUresult give_clusters(int *count, CUfunction function, const CUlaunchConfig *config)
{
    (void)function, (void)config;
    *count = 8;
    return CUDA_SUCCESS;
}

/** What the driver itself does for a launch at the least: it reads the configuration. */
static CUresult launch(const CUlaunchConfig *config, CUfunction function, void **params,
                       void **extra)
{
    (void)extra;
    return config->gridDimX > 0 && function != NULL && params != NULL ? CUDA_SUCCESS
                                                                      : CUDA_ERROR_INVALID_VALUE;
}

#define NOTHING(name)                                                                              \
    {                                                                                              \
        name, (void (*)(void))do_nothing                                                           \
    }

static const struct {
    const char *name;
    void (*function)(void);
} functions[] = {
    NOTHING("cuInit"),
    {"cuGetErrorName", (void (*)(void))give_text},
    {"cuGetErrorString", (void (*)(void))give_text},
    {"cuDeviceGet", (void (*)(void))give_zero},
    {"cuDeviceGetCount", (void (*)(void))give_zero},
    {"cuDeviceGetAttribute", (void (*)(void))give_attribute},
    {"cuCtxGetCurrent", (void (*)(void))give_handle},
    {"cuCtxGetDevice", (void (*)(void))give_zero},
    NOTHING("cuCtxPushCurrent"),
    NOTHING("cuCtxPopCurrent"),
    {"cuStreamGetCtx", (void (*)(void))give_stream_context},
    {"cuStreamIsCapturing", (void (*)(void))give_capture_status},
    NOTHING("cuThreadExchangeStreamCaptureMode"),
    {"cuModuleLoadDataEx", (void (*)(void))give_handle},
    NOTHING("cuModuleUnload"),
    {"cuLibraryLoadData", (void (*)(void))give_handle},
    NOTHING("cuLibraryUnload"),
    {"cuLibraryGetKernel", (void (*)(void))give_kernel},
    {"cuKernelGetFunction", (void (*)(void))give_function},
    NOTHING("cuKernelSetAttribute"),
    {"cuOccupancyMaxActiveClusters", (void (*)(void))give_clusters},
    {"cuLaunchKernelEx", (void (*)(void))launch},
};

EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **address, int version,
                                    cuuint64_t flags, CUdriverProcAddressQueryResult *found)
{
    (void)version, (void)flags;
    if (found != NULL)
        *found = CU_GET_PROC_ADDRESS_SUCCESS;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (strcmp(functions[i].name, symbol) == 0) {
            memcpy(address, &functions[i].function, sizeof *address);
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}

/* ---- what tools need beside the library ---- */

#define EXPORT_NOTHING(name, arguments)                                                            \
    EXPORT CUresult name arguments                                                                 \
    {                                                                                              \
        return CUDA_SUCCESS;                                                                       \
    }

#pragma GCC diagnostic ignored "-Wunused-parameter"
/* NOLINTBEGIN(misc-unused-parameters): the types are cuda.h's */

EXPORT_NOTHING(cuInit, (unsigned flags))
EXPORT_NOTHING(cuCtxSetCurrent, (CUcontext context))
EXPORT_NOTHING(cuStreamDestroy_v2, (CUstream stream))
EXPORT_NOTHING(cuStreamSynchronize, (CUstream stream))
EXPORT_NOTHING(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags))
EXPORT_NOTHING(cuMemFree_v2, (CUdeviceptr memory))
EXPORT_NOTHING(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t size))
EXPORT_NOTHING(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t size))
EXPORT_NOTHING(cuMemcpyDtoDAsync_v2,
               (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream))
EXPORT_NOTHING(cuMemsetD8Async,
               (CUdeviceptr memory, unsigned char byte, size_t size, CUstream stream))
EXPORT_NOTHING(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode))
EXPORT_NOTHING(cuStreamEndCapture, (CUstream stream, CUgraph *graph))
EXPORT_NOTHING(cuGraphInstantiateWithFlags,
               (CUgraphExec * exec, CUgraph graph, unsigned long long flags))
EXPORT_NOTHING(cuGraphLaunch, (CUgraphExec exec, CUstream stream))
EXPORT_NOTHING(cuGraphExecDestroy, (CUgraphExec exec))
EXPORT_NOTHING(cuGraphDestroy, (CUgraph graph))
EXPORT_NOTHING(cuEventCreate, (CUevent * event, unsigned flags))
EXPORT_NOTHING(cuEventDestroy_v2, (CUevent event))
EXPORT_NOTHING(cuEventRecord, (CUevent event, CUstream stream))
EXPORT_NOTHING(cuEventElapsedTime, (float *milliseconds, CUevent begin, CUevent end))

EXPORT CUresult cuDeviceGetCount(int *count)
{
    *count = 1;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
    strncpy(name, "stub", (size_t)size);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    *context = HANDLE(CUcontext);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    *stream = HANDLE(CUstream);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *memory, size_t size)
{
    *memory = (CUdeviceptr)next_address;
    next_address += (size + 255) / 256 * 256;
    return CUDA_SUCCESS;
}

/* NOLINTEND(misc-unused-parameters) */
