/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fake_cuda.h
 * @brief A CUDA driver for tests: a libcuda.so.1 that launches nothing and remembers everything.
 *
 * Two devices of different architecture (0: sm_80, 1: sm_90), contexts and streams as handles, one
 * capture mode a thread, calls counted, failures on request. Built into a directory of its own and
 * found only by a test whose LD_LIBRARY_PATH names it (tkj_use_fake_cuda in CMake). Thread-safe.
 *
 * Images are text, as fake_nvrtc makes them: "FAKECUBIN sm_90\n" or "FAKEPTX compute_90\n", then a
 * line "entry NAME\n" for each kernel (without one, every name is found), then whatever. A cubin
 * runs on its own major and the same or a higher minor, PTX on the same architecture or a higher.
 *
 * In a process that does not call reset, FAKE_CUDA_VERSION=12040 and FAKE_CUDA_CAPABILITY=86 are as
 * set_version and claim_capability; FAKE_CUDA_HIDDEN=1 shows no device, and yet cuInit succeeds.
 *
 * What a real driver refuses, this one refuses: calls before cuInit, unloaded libraries, launches
 * beyond the shared memory allowed, loading while a capture in global mode is under way on a thread
 * that is not in relaxed mode (which invalidates that capture), work on the legacy stream
 * meanwhile.
 */
#ifndef TKJ_FAKE_CUDA_H
#define TKJ_FAKE_CUDA_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define FAKE_CUDA_DEVICES 2
#define FAKE_CUDA_PARAMS_MAX 1024
#define FAKE_CUDA_ATTRIBUTES_MAX 4

/** One launch, as cuLaunchKernelEx was called. */
typedef struct fake_cuda_launch {
    char kernel[128];
    int ordinal; /* device of the stream's context */
    void *stream;
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    unsigned attribute_count;
    int attribute_ids[FAKE_CUDA_ATTRIBUTES_MAX];
    bool pdl;      /* programmatic stream serialization was allowed */
    bool captured; /* into a graph, not launched */
    size_t params_size;
    unsigned char params[FAKE_CUDA_PARAMS_MAX]; /* of the kernel's first parameter */
} fake_cuda_launch;

/** The controls. Handles are the driver's: CUcontext, CUstream, CUkernel. */
typedef struct fake_cuda {
    /** Back to the beginning: version 13.0, two devices, nothing counted, nothing current in this
     *  thread. The driver stays initialised. Handles and libraries of before are gone. */
    void (*reset)(void);
    void (*set_version)(int version);      /* as cuDriverGetVersion: 12040 */
    void (*set_device_count)(int count);   /* 0 .. FAKE_CUDA_DEVICES; 0 fails cuInit */
    void (*set_params_size)(size_t bytes); /* how much of the parameter a launch copies */

    void (*set_cluster_room)(int blocks); /* of the largest cluster that there is room for: 8 */

    /** What devices say that they are; the code that runs on them stays the same. */
    void (*claim_capability)(int capability);       /* each of them; 86 = 8.6, 0 = the truth */
    void (*claim_sm_count)(int ordinal, int count); /* 0 = the truth */

    /** Each device is of this capability and runs its code: 100 = 10.0, 0 = as it was built. */
    void (*set_capability)(int capability);

    /** The function fails with the code at its nth call from now (1 = the next), that time only. */
    void (*inject)(const char *function, int code, int nth);
    void (*inject_any)(int code, int nth); /* as inject, counting the calls of all functions */
    const char *(*failed)(void);           /* the function that failed last on request; "" = none */
    void (*hide)(const char *function);    /* cuGetProcAddress does not know it */
    int (*calls)(const char *function);    /* since reset */
    int (*total_calls)(void);              /* of all functions */

    void *(*context_create)(int ordinal);
    void *(*stream_create)(void *context);
    void (*set_current)(void *context); /* bottom of this thread's context stack; NULL = none */
    void *(*current)(void);
    int (*stack_depth)(void); /* contexts pushed in this thread, set_current's not counted */

    /** Captures in global mode; the thread of end need not be that of begin. */
    void (*capture_begin)(void *stream);
    bool (*capture_end)(void *stream); /* false: it had been invalidated */
    int (*capture_mode)(void);         /* CUstreamCaptureMode of this thread; 0 = global */

    int (*live_libraries)(void);
    int (*shared_allowed)(void *kernel, int ordinal); /* by cuKernelSetAttribute; 0 = never set */
    int (*launches)(void);
    void (*last_launch)(fake_cuda_launch *out);
    void (*launch_before)(fake_cuda_launch *out); /* the last but one */
} fake_cuda;

/** The controls of the libcuda.so.1 that this process sees; NULL if it is not the fake. */
static inline const fake_cuda *fake_cuda_connect(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library == NULL ? NULL : dlsym(library, "fake_cuda_get");
    const fake_cuda *(*get)(void);
    memcpy(&get, &symbol, sizeof get);
    return symbol == NULL ? NULL : get();
}

#endif /* TKJ_FAKE_CUDA_H */
