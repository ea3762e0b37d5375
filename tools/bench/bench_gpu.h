/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file bench_gpu.h
 * @brief The GPU that is measured on, and the kernels that the library is compared with.
 *
 * As with gpu.h, a driver call that fails ends the program.
 */
#ifndef TKJ_BENCH_GPU_H
#define TKJ_BENCH_GPU_H

#include <stdbool.h>
#include <topk_jit/topk_jit.h>

#include "bench_params.h"
#include "device.h"
#include "driver.h"
#include "source.h"

/** Kernels of bench_kernels.cu. READ_N has N loads a thread in flight. */
typedef enum bench_kernel {
    BENCH_READ_1,
    BENCH_READ_2,
    BENCH_READ_4,
    BENCH_READ_8,
    BENCH_WRITE,
    BENCH_EMPTY,
    BENCH_HOLD,
    BENCH_KERNEL_COUNT,
} bench_kernel;

/** The first GPU. */
typedef struct bench_gpu {
    topk_jit_context *context;
    CUstream stream; /* everything that is measured runs here */
    CUstream side;   /* what holds an SM runs here */
    tkj_device_facts facts;
    char name[128];
    int driver_version; /* of CUDA, as in 13000 */
    tkj_kernel kernels[BENCH_KERNEL_COUNT];
    unsigned *words; /* device: sink of reads, started, stop */
} bench_gpu;

/** Opens it and compiles the kernels. @return false if there is no GPU */
bool bench_gpu_open(bench_gpu *gpu);
void bench_gpu_close(bench_gpu *gpu);

/** Facts of the first GPU alone, without a context. @return false if there is none */
bool bench_gpu_facts(tkj_device_facts *facts);

/** Enqueues one of the kernels. */
void bench_gpu_launch(const bench_gpu *gpu, bench_kernel kernel, uint32_t grid, uint32_t threads,
                      const void *params, CUstream stream);

/** Puts a kernel on one SM that leaves no room for another there, until bench_gpu_release. Nothing
 *  may be allocated or freed meanwhile: that would wait for it. */
void bench_gpu_hold(const bench_gpu *gpu);
void bench_gpu_release(const bench_gpu *gpu);

/** bench_kernels.cu and what it includes. */
extern const tkj_source bench_sources[];
extern const size_t bench_source_count;

#endif /* TKJ_BENCH_GPU_H */
