/* SPDX-License-Identifier: Apache-2.0 */
/* fast_topk on the GPU: six dtypes, any dim, strides and k, judged. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_call.h"
#include "ordered_key.h"
#include "problem.h"
#include "scores.h"
#include "spec.h"

/** A 3-dimensional tensor of which the last dimension may be any in memory. */
typedef struct cube {
    int64_t shape[3];
    int64_t strides[3];
    size_t count; /* elements of its memory */
    size_t element;
    void *host;
    void *device;
    DLTensor tensor;
} cube;

/** Memory order: order[0] varies fastest. */
static void cube_create(cube *c, const int64_t shape[3], const int order[3], DLDataType dtype)
{
    memset(c, 0, sizeof *c);
    memcpy(c->shape, shape, sizeof c->shape);
    c->count = 1;
    for (int i = 0; i < 3; i++) {
        c->strides[order[i]] = (int64_t)c->count;
        c->count *= (size_t)shape[order[i]];
    }
    c->element = dtype.bits / 8;
    c->host = malloc(c->count * c->element);
    assert_non_null(c->host);
    memset(c->host, TKJ_GUARDED_POISON, c->count * c->element);
    c->device = tkj_gpu_allocate(c->count * c->element);
    c->tensor = (DLTensor){c->host, {kDLCPU, 0}, 3, dtype, c->shape, c->strides, 0};
}

static void cube_destroy(cube *c)
{
    free(c->host);
    tkj_gpu_free(c->device);
}

static DLTensor on_device(const cube *c)
{
    DLTensor tensor = c->tensor;
    tensor.device.device_type = kDLCUDA;
    tensor.data = c->device;
    return tensor;
}

static DLDataType dlpack_dtype(topk_jit_dtype dtype)
{
    static const DLDataType types[] = {{kDLFloat, 32, 1}, {kDLFloat, 16, 1}, {kDLBfloat, 16, 1},
                                       {kDLFloat, 64, 1}, {kDLInt, 32, 1},   {kDLInt, 64, 1}};
    return types[dtype];
}

/** Any bits, or few values, so that there are NaN and ties of every kind. */
static void fill(cube *c, topk_jit_dtype dtype, uint64_t seed, bool few)
{
    for (size_t i = 0; i < c->count; i++) {
        uint64_t bits = tkj_scores_random(&seed);
        if (few && (dtype == TOPK_JIT_INT32 || dtype == TOPK_JIT_INT64))
            bits = bits % 5;
        else if (few)
            bits &= UINT64_C(0xc000c000c000c000);
        memcpy((char *)c->host + i * c->element, &bits, c->element);
    }
}

static void run(topk_jit_dtype dtype, const int64_t shape[3], const int order[3], int dim,
                int64_t k, bool few)
{
    char message[TKJ_JUDGE_MESSAGE_SIZE], name[160];
    int64_t out_shape[3] = {shape[0], shape[1], shape[2]};
    out_shape[dim] = k;
    cube in, values, indices;
    cube_create(&in, shape, order, dlpack_dtype(dtype));
    cube_create(&values, out_shape, (const int[]){2, 1, 0}, dlpack_dtype(dtype));
    cube_create(&indices, out_shape, order, (DLDataType){kDLInt, 64, 1});
    fill(&in, dtype, (uint64_t)k + 17, few);
    tkj_gpu_upload(in.device, in.host, in.count * in.element);
    DLTensor d_in = on_device(&in), d_values = on_device(&values), d_indices = on_device(&indices);
    snprintf(name, sizeof name, "%s (%" PRId64 ", %" PRId64 ", %" PRId64 "), dim %d, k %" PRId64,
             tkj_dtype_name(dtype), shape[0], shape[1], shape[2], dim, k);
    if (topk_jit_fast_topk(tkj_gpu_context, &d_in, k, dim, &d_values, &d_indices, tkj_gpu_stream) !=
        TOPK_JIT_OK)
        fail_msg("%s: %s", name, topk_jit_last_error()->message);
    tkj_gpu_synchronize(tkj_gpu_stream);
    tkj_gpu_download(values.host, values.device, values.count * values.element);
    tkj_gpu_download(indices.host, indices.device, indices.count * indices.element);

    tkj_fast_topk_problem problem;
    assert_int_equal(
        tkj_problem_fast_topk(&in.tensor, k, dim, &values.tensor, &indices.tensor, &problem),
        TOPK_JIT_OK);
    if (!tkj_judge_fast_topk(&problem.spec, &problem.params, message))
        fail_msg("%s: %s", name, message);
    cube_destroy(&in);
    cube_destroy(&values);
    cube_destroy(&indices);
}

static void every_dtype_along_every_dim(void **state)
{
    static const int orders[][3] = {{2, 1, 0}, {0, 1, 2}, {1, 2, 0}};
    static const int64_t ks[] = {1, 2, 10, 300};
    const int64_t shape[3] = {305, 300, 310};
    (void)state;
    for (int dtype = TOPK_JIT_FLOAT32; dtype <= TOPK_JIT_INT64; dtype++)
        for (int dim = 0; dim < 3; dim++)
            for (size_t i = 0; i < 4; i++) {
                int64_t small[3] = {7, 5, 3};
                small[dim] = shape[dim];
                run((topk_jit_dtype)dtype, small, orders[(i + (size_t)dim) % 3], dim, ks[i],
                    i % 2 == 0);
            }
}

static void every_k_up_to_the_size(void **state)
{
    static const struct {
        int64_t size;
        int64_t k;
    } cases[] = {{1, 1},         {2, 2},           {100, 100},        {32000, 50},
                 {32000, 2048},  {32000, 4096},    {129280, 8},       {129280, 5000},
                 {70000, 70000}, {129280, 100000}, {1 << 20, 1 << 10}};
    static const int order[3] = {2, 1, 0};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        run(TOPK_JIT_FLOAT32, (const int64_t[3]){1, 3, cases[i].size}, order, 2, cases[i].k,
            i % 2 == 0);
}

/** With an argument only the small cases, which suit compute-sanitizer. */
int main(int argc, char **argv)
{
    (void)argv;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dtype_along_every_dim),
        cmocka_unit_test(every_k_up_to_the_size),
    };
    return tkj_gpu_main("gpu_fast_topk", tests, argc > 1 ? 1 : 2);
}
