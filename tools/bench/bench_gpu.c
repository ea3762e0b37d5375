/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_gpu.h"

#include "bench_complain.h"
#include "context.h"
#include "gpu.h"
#include "memory.h"
#include "nvrtc.h"
#include "target.h"

/* About half a minute: longer than any measurement, so that a benchmark that dies does not leave
   the GPU busy for good. */
#define HOLD_CYCLES 60000000000LL
#define HOLD_THREADS 1024

/* Places in bench_gpu.words, each a sector of its own. */
enum { SINK = 0, STARTED = 16, STOP = 32, WORDS = 48 };

static const char *const kernel_names[BENCH_KERNEL_COUNT] = {
    [BENCH_READ_1] = "bench_read_1", [BENCH_READ_2] = "bench_read_2",
    [BENCH_READ_4] = "bench_read_4", [BENCH_READ_8] = "bench_read_8",
    [BENCH_WRITE] = "bench_write",   [BENCH_EMPTY] = "bench_empty",
    [BENCH_HOLD] = "bench_hold",
};

/** The best target of the GPU that this NVRTC knows. */
static tkj_target choose_target(const tkj_nvrtc *nvrtc, const tkj_device_facts *facts)
{
    tkj_target order[TKJ_TARGET_ORDER_MAX];
    const size_t count = tkj_target_order(facts->compute_major, facts->compute_minor, order);
    for (size_t i = 0; i < count; i++)
        if (tkj_nvrtc_knows(nvrtc, order[i].architecture))
            return order[i];
    bench_require(false, "NVRTC knows no target of this GPU");
    return (tkj_target){0};
}

static tkj_compile_result compile(const bench_gpu *gpu)
{
    const tkj_nvrtc *nvrtc = NULL;
    tkj_compile_result result = {0};
    bench_require(tkj_context_nvrtc(gpu->context, &nvrtc) == TOPK_JIT_OK, "no compiler");
    const tkj_target target = choose_target(nvrtc, &gpu->facts);
    const tkj_compile_job job = {
        .main = bench_sources[0], /* the rest is what it includes */
        .includes = bench_sources + 1,
        .include_count = bench_source_count - 1,
        .architecture = target.architecture,
        .ptx = target.ptx,
    };
    bench_require(tkj_nvrtc_compile(nvrtc, &job, kernel_names[0], &result) == TOPK_JIT_OK,
                  "the benchmark's own kernels do not compile");
    return result;
}

/** Compiles once, loads each kernel. */
static void load_kernels(bench_gpu *gpu)
{
    tkj_compile_result compiled = compile(gpu);
    for (int k = 0; k < BENCH_KERNEL_COUNT; k++) {
        const uint32_t shared = k == BENCH_HOLD ? (uint32_t)gpu->facts.shared_per_block : 0;
        bench_require(tkj_driver_load(compiled.payload.bytes, kernel_names[k], shared,
                                      gpu->facts.ordinal, gpu->stream,
                                      &gpu->kernels[k]) == TOPK_JIT_OK,
                      kernel_names[k]);
    }
    tkj_free(&gpu->context->config.allocator, compiled.payload.bytes);
}

bool bench_gpu_facts(tkj_device_facts *facts)
{
    int version = 0;
    return tkj_driver_open(&version) == TOPK_JIT_OK &&
           tkj_driver_device_facts(0, facts) == TOPK_JIT_OK;
}

bool bench_gpu_open(bench_gpu *gpu)
{
    *gpu = (bench_gpu){0};
    if (!bench_gpu_facts(&gpu->facts) || !tkj_gpu_open(0))
        return false;
    tkj_gpu_describe(0, gpu->name, &gpu->driver_version);
    gpu->stream = tkj_gpu_stream_create();
    gpu->side = tkj_gpu_stream_create();
    bench_require(topk_jit_context_create(&gpu->context, NULL) == TOPK_JIT_OK, "no context");
    gpu->words = tkj_gpu_allocate(WORDS * sizeof *gpu->words);
    load_kernels(gpu);
    return true;
}

void bench_gpu_close(bench_gpu *gpu)
{
    for (int k = 0; k < BENCH_KERNEL_COUNT; k++)
        tkj_driver_unload(&gpu->kernels[k]);
    tkj_gpu_free(gpu->words);
    topk_jit_context_destroy(gpu->context);
    tkj_gpu_stream_destroy(gpu->side);
    tkj_gpu_stream_destroy(gpu->stream);
}

void bench_gpu_launch(const bench_gpu *gpu, bench_kernel kernel, uint32_t grid, uint32_t threads,
                      const void *params, CUstream stream)
{
    const bool hold = kernel == BENCH_HOLD;
    const tkj_launch launch = {
        .kernel = gpu->kernels[kernel].kernel,
        .grid = grid,
        .threads = threads,
        .shared_bytes = hold ? (uint32_t)gpu->facts.shared_per_block : 0,
    };
    bench_require(tkj_driver_launch(&launch, params, stream) == TOPK_JIT_OK, kernel_names[kernel]);
}

void bench_gpu_hold(const bench_gpu *gpu)
{
    const unsigned zeros[WORDS] = {0};
    unsigned started = 0;
    tkj_gpu_upload(gpu->words, zeros, sizeof zeros);
    const bench_hold_params params = {gpu->words + STARTED, gpu->words + STOP, HOLD_CYCLES};
    bench_gpu_launch(gpu, BENCH_HOLD, 1, HOLD_THREADS, &params, gpu->side);
    while (started == 0)
        tkj_gpu_download(&started, gpu->words + STARTED, sizeof started);
}

void bench_gpu_release(const bench_gpu *gpu)
{
    const unsigned one = 1;
    tkj_gpu_upload(gpu->words + STOP, &one, sizeof one);
    tkj_gpu_synchronize(gpu->side);
}
