/* SPDX-License-Identifier: Apache-2.0 */
/* The fake driver's functions for images, kernels and launches. */
#include "fake_cuda_state.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SHARED_WITHOUT_OPT_IN (48U * 1024)

/* ---- images ---- */

static bool can_run(bool ptx, int architecture, int ordinal)
{
    const struct fake_device *device = &fake_devices[ordinal];
    int own = fake.capability != 0 ? fake.capability : 10 * device->major + device->minor;
    return architecture <= own && (ptx || architecture / 10 == own / 10);
}

/** Reads the head of an image. @return the first line after it, or NULL if it is none */
static const char *read_image(const char *image, bool *ptx, int *architecture)
{
    int length = 0;
    *ptx = strncmp(image, "FAKEPTX", 7) == 0;
    if (!*ptx && strncmp(image, "FAKECUBIN", 9) != 0)
        return NULL;
    sscanf(image, *ptx ? "FAKEPTX compute_%d%n" : "FAKECUBIN sm_%d%n", architecture, &length);
    return length > 0 && image[length] == '\n' ? image + length + 1 : NULL;
}

/** What the current context's device says to an image. */
static CUresult check_image(const char *image, bool *ptx, int *architecture, const char **entries)
{
    *entries = read_image(image, ptx, architecture);
    if (*entries == NULL)
        return CUDA_ERROR_INVALID_IMAGE;
    if (fake_current() == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    return can_run(*ptx, *architecture, fake_current()->ordinal) ? CUDA_SUCCESS
                                                                 : CUDA_ERROR_NO_BINARY_FOR_GPU;
}

/** Copies the "entry NAME" lines, which may be followed by anything. */
static char *copy_entries(const char *lines)
{
    const char *end = lines;
    while (strncmp(end, "entry ", 6) == 0 && strchr(end, '\n') != NULL)
        end = strchr(end, '\n') + 1;
    return strndup(lines, (size_t)(end - lines));
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *options,
                                   void **values, unsigned option_count,
                                   CUlibraryOption *library_options, void **library_values,
                                   unsigned library_option_count)
{
    (void)options, (void)values, (void)option_count;
    (void)library_options, (void)library_values, (void)library_option_count;
    bool ptx;
    int architecture;
    const char *entries;
    CUresult result = fake_begin_unsafe("cuLibraryLoadData");
    if (result == CUDA_SUCCESS)
        result = check_image(code, &ptx, &architecture, &entries);
    if (result == CUDA_SUCCESS) {
        struct fake_library *made = calloc(1, sizeof *made);
        made->live = true;
        made->ptx = ptx;
        made->architecture = architecture;
        made->entries = copy_entries(entries);
        made->next = fake.libraries;
        fake.libraries = made;
        *library = (CUlibrary)made;
    } else {
        *library = (CUlibrary)(uintptr_t)8; /* nobody may use it */
    }
    return fake_end(result);
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary library)
{
    CUresult result = fake_begin_unsafe("cuLibraryUnload");
    struct fake_library *own = (struct fake_library *)library;
    if (result == CUDA_SUCCESS && !own->live)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        own->live = false;
    return fake_end(result);
}

static bool has_entry(const struct fake_library *library, const char *name)
{
    char line[160];
    snprintf(line, sizeof line, "entry %s\n", name);
    return library->entries[0] == '\0' || strstr(library->entries, line) != NULL;
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    CUresult result = fake_begin_ready("cuLibraryGetKernel");
    struct fake_library *own = (struct fake_library *)library;
    if (result == CUDA_SUCCESS && !own->live)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS && !has_entry(own, name))
        result = CUDA_ERROR_NOT_FOUND;
    if (result == CUDA_SUCCESS) {
        struct fake_kernel *made = calloc(1, sizeof *made);
        snprintf(made->name, sizeof made->name, "%s", name);
        made->library = own;
        made->next = own->kernels;
        own->kernels = made;
        *kernel = (CUkernel)made;
    }
    return fake_end(result);
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                                      CUdevice device)
{
    CUresult result = fake_begin_ready("cuKernelSetAttribute");
    struct fake_kernel *own = (struct fake_kernel *)kernel;
    if (result == CUDA_SUCCESS && !own->library->live)
        result = CUDA_ERROR_INVALID_HANDLE;
    const bool large = attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
    if (result == CUDA_SUCCESS && !large &&
        (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
         value > fake_devices[device].shared))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && large)
        own->large_clusters = value == 1;
    else if (result == CUDA_SUCCESS)
        own->shared[device] = value;
    return fake_end(result);
}

CUresult CUDAAPI cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    CUresult result = fake_begin_unsafe("cuKernelGetFunction");
    struct fake_kernel *own = (struct fake_kernel *)kernel;
    struct fake_context *context = fake_current();
    if (result == CUDA_SUCCESS && !own->library->live)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS && context == NULL)
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS &&
        !can_run(own->library->ptx, own->library->architecture, context->ordinal))
        result = CUDA_ERROR_NO_BINARY_FOR_GPU;
    if (result == CUDA_SUCCESS) {
        own->loaded |= 1ULL << context->index;
        *function = (CUfunction)kernel;
    }
    return fake_end(result);
}

/** Only asked why PTX was refused: a log in the first buffer option. */
CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned option_count,
                                    CUjit_option *options, void **values)
{
    bool ptx;
    int architecture;
    const char *entries;
    CUresult result = fake_begin_unsafe("cuModuleLoadDataEx");
    if (result == CUDA_SUCCESS)
        result = check_image(image, &ptx, &architecture, &entries);
    if (result == CUDA_SUCCESS)
        *module = (CUmodule)(uintptr_t)1;
    else if (option_count == 2 && options[0] == CU_JIT_ERROR_LOG_BUFFER)
        snprintf(values[0], (size_t)values[1], "ptxas fatal   : fake refuses this image\nmore");
    return fake_end(result);
}

CUresult CUDAAPI cuModuleUnload(CUmodule module)
{
    (void)module;
    return fake_end(fake_begin_unsafe("cuModuleUnload"));
}

/* ---- launches ---- */

static CUresult check_launch(const CUlaunchConfig *config, const struct fake_kernel *kernel)
{
    struct fake_context *context = fake_context_of(config->hStream);
    if (!kernel->library->live)
        return CUDA_ERROR_INVALID_HANDLE;
    if (context == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!can_run(kernel->library->ptx, kernel->library->architecture, context->ordinal))
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    int allowed = kernel->shared[context->ordinal];
    if (config->sharedMemBytes > (allowed > 0 ? (unsigned)allowed : SHARED_WITHOUT_OPT_IN) ||
        config->gridDimX == 0 || config->blockDimX == 0 || config->blockDimX > 1024)
        return CUDA_ERROR_INVALID_VALUE;
    struct fake_stream *capturing = fake_capturing_in(context);
    if (capturing == NULL)
        return CUDA_SUCCESS;
    bool loaded = (kernel->loaded >> context->index & 1) != 0;
    if (!fake_is_special(config->hStream) && loaded)
        return CUDA_SUCCESS;
    capturing->capture = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    return loaded ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

static void record_launch(const CUlaunchConfig *config, const struct fake_kernel *kernel,
                          void **arguments)
{
    fake_cuda_launch *last = &fake.last;
    fake.before = fake.last;
    *last = (fake_cuda_launch){
        .ordinal = fake_context_of(config->hStream)->ordinal,
        .stream = config->hStream,
        .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
        .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
        .shared_bytes = config->sharedMemBytes,
        .attribute_count = config->numAttrs,
        .captured =
            !fake_is_special(config->hStream) &&
            ((struct fake_stream *)config->hStream)->capture == CU_STREAM_CAPTURE_STATUS_ACTIVE,
        .params_size = fake.params_size,
    };
    snprintf(last->kernel, sizeof last->kernel, "%s", kernel->name);
    for (unsigned i = 0; i < config->numAttrs && i < FAKE_CUDA_ATTRIBUTES_MAX; i++) {
        const CUlaunchAttribute *attribute = &config->attrs[i];
        last->attribute_ids[i] = (int)attribute->id;
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            last->pdl = attribute->value.programmaticStreamSerializationAllowed != 0;
    }
    if (fake.params_size > 0)
        memcpy(last->params, arguments[0], fake.params_size);
}

CUresult CUDAAPI cuOccupancyMaxActiveClusters(int *clusters, CUfunction function,
                                              const CUlaunchConfig *config)
{
    CUresult result = fake_begin_ready("cuOccupancyMaxActiveClusters");
    const struct fake_kernel *kernel = (const struct fake_kernel *)function;
    const struct fake_context *context = fake_current();
    if (result == CUDA_SUCCESS && context == NULL)
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS && !kernel->library->live)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS && !fake_devices[context->ordinal].clusters)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && config->gridDimX > 8 && !kernel->large_clusters)
        result = CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (result == CUDA_SUCCESS)
        *clusters = config->gridDimX <= (unsigned)fake.cluster_room ? 1 : 0;
    return fake_end(result);
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                                  void **arguments, void **extra)
{
    CUresult result = fake_begin_ready("cuLaunchKernelEx");
    const struct fake_kernel *kernel = (const struct fake_kernel *)function;
    if (result == CUDA_SUCCESS && extra != NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = check_launch(config, kernel);
    if (result == CUDA_SUCCESS) {
        record_launch(config, kernel, arguments);
        fake.launches++;
    }
    return fake_end(result);
}
