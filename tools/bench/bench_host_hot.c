/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "bench_complain.h"
#include "bench_host.h"
#include "context.h"
#include "gpu.h"
#include "os.h"
#include "problem.h"
#include "spec.h"
#include "variant_choice.h"

#define ROWS 4
#define WIDTH 1024 /* rows that are all taken: the shortest kernel, so that the GPU keeps up */
#define TOPK 2048
#define PAGE_SIZE 64
#define CALLS 50 /* between two waits for the GPU */
#define ROUNDS 401

/** A tensor and its shape. */
typedef struct host_tensor {
    DLTensor tensor;
    int64_t shape[2];
} host_tensor;

/** One call of each kind. */
typedef struct host_calls {
    topk_jit_context *context;
    CUstream stream;
    host_tensor score, lengths, table, offsets, indices, long_indices, values;
    topk_jit_select_args args;  /* paged, with everything that a server gives */
    tkj_select_problem problem; /* the same, checked */
    const tkj_prepared *prepared;
    tkj_launch bare;
} host_calls;

static void describe(CUstream stream, host_tensor *out, int64_t rows, int64_t columns,
                     DLDataType dtype)
{
    const size_t bytes = (size_t)(rows * (columns > 0 ? columns : 1)) * dtype.bits / 8;
    void *data = tkj_gpu_allocate(bytes);
    tkj_gpu_fill(stream, data, 0, bytes);
    out->shape[0] = rows;
    out->shape[1] = columns;
    out->tensor = (DLTensor){data, {kDLCUDA, 0}, columns > 0 ? 2 : 1, dtype, out->shape, NULL, 0};
}

static void create(host_calls *it, topk_jit_context *context, CUstream stream)
{
    static const DLDataType float32 = {kDLFloat, 32, 1}, int32 = {kDLInt, 32, 1},
                            int64 = {kDLInt, 64, 1};
    *it = (host_calls){.context = context, .stream = stream};
    describe(stream, &it->score, ROWS, WIDTH, float32);
    describe(stream, &it->lengths, ROWS, 0, int32);
    describe(stream, &it->table, ROWS, WIDTH / PAGE_SIZE, int32);
    describe(stream, &it->offsets, ROWS, 0, int32);
    describe(stream, &it->indices, ROWS, TOPK, int32);
    describe(stream, &it->long_indices, ROWS, WIDTH, int64);
    describe(stream, &it->values, ROWS, WIDTH, float32);
    it->args = (topk_jit_select_args)TOPK_JIT_SELECT_ARGS_INIT;
    it->args.score = &it->score.tensor;
    it->args.lengths = &it->lengths.tensor;
    it->args.layout = TOPK_JIT_LAYOUT_PAGED;
    it->args.page_table = &it->table.tensor;
    it->args.page_size = PAGE_SIZE;
    it->args.topk = TOPK;
    it->args.indices = &it->indices.tensor;
}

static void destroy(host_calls *it)
{
    const host_tensor *all[] = {&it->score,   &it->lengths,      &it->table, &it->offsets,
                                &it->indices, &it->long_indices, &it->values};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        tkj_gpu_free(all[i]->tensor.data);
}

/* ---- the calls ---- */

static topk_jit_status launch_bare(const host_calls *it)
{
    return tkj_driver_launch(&it->bare, &it->problem.params, it->stream);
}

static topk_jit_status call_select(const host_calls *it)
{
    return topk_jit_select(it->context, &it->args, it->stream);
}

static topk_jit_status call_plain(const host_calls *it)
{
    return topk_jit_fast_topk_v2(it->context, &it->score.tensor, &it->lengths.tensor, TOPK, NULL,
                                 &it->indices.tensor, it->stream);
}

static topk_jit_status call_paged(const host_calls *it)
{
    return topk_jit_fast_topk_transform_fused(it->context, &it->score.tensor, &it->lengths.tensor,
                                              &it->table.tensor, PAGE_SIZE, NULL, TOPK, NULL,
                                              &it->indices.tensor, it->stream);
}

static topk_jit_status call_ragged(const host_calls *it)
{
    return topk_jit_fast_topk_transform_ragged_fused(it->context, &it->score.tensor,
                                                     &it->lengths.tensor, &it->offsets.tensor, TOPK,
                                                     NULL, &it->indices.tensor, it->stream);
}

static topk_jit_status call_fast_topk(const host_calls *it)
{
    return topk_jit_fast_topk(it->context, &it->score.tensor, WIDTH, 1, &it->values.tensor,
                              &it->long_indices.tensor, it->stream);
}

static const struct {
    const char *name;
    const char *text;
    topk_jit_status (*call)(const host_calls *it);
} kinds[] = {
    {"launch", "the bare launch: cuLaunchKernelEx and nothing else", launch_bare},
    {"select", "topk_jit_select, paged", call_select},
    {"fast_topk_v2", "topk_jit_fast_topk_v2", call_plain},
    {"transform_fused", "topk_jit_fast_topk_transform_fused", call_paged},
    {"transform_ragged_fused", "topk_jit_fast_topk_transform_ragged_fused", call_ragged},
    {"fast_topk", "topk_jit_fast_topk, k = 1024", call_fast_topk},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

/** What topk_jit_select hands to the driver. */
static void find_bare_launch(host_calls *it)
{
    bench_require(tkj_problem_select(&it->args, &it->problem) == TOPK_JIT_OK, "not a legal call");
    it->prepared = tkj_kernel_map_find(&it->context->kernels, &it->problem.spec, 0);
    const tkj_prepared *prepared = it->prepared;
    if (prepared == NULL) {
        bench_require(false, "a call that was made is not prepared");
        return;
    }
    const tkj_call_shape *shape = &it->problem.shape;
    size_t v = tkj_variants_choose(&it->problem.spec, prepared->variants, prepared->count, shape,
                                   &prepared->facts);
    it->bare = (tkj_launch){
        .kernel = prepared->kernels[v].kernel,
        .grid = tkj_variants_grid(shape, 1, 1),
        .threads = prepared->variants[v].threads,
        .shared_bytes = prepared->variants[v].shared_bytes,
    };
}

/** Nanoseconds a call, while the GPU keeps up. */
static double time_calls(const host_calls *it, size_t kind)
{
    topk_jit_status status = TOPK_JIT_OK;
    tkj_gpu_synchronize(it->stream);
    const uint64_t began = tkj_os_now_ns();
    for (size_t i = 0; i < CALLS; i++)
        status |= kinds[kind].call(it);
    const double spent = (double)(tkj_os_now_ns() - began);
    bench_require(status == TOPK_JIT_OK, "a call failed");
    return spent / CALLS;
}

/** Kinds take turns, so that what disturbs the machine disturbs them alike. */
static void time_all(const host_calls *it, bench_costs *costs)
{
    static double ns[KINDS][ROUNDS], more[KINDS][ROUNDS];
    for (size_t round = 0; round < ROUNDS; round++)
        for (size_t kind = 0; kind < KINDS; kind++) {
            ns[kind][round] = time_calls(it, kind);
            more[kind][round] = ns[kind][round] - ns[0][round];
        }
    for (size_t kind = 0; kind < KINDS; kind++)
        bench_costs_add(costs, kinds[kind].name, kinds[kind].text, "ns", ns[kind], ROUNDS, 1);
    for (size_t kind = 1; kind < KINDS; kind++) {
        static char names[KINDS][64], texts[KINDS][64];
        snprintf(names[kind], sizeof names[kind], "%s.over_launch", kinds[kind].name);
        snprintf(texts[kind], sizeof texts[kind], "  %s over the bare launch", kinds[kind].name);
        bench_costs_add(costs, names[kind], texts[kind], "ns", more[kind], ROUNDS, 1);
    }
}

void bench_host_hot(topk_jit_context *context, CUstream stream, bench_costs *costs)
{
    host_calls it;
    create(&it, context, stream);
    for (size_t kind = 1; kind < KINDS; kind++)
        bench_require(kinds[kind].call(&it) == TOPK_JIT_OK, "a call cannot be made");
    find_bare_launch(&it);
    time_all(&it, costs);
    tkj_gpu_synchronize(stream);
    destroy(&it);
}
