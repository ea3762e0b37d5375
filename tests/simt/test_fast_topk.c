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
#include "problem.h"
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
    tkj_fast_topk_problem problem;
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

/** The tensor for the library. */
static DLTensor describe(tensor *t, int64_t *shape, topk_jit_dtype dtype)
{
    return (DLTensor){
        .data = base_of(t),
        .device = {kDLCPU, 0},
        .ndim = DIMS,
        .dtype = tkj_dlpack_dtype(dtype),
        .shape = shape,
        .strides = t->strides,
    };
}

/** How the tensors of a case lie. */
typedef enum placing {
    ANY_WAY, /* as the seed says */
    AS_ROWS, /* lines of the last dimension one after the other */
} placing;

static void open_case(fast_case *c, const topk_jit_spec *spec, int64_t *shape, int searched,
                      placing how, uint64_t seed)
{
    static const int orders[3][DIMS] = {{2, 1, 0}, {0, 1, 2}, {1, 0, 2}};
    int64_t out_shape[DIMS] = {shape[0], shape[1], shape[2]};
    size_t size = tkj_dtype_size(spec->dtype);
    uint64_t way = how == AS_ROWS ? 0 : seed;
    uint64_t other = how == AS_ROWS ? 0 : 1;
    out_shape[searched] = spec->topk;
    *c = (fast_case){.spec = *spec};
    lay_out(&c->in, shape, orders[way % 3], (int64_t)(way % 2), way >> 1 & 7, size);
    lay_out(&c->values, out_shape, orders[(way + other) % 3], (int64_t)(way % 3), way >> 2 & 7,
            size);
    lay_out(&c->indices, out_shape, orders[(way + 2 * other) % 3], (int64_t)(way / 2 % 2),
            way >> 3 & 7, 8);
    fill(c, seed);
    const DLTensor in = describe(&c->in, shape, spec->dtype);
    const DLTensor values = describe(&c->values, out_shape, spec->dtype);
    const DLTensor indices = describe(&c->indices, out_shape, TOPK_JIT_INT64);
    assert_int_equal(
        tkj_problem_fast_topk(&in, spec->topk, searched, &values, &indices, &c->problem),
        TOPK_JIT_OK);
    c->problem.shape.max_sms = (int32_t)(seed / 3 % 3);
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
    const tkj_fast_topk_problem *problem = &c->problem;
    bool right = tkj_simt_takes_lines(listed)
                     ? tkj_simt_run_lines(listed, &c->spec, &problem->shape, &problem->params,
                                          regions, 3, seed, message)
                     : tkj_simt_run_selection(listed, &c->spec, &problem->shape,
                                              &problem->selection, regions, 3, seed, message);
    return right && tkj_judge_fast_topk(&c->spec, &problem->params, message) &&
           tkj_guarded_verify(&c->values.memory, message, TKJ_JUDGE_MESSAGE_SIZE) &&
           tkj_guarded_verify(&c->indices.memory, message, TKJ_JUDGE_MESSAGE_SIZE);
}

static bool same(const tensor *a, const tensor *b)
{
    return memcmp(a->memory.block, b->memory.block, a->memory.block_size) == 0;
}

static void run(const tkj_simt_listed *listed, int64_t *shape, int searched, placing how,
                uint64_t seed)
{
    const topk_jit_spec spec = tkj_simt_spec(listed);
    char message[TKJ_SIMT_MESSAGE_SIZE] = "";
    fast_case c;
    fast_case host;
    open_case(&c, &spec, shape, searched, how, seed);
    open_case(&host, &spec, shape, searched, how, seed);
    if (tkj_simt_serves_shape(listed, &c.problem.shape)) {
        bool right = launch(listed, &c, seed, message);
        assert_int_equal(tkj_host_fast_topk(&tkj_default_allocator, &spec, &host.problem.params),
                         TOPK_JIT_OK);
        if (right && !(same(&c.values, &host.values) && same(&c.indices, &host.indices)))
            snprintf(message, sizeof message, "the bytes differ from the host engine's");
    }
    if (message[0] != '\0')
        fail_msg("%s, %s, (%" PRId64 ", %" PRId64 ", %" PRId64 ") along %d, seed %" PRIu64 ": %s",
                 listed->kernel->entry, listed->spec, shape[0], shape[1], shape[2], searched, seed,
                 message);
    close_case(&c);
    close_case(&host);
}

/** Calls a function for every kernel of fast_topk. */
static void for_each(void (*work)(const tkj_simt_listed *, int64_t k, uint64_t seed))
{
    for (size_t i = 0; i < tkj_simt_kernel_count; i++) {
        const topk_jit_spec spec = tkj_simt_spec(&tkj_simt_kernels[i]);
        if (spec.operation == TOPK_JIT_OPERATION_FAST_TOPK)
            work(&tkj_simt_kernels[i], spec.topk, 100 * i);
    }
}

static void run_sizes(const tkj_simt_listed *listed, int64_t k, uint64_t seed)
{
    const int64_t sizes[] = {k, k + 1, k + 40, k + 5000};
    for (uint64_t n = 0; n<12; n += k> 1000 ? 4 : 1) {
        int64_t shape[DIMS] = {3, 1, 2};
        int searched = (int)(n % DIMS);
        shape[(searched + 1) % DIMS] = k > 1000 ? 1 : 1 + (int64_t)(n % 3);
        shape[searched] = sizes[n / 3];
        run(listed, shape, searched, ANY_WAY, n + seed);
    }
}

static void every_size_along_every_dimension(void **state)
{
    (void)state;
    for_each(run_sizes);
}

/** Lines that are rows of a selection. */
static void run_rows(const tkj_simt_listed *listed, int64_t k, uint64_t seed)
{
    const int64_t sizes[] = {k, k + 1, k + 300, 9001 + k};
    for (uint64_t n = 0; n < 8; n++) {
        int64_t shape[DIMS] = {1, 1 + (int64_t)(n % 3), sizes[n / 2]};
        run(listed, shape, DIMS - 1, AS_ROWS, n + seed);
    }
}

static void rows_are_judged_right(void **state)
{
    (void)state;
    for_each(run_rows);
}

/** More lines than a block takes, of every number of lines that share it. */
static void run_many_lines(const tkj_simt_listed *listed, int64_t k, uint64_t seed)
{
    const int64_t counts[] = {7, 33, 70, 520};
    if (!tkj_simt_takes_lines(listed) || tkj_simt_capacity(listed) == 0)
        return;
    for (uint64_t n = 0; n < 8; n++) {
        int64_t shape[DIMS] = {1, counts[n / 2], k + 20};
        int searched = n % 2 == 0 ? DIMS - 1 : 0;
        if (searched == 0) {
            shape[0] = k + 20;
            shape[2] = 1;
        }
        run(listed, shape, searched, AS_ROWS, n + seed);
    }
}

static void many_lines_are_judged_right(void **state)
{
    (void)state;
    for_each(run_many_lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_along_every_dimension),
        cmocka_unit_test(rows_are_judged_right),
        cmocka_unit_test(many_lines_are_judged_right),
    };
    return cmocka_run_group_tests_name("simt_fast_topk", tests, NULL, NULL);
}
