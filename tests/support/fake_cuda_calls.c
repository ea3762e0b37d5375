/* SPDX-License-Identifier: Apache-2.0 */
/* The fake driver's functions for devices, contexts and streams, and the way to all of them. */
#include "fake_cuda_state.h"

CUresult fake_begin_ready(const char *name)
{
    CUresult result = fake_begin(name);
    return result == CUDA_SUCCESS && !fake.initialised ? CUDA_ERROR_NOT_INITIALIZED : result;
}

CUresult fake_begin_unsafe(const char *name)
{
    CUresult result = fake_begin_ready(name);
    return result == CUDA_SUCCESS ? fake_check_unsafe_call() : result;
}

/* ---- the driver and its devices ---- */

CUresult CUDAAPI cuInit(unsigned flags)
{
    CUresult result = fake_begin("cuInit");
    if (result == CUDA_SUCCESS && flags != 0)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && fake.device_count == 0)
        result = CUDA_ERROR_NO_DEVICE;
    if (result == CUDA_SUCCESS)
        fake.initialised = true;
    return fake_end(result);
}

CUresult CUDAAPI cuDriverGetVersion(int *version)
{
    CUresult result = fake_begin("cuDriverGetVersion");
    *version = fake.version;
    return fake_end(result);
}

static const struct {
    CUresult result;
    const char *name, *text;
} errors[] = {
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
};

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **text)
{
    *text = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].result == error)
            *text = errors[i].name;
    return *text != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **text)
{
    *text = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].result == error)
            *text = errors[i].text;
    return *text != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    CUresult result = fake_begin_ready("cuDeviceGetCount");
    if (result == CUDA_SUCCESS)
        *count = fake.hidden ? 0 : fake.device_count;
    return fake_end(result);
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    CUresult result = fake_begin_ready("cuDeviceGet");
    if (result == CUDA_SUCCESS && (ordinal < 0 || ordinal >= fake.device_count))
        result = CUDA_ERROR_INVALID_DEVICE;
    if (result == CUDA_SUCCESS)
        *device = ordinal;
    return fake_end(result);
}

static CUresult read_attribute(CUdevice device, CUdevice_attribute attribute, int *value)
{
    if (device < 0 || device >= fake.device_count)
        return CUDA_ERROR_INVALID_DEVICE;
    struct fake_device facts = fake_devices[device];
    const int claimed = fake.claimed_capability != 0 ? fake.claimed_capability : fake.capability;
    if (claimed != 0) {
        facts.major = claimed / 10;
        facts.minor = claimed % 10;
    }
    if (fake.claimed_sm_count[device] != 0)
        facts.sm_count = fake.claimed_sm_count[device];
    if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
        *value = facts.major;
    else if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
        *value = facts.minor;
    else if (attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
        *value = facts.sm_count;
    else if (attribute == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
        *value = facts.shared;
    else if (attribute == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)
        *value = facts.l2;
    else if (attribute == CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH)
        *value = facts.clusters;
    else
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    CUresult result = fake_begin_ready("cuDeviceGetAttribute");
    if (result == CUDA_SUCCESS)
        result = read_attribute(device, attribute, value);
    return fake_end(result);
}

/* ---- contexts and streams ---- */

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *context)
{
    CUresult result = fake_begin_ready("cuCtxGetCurrent");
    if (result == CUDA_SUCCESS)
        *context = (CUcontext)fake_current();
    return fake_end(result);
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice *device)
{
    CUresult result = fake_begin_ready("cuCtxGetDevice");
    if (result == CUDA_SUCCESS && fake_current() == NULL)
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS)
        *device = fake_current()->ordinal;
    return fake_end(result);
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext context)
{
    CUresult result = fake_begin_ready("cuCtxPushCurrent");
    if (result == CUDA_SUCCESS && (context == NULL || fake_thread.depth == FAKE_STACK_MAX))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        fake_thread.stack[fake_thread.depth++] = (struct fake_context *)context;
    return fake_end(result);
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext *context)
{
    CUresult result = fake_begin_ready("cuCtxPopCurrent");
    if (result == CUDA_SUCCESS && fake_thread.depth == 0)
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS)
        *context = (CUcontext)fake_thread.stack[--fake_thread.depth];
    return fake_end(result);
}

bool fake_is_special(CUstream stream)
{
    return stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

struct fake_context *fake_context_of(CUstream stream)
{
    return fake_is_special(stream) ? fake_current() : ((struct fake_stream *)stream)->context;
}

CUresult CUDAAPI cuStreamGetCtx(CUstream stream, CUcontext *context)
{
    CUresult result = fake_begin_ready("cuStreamGetCtx");
    if (result == CUDA_SUCCESS && fake_context_of(stream) == NULL)
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS)
        *context = (CUcontext)fake_context_of(stream);
    return fake_end(result);
}

struct fake_stream *fake_capturing_in(const struct fake_context *context)
{
    for (int i = 0; i < fake.stream_count; i++)
        if (fake.streams[i].context == context &&
            fake.streams[i].capture == CU_STREAM_CAPTURE_STATUS_ACTIVE)
            return &fake.streams[i];
    return NULL;
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    CUresult result = fake_begin_ready("cuStreamIsCapturing");
    if (result == CUDA_SUCCESS && fake_context_of(stream) == NULL)
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS && fake_is_special(stream) &&
        fake_capturing_in(fake_current()) != NULL)
        result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (result == CUDA_SUCCESS)
        *status = fake_is_special(stream) ? CU_STREAM_CAPTURE_STATUS_NONE
                                          : ((struct fake_stream *)stream)->capture;
    return fake_end(result);
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    CUresult result = fake_begin_ready("cuThreadExchangeStreamCaptureMode");
    if (result == CUDA_SUCCESS) {
        CUstreamCaptureMode before = fake_thread.mode;
        fake_thread.mode = *mode;
        *mode = before;
    }
    return fake_end(result);
}

/* ---- entry points ---- */

#define ENTRY(name)                                                                                \
    {                                                                                              \
#name, (void (*)(void))name                                                                \
    }

/* cuda.h maps some of the names to versioned symbols; the entry point has the plain name. */
static const struct {
    const char *name;
    void (*function)(void);
} entry_points[] = {
    ENTRY(cuInit),
    ENTRY(cuDriverGetVersion),
    ENTRY(cuGetErrorName),
    ENTRY(cuGetErrorString),
    ENTRY(cuDeviceGet),
    ENTRY(cuDeviceGetCount),
    ENTRY(cuDeviceGetAttribute),
    ENTRY(cuCtxGetCurrent),
    ENTRY(cuCtxGetDevice),
    ENTRY(cuCtxPushCurrent),
    ENTRY(cuCtxPopCurrent),
    ENTRY(cuStreamGetCtx),
    ENTRY(cuStreamIsCapturing),
    ENTRY(cuThreadExchangeStreamCaptureMode),
    ENTRY(cuModuleLoadDataEx),
    ENTRY(cuModuleUnload),
    ENTRY(cuLibraryLoadData),
    ENTRY(cuLibraryUnload),
    ENTRY(cuLibraryGetKernel),
    ENTRY(cuKernelSetAttribute),
    ENTRY(cuKernelGetFunction),
    ENTRY(cuOccupancyMaxActiveClusters),
    ENTRY(cuLaunchKernelEx),
};

CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **function, int version,
                                  cuuint64_t flags, CUdriverProcAddressQueryResult *found)
{
    CUresult result = fake_begin("cuGetProcAddress");
    *function = NULL;
    *found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (result == CUDA_SUCCESS && (version != 12000 || flags != CU_GET_PROC_ADDRESS_DEFAULT))
        result = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < sizeof entry_points / sizeof entry_points[0]; i++)
        if (result == CUDA_SUCCESS && strcmp(entry_points[i].name, symbol) == 0 &&
            !fake_is_hidden(entry_points[i].name)) {
            memcpy(function, &entry_points[i].function, sizeof *function);
            *found = CU_GET_PROC_ADDRESS_SUCCESS;
        }
    return fake_end(result);
}
