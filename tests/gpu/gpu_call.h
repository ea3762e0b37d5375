/* SPDX-License-Identifier: Apache-2.0 */
/** @file gpu_call.h @brief A call of call.h on the GPU, and what every GPU test shares. */
#ifndef TKJ_GPU_CALL_H
#define TKJ_GPU_CALL_H

#include "call.h"
#include "gpu.h"
#include "judge.h"
#include "testing.h"

/** The context of the tests and the stream that they use. */
extern topk_jit_context *tkj_gpu_context;
extern CUstream tkj_gpu_stream;

/** The copy of a call's tensors in device memory. */
typedef struct tkj_gpu_call {
    tkj_call *call;
    topk_jit_select_args args; /* with the device's tensors */
    DLTensor tensors[TKJ_CALL_TENSORS];
    void *blocks[TKJ_CALL_TENSORS];
} tkj_gpu_call;

/** Makes the copy and uploads everything, poisoned outputs too. */
void tkj_gpu_call_create(tkj_gpu_call *gpu_call, tkj_call *call);
void tkj_gpu_call_destroy(tkj_gpu_call *gpu_call);

/** Uploads the inputs again, and the outputs as the host has them. */
void tkj_gpu_call_upload(tkj_gpu_call *gpu_call);

/** Waits for the stream and copies the outputs back into the call. */
void tkj_gpu_call_download(tkj_gpu_call *gpu_call);

/** Poisons, uploads, calls, downloads and judges; fails the test with `name` at any fault. */
void tkj_gpu_call_run(tkj_call *call, const char *name);

/** Runs tests on the first GPU; without one prints "N tests" and returns 77. */
int tkj_gpu_main(const char *group, const struct CMUnitTest *tests, size_t count);

#define TKJ_GPU_MAIN(group, tests) tkj_gpu_main(group, tests, sizeof(tests) / sizeof((tests)[0]))

#endif /* TKJ_GPU_CALL_H */
