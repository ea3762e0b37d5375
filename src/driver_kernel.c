/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "driver_api.h"
#include "status.h"

/* A launch may use this much dynamic shared memory without having asked before. */
#define SHARED_WITHOUT_OPT_IN (48U * 1024)

/* ---- loading ---- */

/** The driver's compiler says why it refuses PTX; "" if it says nothing. A compilation of its own,
 *  because a library compiles lazily, per context: a log buffer given to cuLibraryLoadData would
 *  have to outlive this call. */
static void read_jit_log(const struct tkj_driver *cuda, const void *image, char *log, size_t size)
{
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)size};
    CUmodule module;
    log[0] = '\0';
    if (cuda->cuModuleLoadDataEx_(&module, image, 2, options, values) == CUDA_SUCCESS)
        cuda->cuModuleUnload_(module);
    log[size - 1] = '\0';
    log[strcspn(log, "\n")] = '\0';
}

static bool is_ptx(const void *image)
{
    static const char elf_magic[4] = "\177ELF"; /* what a cubin starts with */
    return strncmp(image, elf_magic, sizeof elf_magic) != 0;
}

/** Whether a failure is the image's: another image of the kernel may load. Else it is the driver's
 * or the device's, which every image would meet. */
static bool is_of_image(CUresult result)
{
    switch (result) {
    case CUDA_ERROR_INVALID_VALUE: /* no image at all */
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_JIT_COMPILATION_DISABLED:
    case CUDA_ERROR_INVALID_SOURCE:
    case CUDA_ERROR_FILE_NOT_FOUND:
    case CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND:
    case CUDA_ERROR_SHARED_OBJECT_INIT_FAILED:
    case CUDA_ERROR_NOT_FOUND:
    case CUDA_ERROR_NOT_SUPPORTED:
        return true;
    default:
        return false;
    }
}

/** Records why a kernel cannot be loaded, completed with the log of the driver's compiler. */
static topk_jit_status refused(const struct tkj_driver *cuda, CUresult result, const char *call,
                               const void *image, const char *entry)
{
    char log[512] = "";
    if (is_ptx(image))
        read_jit_log(cuda, image, log, sizeof log);
    const char *name = NULL, *text = NULL;
    cuda->cuGetErrorName_(result, &name);
    cuda->cuGetErrorString_(result, &text);
    return tkj_fail_native(
        is_of_image(result) ? TOPK_JIT_LOAD_FAILED : TOPK_JIT_DRIVER_FAILED, (int)result,
        "%s of kernel %s: %s (%s)%s%s", call, entry, name != NULL ? name : "unknown error",
        text != NULL ? text : "the driver has no text for it", log[0] != '\0' ? ": " : "", log);
}

/** Once per kernel and device, here and never per launch: a launch that lowered it would break
 *  another one under way (DeepJIT PR#15). */
static topk_jit_status allow_shared(const struct tkj_driver *cuda, CUkernel kernel, int ordinal,
                                    uint32_t shared_bytes)
{
    if (shared_bytes <= SHARED_WITHOUT_OPT_IN)
        return TOPK_JIT_OK;
    CUdevice device;
    CUresult result = cuda->cuDeviceGet_(&device, ordinal);
    if (result != CUDA_SUCCESS)
        return tkj_driver_call_failed(cuda, TOPK_JIT_DRIVER_FAILED, result, "cuDeviceGet");
    result = cuda->cuKernelSetAttribute_(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                         (int)shared_bytes, kernel, device);
    if (result != CUDA_SUCCESS)
        return tkj_driver_call_failed(cuda, TOPK_JIT_LOAD_FAILED, result,
                                      "cuKernelSetAttribute of dynamic shared memory");
    return TOPK_JIT_OK;
}

/** Loads into the current context now; left to the first launch, it could fall into a capture. */
static CUresult load_into_context(const struct tkj_driver *cuda, CUkernel kernel)
{
    CUfunction function;
    return cuda->cuKernelGetFunction_(&function, kernel);
}

/** The load itself, with the stream's context current. */
static topk_jit_status load_here(const struct tkj_driver *cuda, const void *image,
                                 const char *entry, uint32_t shared_bytes, int ordinal,
                                 CUlibrary *library, CUkernel *kernel)
{
    CUresult result = cuda->cuLibraryLoadData_(library, image, NULL, NULL, 0, NULL, NULL, 0);
    if (result != CUDA_SUCCESS) {
        *library = NULL;
        return refused(cuda, result, "cuLibraryLoadData", image, entry);
    }
    result = cuda->cuLibraryGetKernel_(kernel, *library, entry);
    if (result != CUDA_SUCCESS)
        return refused(cuda, result, "cuLibraryGetKernel", image, entry);
    topk_jit_status status = allow_shared(cuda, *kernel, ordinal, shared_bytes);
    if (status != TOPK_JIT_OK)
        return status;
    result = load_into_context(cuda, *kernel);
    if (result != CUDA_SUCCESS)
        return refused(cuda, result, "cuKernelGetFunction", image, entry);
    return TOPK_JIT_OK;
}

topk_jit_status tkj_driver_load(const void *image, const char *entry, uint32_t shared_bytes,
                                int ordinal, CUstream stream, tkj_kernel *out)
{
    const struct tkj_driver *cuda = tkj_driver_opened();
    CUlibrary library = NULL;
    CUkernel kernel = NULL;
    CUstreamCaptureMode mode;
    *out = (tkj_kernel){0};
    topk_jit_status status = tkj_driver_relax(cuda, &mode);
    if (status != TOPK_JIT_OK)
        return status;
    status = tkj_driver_push_context(cuda, stream);
    if (status != TOPK_JIT_OK)
        goto cleanup;
    status = load_here(cuda, image, entry, shared_bytes, ordinal, &library, &kernel);
    status = tkj_driver_pop_context(cuda, status);
cleanup:
    if (status == TOPK_JIT_OK)
        *out = (tkj_kernel){.library = library, .kernel = kernel};
    else if (library != NULL)
        cuda->cuLibraryUnload_(library);
    status = tkj_driver_restore(cuda, mode, status);
    if (status != TOPK_JIT_OK)
        tkj_driver_unload(out);
    return status;
}

topk_jit_status tkj_driver_load_into(const tkj_kernel *kernels, size_t count, CUstream stream)
{
    const struct tkj_driver *cuda = tkj_driver_opened();
    CUstreamCaptureMode mode;
    topk_jit_status status = tkj_driver_relax(cuda, &mode);
    if (status != TOPK_JIT_OK)
        return status;
    status = tkj_driver_push_context(cuda, stream);
    if (status == TOPK_JIT_OK) {
        CUresult result = CUDA_SUCCESS;
        for (size_t i = 0; result == CUDA_SUCCESS && i < count; i++)
            result = load_into_context(cuda, kernels[i].kernel);
        if (result != CUDA_SUCCESS)
            status =
                tkj_driver_call_failed(cuda, TOPK_JIT_LOAD_FAILED, result, "cuKernelGetFunction");
        status = tkj_driver_pop_context(cuda, status);
    }
    return tkj_driver_restore(cuda, mode, status);
}

void tkj_driver_unload(tkj_kernel *kernel)
{
    const struct tkj_driver *cuda = tkj_driver_opened();
    if (kernel->library == NULL)
        return;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    bool relaxed = cuda->cuThreadExchangeStreamCaptureMode_(&mode) == CUDA_SUCCESS;
    cuda->cuLibraryUnload_(kernel->library);
    if (relaxed)
        cuda->cuThreadExchangeStreamCaptureMode_(&mode);
    *kernel = (tkj_kernel){0};
}

/* ---- launching ---- */

/** The attributes of a launch. @return how many */
static unsigned launch_attributes(const tkj_launch *launch, CUlaunchAttribute out[2])
{
    unsigned count = 0;
    if (launch->pdl)
        out[count++] = (CUlaunchAttribute){
            .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            .value.programmaticStreamSerializationAllowed = 1,
        };
    if (launch->cluster > 1)
        out[count++] = (CUlaunchAttribute){
            .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
            .value.clusterDim = {.x = launch->cluster, .y = 1, .z = 1},
        };
    return count;
}

/** What the driver is told of a launch; `attributes` are borrowed. */
static CUlaunchConfig config_of(const tkj_launch *launch, CUlaunchAttribute attributes[2],
                                CUstream stream)
{
    const unsigned count = launch_attributes(launch, attributes);
    return (CUlaunchConfig){
        .gridDimX = launch->grid,
        .gridDimY = 1,
        .gridDimZ = 1,
        .blockDimX = launch->threads,
        .blockDimY = 1,
        .blockDimZ = 1,
        .sharedMemBytes = launch->shared_bytes,
        .hStream = stream,
        .attrs = count > 0 ? attributes : NULL,
        .numAttrs = count,
    };
}

/** Clusters of `blocks` that the current context's device has room for. */
static topk_jit_status count_clusters(const struct tkj_driver *cuda, const tkj_launch *launch,
                                      int blocks, int *out)
{
    tkj_launch wanted = *launch;
    CUlaunchAttribute attributes[2];
    wanted.cluster = wanted.grid = (uint32_t)blocks;
    const CUlaunchConfig config = config_of(&wanted, attributes, NULL);
    *out = 0;
    CUresult result = cuda->cuOccupancyMaxActiveClusters_(out, launch->kernel, &config);
    if (result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_CLUSTER_SIZE)
        return TOPK_JIT_OK;
    return tkj_driver_call_failed(cuda, TOPK_JIT_DRIVER_FAILED, result,
                                  "cuOccupancyMaxActiveClusters");
}

/** Allows clusters of more than 8 blocks on the current context's device. A driver that does not
 *  support them has no room for them either: count_clusters says so. */
static topk_jit_status allow_large_clusters(const struct tkj_driver *cuda, CUkernel kernel)
{
    CUdevice device;
    CUresult result = cuda->cuCtxGetDevice_(&device);
    if (result != CUDA_SUCCESS)
        return tkj_driver_call_failed(cuda, TOPK_JIT_DRIVER_FAILED, result, "cuCtxGetDevice");
    result = cuda->cuKernelSetAttribute_(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1,
                                         kernel, device);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_SUPPORTED)
        return tkj_driver_call_failed(cuda, TOPK_JIT_DRIVER_FAILED, result,
                                      "cuKernelSetAttribute of large clusters");
    return TOPK_JIT_OK;
}

topk_jit_status tkj_driver_cluster_max(const tkj_launch *launch, int most, CUstream stream,
                                       int *out)
{
    const struct tkj_driver *cuda = tkj_driver_opened();
    CUstreamCaptureMode mode;
    topk_jit_status status = tkj_driver_relax(cuda, &mode);
    if (status != TOPK_JIT_OK)
        return status;
    status = tkj_driver_push_context(cuda, stream);
    if (status == TOPK_JIT_OK) {
        int clusters = 0;
        status = allow_large_clusters(cuda, launch->kernel);
        for (*out = most; status == TOPK_JIT_OK && *out > 1; *out /= 2) {
            status = count_clusters(cuda, launch, *out, &clusters);
            if (status != TOPK_JIT_OK || clusters > 0)
                break;
        }
        status = tkj_driver_pop_context(cuda, status);
    }
    return tkj_driver_restore(cuda, mode, status);
}

topk_jit_status tkj_driver_launch(const tkj_launch *launch, const void *params, CUstream stream)
{
    const struct tkj_driver *cuda = tkj_driver_opened();
    CUlaunchAttribute attributes[2];
    const CUlaunchConfig config = config_of(launch, attributes, stream);
    void *arguments[] = {(void *)params};
    CUresult result = cuda->cuLaunchKernelEx_(&config, launch->kernel, arguments, NULL);
    if (result != CUDA_SUCCESS)
        return tkj_driver_call_failed(cuda, TOPK_JIT_LAUNCH_FAILED, result, "cuLaunchKernelEx");
    return TOPK_JIT_OK;
}
