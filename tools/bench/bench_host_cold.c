/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_complain.h"
#include "bench_host.h"
#include "gpu.h"
#include "os.h"

#define ROUNDS 21

/** What a server of a sparse-attention model prepares. */
static const topk_jit_layout layouts[] = {TOPK_JIT_LAYOUT_PAGED, TOPK_JIT_LAYOUT_PAGED,
                                          TOPK_JIT_LAYOUT_RAGGED};
static const int64_t page_sizes[] = {64, 1, 0};
#define SPECS (sizeof page_sizes / sizeof page_sizes[0])

static void list_specs(topk_jit_spec specs[SPECS])
{
    for (size_t i = 0; i < SPECS; i++) {
        specs[i] = (topk_jit_spec)TOPK_JIT_SPEC_INIT;
        specs[i].layout = layouts[i];
        specs[i].page_size = page_sizes[i];
    }
}

/** A context with its first specs ready. @return nanoseconds; kernels: how many it loaded */
static double start(const topk_jit_spec *specs, size_t count, CUstream stream, uint64_t *kernels)
{
    topk_jit_context *context;
    topk_jit_statistics statistics = TOPK_JIT_STATISTICS_INIT;
    const uint64_t began = tkj_os_now_ns();
    bench_require(topk_jit_context_create(&context, NULL) == TOPK_JIT_OK &&
                      topk_jit_prepare(context, specs, count, stream) == TOPK_JIT_OK,
                  "the specs cannot be prepared");
    const double spent = (double)(tkj_os_now_ns() - began);
    topk_jit_get_statistics(context, &statistics);
    *kernels = statistics.user_hits + statistics.read_only_hits + statistics.pack_hits;
    topk_jit_context_destroy(context);
    return spent;
}

static void time_starts(bench_costs *costs, const topk_jit_spec *specs, size_t count,
                        CUstream stream, const char *const names[2], const char *const texts[2])
{
    double ns[ROUNDS];
    uint64_t kernels = 0;
    start(specs, count, stream, &kernels); /* fills the cache, if it was not */
    for (size_t i = 0; i < ROUNDS; i++)
        ns[i] = start(specs, count, stream, &kernels);
    bench_costs_add(costs, names[0], texts[0], "ms", ns, ROUNDS, 1e-6);
    bench_costs_add_number(costs, names[1], texts[1], "count", (double)kernels);
}

void bench_host_cold(CUstream stream, bench_costs *costs)
{
    static const char *const one[] = {"start.spec", "start.spec.kernels"};
    static const char *const all[] = {"start.model", "start.model.kernels"};
    static const char *const one_texts[] = {"from creating a context to one spec ready, cache warm",
                                            "  kernels, read and loaded"};
    static const char *const all_texts[] = {
        "the same with a model's three specs (pages of 64, of 1, ragged)",
        "  kernels, read and loaded"};
    topk_jit_spec specs[SPECS];
    list_specs(specs);
    time_starts(costs, specs, 1, stream, one, one_texts);
    time_starts(costs, specs, SPECS, stream, all, all_texts);
}
