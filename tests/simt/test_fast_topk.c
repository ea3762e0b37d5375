/* SPDX-License-Identifier: Apache-2.0 */
/* fast_topk through every listed kernel: judged, and byte for byte the host engine's. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "guarded.h"
#include "host.h"
#include "judge.h"
#include "memory.h"
#include "ordered_key.h"
#include "run_call.h"
#include "scores.h"
#include "testing.h"

enum { DIMS = 3 };

/** A tensor inside guarded memory: `order` lists its dimensions from the innermost; elements are
 *  gap + 1 apart; a dimension of `backwards` runs down. */
typedef struct tensor {
    tkj_guarded memory;
    int64_t strides[DIMS];
    int64_t base;
} tensor;

static void lay_out(tensor *t, const int64_t *shape, const int *order, int64_t gap,
                    unsigned backwards, size_t element_size)
{
    int64_t pitch = gap + 1;
    int64_t elements = 1;
    t->base = 0;
    for (int i = 0; i < DIMS; i++) {
        int d = order[i];
        bool down = (backwards >> d & 1) != 0;
        t->strides[d] = down ? -pitch : pitch;
        t->base += down ? pitch * (shape[d] - 1) : 0;
        pitch *= shape[d];
        elements *= shape[d];
    }
    assert_true(tkj_guarded_create(&t->memory, elements, 1, gap + 1, element_size, 1));
}

static char *base_of(const tensor *t)
{
    return (char *)tkj_guarded_data(&t->memory) + t->base * (int64_t)t->memory.element_size;
}

/** One fast_topk. */
typedef struct fast_case {
    topk_jit_spec spec;
    tkj_fast_topk_params params;
    tensor in, values, indices;
} fast_case;

/* Few values and special ones, or any bits. */
static void fill(fast_case *c, uint64_t seed)
{
    uint64_t state = seed;
    size_t size = tkj_dtype_size(c->spec.dtype);
    char *data = tkj_guarded_data(&c->in.memory);
    for (int64_t i = 0; i < c->in.memory.rows; i++) {
        uint64_t bits = tkj_scores_random(&state);
        if (seed % 3 == 0)
            bits = bits % 5 * UINT64_C(0x3c003f8000403c00);
        else if (seed % 3 == 1)
            bits = bits % 8 == 0   ? ~UINT64_C(0)
                   : bits % 8 == 1 ? UINT64_C(1) << (8 * size - 1)
                                   : bits;
        memcpy(data + (size_t)(i * c->in.memory.stride) * size, &bits, size);
    }
}

static void open_case(fast_case *c, const topk_jit_spec *spec, const int64_t *shape, int searched,
                      uint64_t seed)
{
    static const int orders[3][DIMS] = {{2, 1, 0}, {0, 1, 2}, {1, 0, 2}};
    int64_t out_shape[DIMS] = {shape[0], shape[1], shape[2]};
    size_t size = tkj_dtype_size(spec->dtype);
    out_shape[searched] = spec->topk;
    *c = (fast_case){.spec = *spec};
    lay_out(&c->in, shape, orders[seed % 3], (int64_t)(seed % 2), seed >> 1 & 7, size);
    lay_out(&c->values, out_shape, orders[(seed + 1) % 3], (int64_t)(seed % 3), seed >> 2 & 7,
            size);
    lay_out(&c->indices, out_shape, orders[(seed + 2) % 3], (int64_t)(seed / 2 % 2), seed >> 3 & 7,
            8);
    c->params = (tkj_fast_topk_params){.in = base_of(&c->in),
                                       .values = base_of(&c->values),
                                       .indices = (int64_t *)(void *)base_of(&c->indices),
                                       .rows = 1,
                                       .size = shape[searched],
                                       .in_stride = c->in.strides[searched],
                                       .values_stride = c->values.strides[searched],
                                       .indices_stride = c->indices.strides[searched]};
    for (int d = 0; d < DIMS; d++) {
        if (d == searched)
            continue;
        c->params.rows *= shape[d];
        c->params.outer[c->params.outer_dims++] = (tkj_outer_dim){
            shape[d], c->in.strides[d], c->values.strides[d], c->indices.strides[d]};
    }
    fill(c, seed);
}

static void close_case(fast_case *c)
{
    tkj_guarded_destroy(&c->in.memory);
    tkj_guarded_destroy(&c->values.memory);
    tkj_guarded_destroy(&c->indices.memory);
}

static tkj_simt_region region_of(const char *name, const tkj_guarded *memory, bool output)
{
    int64_t size = (int64_t)memory->element_size;
    return (tkj_simt_region){
        .name = name,
        .data = tkj_guarded_data(memory),
        .rows = memory->rows,
        .row_bytes = size,
        .pitch_bytes = memory->stride * size,
        .writable = output,
        .written = !output,
        .block = memory->block,
        .block_size = memory->block_size,
    };
}

static bool launch(const tkj_simt_listed *listed, fast_case *c, uint64_t seed, char *message)
{
    const tkj_simt_region regions[] = {region_of("values", &c->in.memory, false),
                                       region_of("out_values", &c->values.memory, true),
                                       region_of("out_indices", &c->indices.memory, true)};
    const tkj_call_shape shape = {
        .rows = c->params.rows, .width = c->params.size, .max_sms = (int32_t)(seed / 3 % 3)};
    return tkj_simt_run_shape(listed, &c->spec, &shape, &c->params, regions, 3, seed, message) &&
           tkj_judge_fast_topk(&c->spec, &c->params, message) &&
           tkj_guarded_verify(&c->values.memory, message, TKJ_JUDGE_MESSAGE_SIZE) &&
           tkj_guarded_verify(&c->indices.memory, message, TKJ_JUDGE_MESSAGE_SIZE);
}

static bool same(const tensor *a, const tensor *b)
{
    return memcmp(a->memory.block, b->memory.block, a->memory.block_size) == 0;
}

static void run(const tkj_simt_listed *listed, const int64_t *shape, int searched, uint64_t seed)
{
    const topk_jit_spec spec = tkj_simt_spec(listed);
    char message[TKJ_SIMT_MESSAGE_SIZE] = "";
    fast_case c;
    fast_case host;
    open_case(&c, &spec, shape, searched, seed);
    open_case(&host, &spec, shape, searched, seed);
    bool right = launch(listed, &c, seed, message);
    assert_int_equal(tkj_host_fast_topk(&tkj_default_allocator, &spec, &host.params), TOPK_JIT_OK);
    if (right && !(same(&c.values, &host.values) && same(&c.indices, &host.indices)))
        snprintf(message, sizeof message, "the bytes differ from the host engine's");
    if (message[0] != '\0')
        fail_msg("%s, (%" PRId64 ", %" PRId64 ", %" PRId64 ") along %d, seed %" PRIu64 ": %s",
                 listed->spec, shape[0], shape[1], shape[2], searched, seed, message);
    close_case(&c);
    close_case(&host);
}

static void every_size_along_every_dimension(void **state)
{
    (void)state;
    for (size_t i = 0; i < tkj_simt_kernel_count; i++) {
        const topk_jit_spec spec = tkj_simt_spec(&tkj_simt_kernels[i]);
        const int64_t sizes[] = {spec.topk, spec.topk + 1, spec.topk + 40, spec.topk + 5000};
        if (spec.operation != TOPK_JIT_OPERATION_FAST_TOPK)
            continue;
        for (uint64_t n = 0; n<12; n += spec.topk> 1000 ? 4 : 1) {
            int64_t shape[DIMS] = {3, 1, 2};
            int searched = (int)(n % DIMS);
            shape[(searched + 1) % DIMS] = spec.topk > 1000 ? 1 : 1 + (int64_t)(n % 3);
            shape[searched] = sizes[n / 3];
            run(&tkj_simt_kernels[i], shape, searched, n + 100 * i);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_size_along_every_dimension)};
    return cmocka_run_group_tests_name("simt_fast_topk", tests, NULL, NULL);
}
