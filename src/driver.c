/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "driver_api.h"
#include "os.h"
#include "status.h"

_Atomic(const struct tkj_driver *) tkj_opened_driver;

topk_jit_status tkj_driver_call_failed(const struct tkj_driver *cuda, topk_jit_status status,
                                       CUresult result, const char *call)
{
    const char *name = NULL, *text = NULL;
    cuda->cuGetErrorName_(result, &name);
    cuda->cuGetErrorString_(result, &text);
    return tkj_fail_native(status, (int)result, "%s: %s (%s)", call,
                           name != NULL ? name : "unknown error",
                           text != NULL ? text : "the driver has no text for it");
}

/* ---- opening ---- */

/** Copies an address into a function pointer, which ISO C cannot cast to. */
static bool take_address(void *function, void *address)
{
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

/** Before anything else: an old driver lacks functions, and its age is the reason to name. Needs
 *  no cuInit. */
static topk_jit_status check_version(void *library, int *version)
{
    PFN_cuDriverGetVersion_v2020 get_version;
    if (!take_address(&get_version, dlsym(library, "cuDriverGetVersion")))
        return tkj_fail(TOPK_JIT_DRIVER_NOT_FOUND,
                        "libcuda.so.1 is no CUDA driver: it has no function cuDriverGetVersion");
    CUresult result = get_version(version);
    if (result == CUDA_ERROR_STUB_LIBRARY)
        return tkj_fail_native(TOPK_JIT_DRIVER_NOT_FOUND, (int)result,
                               "libcuda.so.1 is the toolkit's stub, not the CUDA driver");
    if (result != CUDA_SUCCESS)
        return tkj_fail_native(TOPK_JIT_DRIVER_FAILED, (int)result,
                               "cuDriverGetVersion failed with %d", (int)result);
    if (*version < TKJ_DRIVER_OLDEST_VERSION)
        return tkj_fail(TOPK_JIT_DRIVER_TOO_OLD,
                        "the CUDA driver supports CUDA %d.%d, needed is %d.%d or newer",
                        *version / 1000, *version % 1000 / 10, TKJ_DRIVER_OLDEST_VERSION / 1000,
                        TKJ_DRIVER_OLDEST_VERSION % 1000 / 10);
    return TOPK_JIT_OK;
}

static topk_jit_status resolve(PFN_cuGetProcAddress_v12000 get_address, const char *name,
                               void *function)
{
    void *address = NULL;
    CUdriverProcAddressQueryResult found;
    CUresult result =
        get_address(name, &address, TKJ_DRIVER_OLDEST_VERSION, CU_GET_PROC_ADDRESS_DEFAULT, &found);
    if (result == CUDA_SUCCESS && take_address(function, address))
        return TOPK_JIT_OK;
    return tkj_fail_native(TOPK_JIT_DRIVER_FAILED, (int)result,
                           "libcuda.so.1 has no function %s of CUDA 12.0", name);
}

static topk_jit_status resolve_functions(void *library, struct tkj_driver *cuda)
{
    PFN_cuGetProcAddress_v12000 get_address;
    if (!take_address(&get_address, dlsym(library, "cuGetProcAddress_v2")))
        return tkj_fail(TOPK_JIT_DRIVER_FAILED, "libcuda.so.1 has no function cuGetProcAddress_v2");
    topk_jit_status status;
#define RESOLVE(name, suffix)                                                                      \
    status = resolve(get_address, #name, &cuda->name##_);                                          \
    if (status != TOPK_JIT_OK)                                                                     \
        return status;
    TKJ_DRIVER_FUNCTIONS(RESOLVE)
#undef RESOLVE
    return TOPK_JIT_OK;
}

/** One attempt; the library stays open, whatever comes after. */
static topk_jit_status open_driver(struct tkj_driver *cuda)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *reason = dlerror();
        return tkj_fail(TOPK_JIT_DRIVER_NOT_FOUND, "no CUDA driver: %s",
                        reason != NULL ? reason : "libcuda.so.1 cannot be loaded");
    }
    topk_jit_status status = check_version(library, &cuda->version);
    if (status == TOPK_JIT_OK)
        status = resolve_functions(library, cuda);
    if (status != TOPK_JIT_OK)
        return status;
    CUresult result = cuda->cuInit_(0);
    if (result == CUDA_SUCCESS)
        return TOPK_JIT_OK;
    return tkj_driver_call_failed(
        cuda, result == CUDA_ERROR_NO_DEVICE ? TOPK_JIT_NO_DEVICE : TOPK_JIT_DRIVER_FAILED, result,
        "cuInit");
}

/** One thread at a time opens; the others wait for it and find what it has opened. */
static topk_jit_status open_once(void)
{
    static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
    static tkj_fork_guard inside; /* of opening, and of the loader's and the driver's own locks */
    static struct tkj_driver driver; /* guarded by opening until it is published */
    if (!tkj_os_fork_guard_enter(&inside))
        return tkj_fail(TOPK_JIT_DRIVER_FAILED,
                        "the CUDA driver cannot be opened: this process was forked while a thread "
                        "of its parent was opening it, which it would wait for; fork earlier, or "
                        "exec");
    topk_jit_status status = TOPK_JIT_OK;
    pthread_mutex_lock(&opening);
    if (tkj_driver_opened() == NULL) {
        status = open_driver(&driver);
        if (status == TOPK_JIT_OK)
            atomic_store_explicit(&tkj_opened_driver, &driver, memory_order_release);
    }
    pthread_mutex_unlock(&opening);
    tkj_os_fork_guard_leave(&inside);
    return status;
}

topk_jit_status tkj_driver_open(int *version)
{
    topk_jit_status status = tkj_driver_opened() == NULL ? open_once() : TOPK_JIT_OK;
    if (status == TOPK_JIT_OK)
        *version = tkj_driver_opened()->version;
    return status;
}

/* ---- what surrounds a call ---- */

topk_jit_status tkj_driver_relax(const struct tkj_driver *cuda, CUstreamCaptureMode *mode)
{
    *mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUresult result = cuda->cuThreadExchangeStreamCaptureMode_(mode);
    return result == CUDA_SUCCESS ? TOPK_JIT_OK
                                  : tkj_driver_call_failed(cuda, TOPK_JIT_DRIVER_FAILED, result,
                                                           "cuThreadExchangeStreamCaptureMode");
}

topk_jit_status tkj_driver_restore(const struct tkj_driver *cuda, CUstreamCaptureMode mode,
                                   topk_jit_status status)
{
    CUresult result = cuda->cuThreadExchangeStreamCaptureMode_(&mode);
    return result == CUDA_SUCCESS || status != TOPK_JIT_OK
               ? status
               : tkj_driver_call_failed(cuda, TOPK_JIT_DRIVER_FAILED, result,
                                        "cuThreadExchangeStreamCaptureMode");
}

topk_jit_status tkj_driver_push_context(const struct tkj_driver *cuda, CUstream stream)
{
    CUcontext context = NULL;
    CUresult result =
        stream == NULL ? cuda->cuCtxGetCurrent_(&context) : cuda->cuStreamGetCtx_(stream, &context);
    if (result == CUDA_ERROR_INVALID_CONTEXT || (result == CUDA_SUCCESS && context == NULL))
        return tkj_fail_native(TOPK_JIT_NO_DEVICE, (int)result,
                               "no CUDA context is current in this thread");
    if (result != CUDA_SUCCESS)
        return tkj_driver_call_failed(cuda, TOPK_JIT_DRIVER_FAILED, result,
                                      stream == NULL ? "cuCtxGetCurrent" : "cuStreamGetCtx");
    result = cuda->cuCtxPushCurrent_(context);
    return result == CUDA_SUCCESS
               ? TOPK_JIT_OK
               : tkj_driver_call_failed(cuda, TOPK_JIT_DRIVER_FAILED, result, "cuCtxPushCurrent");
}

topk_jit_status tkj_driver_pop_context(const struct tkj_driver *cuda, topk_jit_status status)
{
    CUcontext context;
    CUresult result = cuda->cuCtxPopCurrent_(&context);
    return result == CUDA_SUCCESS || status != TOPK_JIT_OK
               ? status
               : tkj_driver_call_failed(cuda, TOPK_JIT_DRIVER_FAILED, result, "cuCtxPopCurrent");
}

topk_jit_status tkj_driver_current_context(void **out)
{
    const struct tkj_driver *cuda = tkj_driver_opened();
    CUcontext context = NULL;
    CUresult result = cuda->cuCtxGetCurrent_(&context);
    *out = context;
    return result == CUDA_SUCCESS
               ? TOPK_JIT_OK
               : tkj_driver_call_failed(cuda, TOPK_JIT_DRIVER_FAILED, result, "cuCtxGetCurrent");
}

topk_jit_status tkj_driver_enter_context(void *context)
{
    const struct tkj_driver *cuda = tkj_driver_opened();
    if (context == NULL)
        return TOPK_JIT_OK;
    CUresult result = cuda->cuCtxPushCurrent_(context);
    return result == CUDA_SUCCESS
               ? TOPK_JIT_OK
               : tkj_driver_call_failed(cuda, TOPK_JIT_DRIVER_FAILED, result, "cuCtxPushCurrent");
}

void tkj_driver_leave_context(void *context)
{
    CUcontext left;
    if (context != NULL)
        tkj_driver_opened()->cuCtxPopCurrent_(&left);
}

/* ---- devices and streams ---- */

topk_jit_status tkj_driver_device_count(int *count)
{
    const struct tkj_driver *cuda = tkj_driver_opened();
    CUstreamCaptureMode mode;
    topk_jit_status status = tkj_driver_relax(cuda, &mode);
    if (status != TOPK_JIT_OK)
        return status;
    CUresult result = cuda->cuDeviceGetCount_(count);
    if (result != CUDA_SUCCESS)
        status = tkj_driver_call_failed(cuda, TOPK_JIT_DRIVER_FAILED, result, "cuDeviceGetCount");
    return tkj_driver_restore(cuda, mode, status);
}

static topk_jit_status read_facts(const struct tkj_driver *cuda, int ordinal, tkj_device_facts *out)
{
    CUdevice device;
    CUresult result = cuda->cuDeviceGet_(&device, ordinal);
    if (result == CUDA_ERROR_INVALID_DEVICE)
        return tkj_fail_native(TOPK_JIT_NO_DEVICE, (int)result, "there is no CUDA device %d",
                               ordinal);
    if (result != CUDA_SUCCESS)
        return tkj_driver_call_failed(cuda, TOPK_JIT_DRIVER_FAILED, result, "cuDeviceGet");
    *out = (tkj_device_facts){.ordinal = ordinal};
    int clusters = 0;
    const struct {
        CUdevice_attribute attribute;
        int *value;
    } wanted[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &out->compute_major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &out->compute_minor},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &out->sm_count},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &out->shared_per_block},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &out->l2_bytes},
        {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, &clusters},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        result = cuda->cuDeviceGetAttribute_(wanted[i].value, wanted[i].attribute, device);
        if (result != CUDA_SUCCESS)
            return tkj_driver_call_failed(cuda, TOPK_JIT_DRIVER_FAILED, result,
                                          "cuDeviceGetAttribute");
    }
    out->cluster_max = clusters ? TKJ_CLUSTER_MAX : 0;
    return TOPK_JIT_OK;
}

topk_jit_status tkj_driver_device_facts(int ordinal, tkj_device_facts *out)
{
    const struct tkj_driver *cuda = tkj_driver_opened();
    CUstreamCaptureMode mode;
    topk_jit_status status = tkj_driver_relax(cuda, &mode);
    if (status != TOPK_JIT_OK)
        return status;
    return tkj_driver_restore(cuda, mode, read_facts(cuda, ordinal, out));
}

topk_jit_status tkj_driver_stream_device(CUstream stream, int *ordinal)
{
    const struct tkj_driver *cuda = tkj_driver_opened();
    CUstreamCaptureMode mode;
    topk_jit_status status = tkj_driver_relax(cuda, &mode);
    if (status != TOPK_JIT_OK)
        return status;
    status = tkj_driver_push_context(cuda, stream);
    if (status == TOPK_JIT_OK) {
        CUdevice device = 0; /* a CUdevice is its ordinal */
        CUresult result = cuda->cuCtxGetDevice_(&device);
        if (result != CUDA_SUCCESS)
            status = tkj_driver_call_failed(cuda, TOPK_JIT_DRIVER_FAILED, result, "cuCtxGetDevice");
        *ordinal = device;
        status = tkj_driver_pop_context(cuda, status);
    }
    return tkj_driver_restore(cuda, mode, status);
}

/** cuStreamIsCapturing, read as "would a launch disturb a capture". */
static topk_jit_status read_capturing(const struct tkj_driver *cuda, CUstream stream,
                                      bool *capturing)
{
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result = cuda->cuStreamIsCapturing_(stream, &capture);
    /* The legacy stream while a blocking stream captures: work on it would break that capture. */
    bool implicit = result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    *capturing = implicit || capture != CU_STREAM_CAPTURE_STATUS_NONE;
    if (result == CUDA_SUCCESS || implicit)
        return TOPK_JIT_OK;
    return tkj_driver_call_failed(
        cuda, result == CUDA_ERROR_INVALID_CONTEXT ? TOPK_JIT_NO_DEVICE : TOPK_JIT_DRIVER_FAILED,
        result, "cuStreamIsCapturing");
}

topk_jit_status tkj_driver_is_capturing(CUstream stream, bool *capturing)
{
    const struct tkj_driver *cuda = tkj_driver_opened();
    CUstreamCaptureMode mode;
    topk_jit_status status = tkj_driver_relax(cuda, &mode);
    if (status != TOPK_JIT_OK)
        return status;
    return tkj_driver_restore(cuda, mode, read_capturing(cuda, stream, capturing));
}
