/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "float16.h"
#include "guarded.h"
#include "host.h"
#include "judge.h"
#include "memory.h"
#include "ordered_key.h"
#include "scores.h"

enum { MOST_DIMS = 4 };

/* A tensor of up to four dimensions at any strides inside guarded memory: dimension order[0] is the
   innermost, `gap` elements lie between its elements, and a dimension of `backwards` runs down. */
typedef struct tensor {
    tkj_guarded memory;
    int64_t elements;
    int64_t base;
    int64_t strides[MOST_DIMS];
} tensor;

static void lay_out(tensor *t, const int64_t *shape, const int *order, int dims, int64_t gap,
                    unsigned backwards, size_t element_size)
{
    int64_t pitch = gap + 1;
    t->base = 0;
    t->elements = 1;
    for (int i = 0; i < dims; i++) {
        int d = order[i];
        t->strides[d] = backwards >> d & 1 ? -pitch : pitch;
        t->base += backwards >> d & 1 ? pitch * (shape[d] - 1) : 0;
        t->elements *= shape[d];
        pitch *= shape[d];
    }
    assert_true(tkj_guarded_create(&t->memory, t->elements, 1, gap + 1, element_size, 1));
}

static void *base_of(const tensor *t)
{
    return (char *)tkj_guarded_data(&t->memory) + t->base * (int64_t)t->memory.element_size;
}

/* A fast_topk over one dimension, the others being walked in their order. */
typedef struct fast_case {
    topk_jit_spec spec;
    tkj_fast_topk_params params;
    tensor in, values, indices;
} fast_case;

static void set_params(fast_case *c, const int64_t *shape, int dims, int searched)
{
    c->params = (tkj_fast_topk_params){.in = base_of(&c->in),
                                       .values = base_of(&c->values),
                                       .indices = base_of(&c->indices),
                                       .rows = 1,
                                       .size = shape[searched],
                                       .in_stride = c->in.strides[searched],
                                       .values_stride = c->values.strides[searched],
                                       .indices_stride = c->indices.strides[searched]};
    for (int d = 0; d < dims; d++) {
        if (d == searched)
            continue;
        c->params.rows *= shape[d];
        c->params.outer[c->params.outer_dims++] = (tkj_outer_dim){
            shape[d], c->in.strides[d], c->values.strides[d], c->indices.strides[d]};
    }
}

static void open_case(fast_case *c, topk_jit_dtype dtype, int64_t k, const int64_t *shape, int dims,
                      int searched, uint64_t seed)
{
    static const int orders[3][MOST_DIMS] = {{3, 2, 1, 0}, {0, 1, 2, 3}, {2, 0, 3, 1}};
    int order[3][MOST_DIMS], used[3] = {0, 0, 0};
    for (uint64_t o = 0; o < 3; o++)
        for (int i = 0; i < MOST_DIMS; i++)
            if (orders[(o + seed) % 3][i] < dims)
                order[o][used[o]++] = orders[(o + seed) % 3][i];
    int64_t out_shape[MOST_DIMS];
    memcpy(out_shape, shape, (size_t)dims * sizeof *shape);
    out_shape[searched] = k;

    *c = (fast_case){.spec = TOPK_JIT_SPEC_INIT};
    c->spec.operation = TOPK_JIT_OPERATION_FAST_TOPK;
    c->spec.dtype = dtype;
    c->spec.index_dtype = TOPK_JIT_INT64;
    c->spec.topk = k;
    size_t size = tkj_dtype_size(dtype);
    lay_out(&c->in, shape, order[0], dims, (int64_t)(seed % 2), seed >> 1 & 15, size);
    lay_out(&c->values, out_shape, order[1], dims, (int64_t)(seed % 3), seed >> 2 & 15, size);
    lay_out(&c->indices, out_shape, order[2], dims, (int64_t)(seed % 4), seed >> 3 & 15, 8);
    set_params(c, shape, dims, searched);
}

static void close_case(fast_case *c)
{
    tkj_guarded_destroy(&c->in.memory);
    tkj_guarded_destroy(&c->values.memory);
    tkj_guarded_destroy(&c->indices.memory);
}

static void run_case(fast_case *c)
{
    char message[TKJ_JUDGE_MESSAGE_SIZE];
    assert_int_equal(tkj_host_fast_topk(&tkj_default_allocator, &c->spec, &c->params), TOPK_JIT_OK);
    if (!tkj_judge_fast_topk(&c->spec, &c->params, message) ||
        !tkj_guarded_verify(&c->values.memory, message, sizeof message) ||
        !tkj_guarded_verify(&c->indices.memory, message, sizeof message))
        fail_msg("%s", message);
}

/* Element `value` of a dtype, or a special one of it: many ties, and NaN and infinities of floats.
 */
static void write_element(topk_jit_dtype dtype, void *element, int64_t value)
{
    static const float specials[] = {NAN, INFINITY, -INFINITY, -0.0F, 0.0F};
    float real = value % 9 < 5 ? specials[value % 9] : (float)(value % 50) - 25.0F;
    double wide = isfinite(real) ? (double)real + 0x1p-40 : (double)real;
    int64_t large = value % 9 < 3 ? INT64_MIN + value % 9 : value % 50 - 25 + (INT64_C(1) << 40);
    int32_t narrow = value % 9 < 3 ? INT32_MIN + (int32_t)(value % 9) : (int32_t)(value % 50) - 25;
    uint16_t half = tkj_float16_from_float(real), brain = tkj_bfloat16_from_float(real);
    const void *const sources[] = {
        [TOPK_JIT_FLOAT32] = &real, [TOPK_JIT_FLOAT16] = &half, [TOPK_JIT_BFLOAT16] = &brain,
        [TOPK_JIT_FLOAT64] = &wide, [TOPK_JIT_INT32] = &narrow, [TOPK_JIT_INT64] = &large,
    };
    memcpy(element, sources[dtype], tkj_dtype_size(dtype));
}

static void fill_elements(fast_case *c, uint64_t seed)
{
    for (int64_t i = 0; i < c->in.elements; i++) {
        int64_t place = i * c->in.memory.stride * (int64_t)c->in.memory.element_size;
        int64_t value = (int64_t)(tkj_scores_random(&seed) >> 40);
        write_element(c->spec.dtype, (char *)tkj_guarded_data(&c->in.memory) + place, value);
    }
}

static void every_dtype_dimension_and_stride_is_right(void **state)
{
    (void)state;
    const int64_t shape[MOST_DIMS] = {5, 3, 70, 4};
    for (uint64_t seed = 0; seed < 240; seed++) {
        int dims = 1 + (int)(seed % 4), searched = (int)(seed / 4) % dims;
        int64_t k = 1 + (int64_t)(seed / 7) % shape[searched];
        fast_case c;
        open_case(&c, (topk_jit_dtype)(seed % 6), k, shape, dims, searched, seed / 6);
        fill_elements(&c, seed);
        run_case(&c);
        close_case(&c);
    }
}

static void whole_dimension_is_sorted(void **state)
{
    (void)state;
    const int64_t shape[] = {2, 300};
    for (int dtype = TOPK_JIT_FLOAT32; dtype <= TOPK_JIT_INT64; dtype++) {
        fast_case c;
        open_case(&c, (topk_jit_dtype)dtype, 300, shape, 2, 1, 3);
        fill_elements(&c, 1);
        run_case(&c);
        close_case(&c);
    }
}

/* A contiguous row of integers, and what is expected of it. */
static void expect_indices(topk_jit_dtype dtype, const void *row, int64_t size, int64_t k,
                           const int64_t *expected)
{
    fast_case c;
    open_case(&c, dtype, k, (const int64_t[]){size}, 1, 0, 0);
    memcpy(tkj_guarded_data(&c.in.memory), row, (size_t)size * tkj_dtype_size(dtype));
    run_case(&c);
    assert_memory_equal(tkj_guarded_data(&c.indices.memory), expected, (size_t)k * 8);
    close_case(&c);
}

static void one_is_the_first_maximum(void **state)
{
    (void)state;
    const int32_t row[] = {3, 9, -4, 9, 9};
    expect_indices(TOPK_JIT_INT32, row, 5, 1, (const int64_t[]){1});
    const float with_nan[] = {INFINITY, NAN, 1, -NAN};
    expect_indices(TOPK_JIT_FLOAT32, with_nan, 4, 1, (const int64_t[]){1});
    const double zeros[] = {-1, -0.0, 0.0};
    expect_indices(TOPK_JIT_FLOAT64, zeros, 3, 1, (const int64_t[]){1});
}

static void equal_values_take_and_keep_the_smallest_indices(void **state)
{
    (void)state;
    const int64_t row[] = {5, 7, 5, INT64_MIN, 7, 5};
    expect_indices(TOPK_JIT_INT64, row, 6, 4, (const int64_t[]){1, 4, 0, 2});
}

static void neighbours_beyond_the_precision_of_double_are_told_apart(void **state)
{
    (void)state;
    const int64_t row[] = {INT64_MAX - 2, INT64_MAX, INT64_MAX - 1};
    expect_indices(TOPK_JIT_INT64, row, 3, 3, (const int64_t[]){1, 2, 0});
}

static void one_element_without_outer_dimensions_is_itself(void **state)
{
    (void)state;
    const float element = -2.5F;
    expect_indices(TOPK_JIT_FLOAT32, &element, 1, 1, (const int64_t[]){0});
}

static void sixty_three_outer_dimensions_are_walked(void **state)
{
    (void)state;
    float in[2 * 2 * 3] = {1, 2, 0, 5, 4, 5, -1, -2, 0, 7, 8, 9}, values[4];
    int64_t indices[4];
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.topk = 1;
    tkj_fast_topk_params params = {.in = in,
                                   .values = values,
                                   .indices = indices,
                                   .rows = 4,
                                   .size = 3,
                                   .in_stride = 1,
                                   .values_stride = 1,
                                   .indices_stride = 1,
                                   .outer_dims = TKJ_FAST_TOPK_DIMS};
    for (int d = 0; d < TKJ_FAST_TOPK_DIMS; d++)
        params.outer[d] = (tkj_outer_dim){1, 1000, 1000, 1000};
    params.outer[0] = (tkj_outer_dim){2, 6, 2, 2};
    params.outer[62] = (tkj_outer_dim){2, 3, 1, 1};
    assert_int_equal(tkj_host_fast_topk(&tkj_default_allocator, &spec, &params), TOPK_JIT_OK);
    assert_memory_equal(indices, ((const int64_t[]){1, 0, 2, 2}), sizeof indices);
    assert_memory_equal(values, ((const float[]){2, 5, 0, 9}), sizeof values);
}

static void input_row_may_be_shared_by_a_stride_of_0(void **state)
{
    (void)state;
    const float in[3] = {1, 3, 2};
    float values[4];
    int64_t indices[4];
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.topk = 2;
    tkj_fast_topk_params params = {.in = in,
                                   .values = values,
                                   .indices = indices,
                                   .rows = 2,
                                   .size = 3,
                                   .in_stride = 1,
                                   .values_stride = 1,
                                   .indices_stride = 1,
                                   .outer_dims = 1,
                                   .outer = {{2, 0, 2, 2}}};
    assert_int_equal(tkj_host_fast_topk(&tkj_default_allocator, &spec, &params), TOPK_JIT_OK);
    assert_memory_equal(indices, ((const int64_t[]){1, 2, 1, 2}), sizeof indices);
}

static void no_rows_write_nothing(void **state)
{
    (void)state;
    fast_case c;
    open_case(&c, TOPK_JIT_FLOAT32, 2, (const int64_t[]){2, 5}, 2, 1, 0);
    c.params.rows = 0;
    c.params.outer[0].size = 0;
    c.params.in = NULL;
    assert_int_equal(tkj_host_fast_topk(&tkj_default_allocator, &c.spec, &c.params), TOPK_JIT_OK);
    for (size_t i = 0; i < c.indices.memory.block_size; i++)
        assert_int_equal(c.indices.memory.block[i], TKJ_GUARDED_POISON);
    close_case(&c);
}

static void *refuse(void *user, size_t size)
{
    (void)user;
    (void)size;
    return NULL;
}

static void without_memory_no_output_is_touched(void **state)
{
    (void)state;
    const topk_jit_allocator allocator = {refuse, tkj_default_allocator.release, NULL};
    fast_case c;
    open_case(&c, TOPK_JIT_FLOAT32, 2, (const int64_t[]){2, 5}, 2, 1, 0);
    fill_elements(&c, 1);
    assert_int_equal(tkj_host_fast_topk(&allocator, &c.spec, &c.params), TOPK_JIT_OUT_OF_MEMORY);
    for (size_t i = 0; i < c.indices.memory.block_size; i++)
        assert_int_equal(c.indices.memory.block[i], TKJ_GUARDED_POISON);
    close_case(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dtype_dimension_and_stride_is_right),
        cmocka_unit_test(whole_dimension_is_sorted),
        cmocka_unit_test(one_is_the_first_maximum),
        cmocka_unit_test(equal_values_take_and_keep_the_smallest_indices),
        cmocka_unit_test(neighbours_beyond_the_precision_of_double_are_told_apart),
        cmocka_unit_test(one_element_without_outer_dimensions_is_itself),
        cmocka_unit_test(sixty_three_outer_dimensions_are_walked),
        cmocka_unit_test(input_row_may_be_shared_by_a_stride_of_0),
        cmocka_unit_test(no_rows_write_nothing),
        cmocka_unit_test(without_memory_no_output_is_touched),
    };
    return cmocka_run_group_tests_name("host_fast_topk", tests, NULL, NULL);
}
