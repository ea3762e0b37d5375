/* SPDX-License-Identifier: Apache-2.0 */
/* Two tensors: on one device or not, sharing bytes or not. */
#include "testing.h"

#include "tensor.h"

#define FLOAT32_ONLY (1u << TOPK_JIT_FLOAT32)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static float memory[64];
static const tkj_tensor_rule any_rank = {"t", 0, 64, FLOAT32_ONLY};

/* A float32 tensor over `memory`. */
static DLTensor tensor_of(int rank, int64_t *shape, int64_t *strides)
{
    return (DLTensor){
        .data = memory,
        .device = {kDLCPU, 0},
        .ndim = rank,
        .dtype = {kDLFloat, 32, 1},
        .shape = shape,
        .strides = strides,
    };
}

static tkj_view read_view(const DLTensor *tensor)
{
    tkj_view view;
    if (tkj_view_read(&any_rank, tensor, NULL, &view) != TOPK_JIT_OK)
        fail_msg("%s", topk_jit_last_error()->message);
    return view;
}

static void host_devices_are_pageable_and_pinned_memory(void **state)
{
    (void)state;
    assert_true(tkj_device_is_host((DLDevice){kDLCPU, 0}));
    assert_true(tkj_device_is_host((DLDevice){kDLCUDAHost, 3}));
    assert_false(tkj_device_is_host((DLDevice){kDLCUDA, 0}));
    assert_false(tkj_device_is_host((DLDevice){kDLCUDAManaged, 0}));
}

static void devices_are_the_same_or_not(void **state)
{
    (void)state;
    static const struct {
        DLDevice first, other;
        const char *message; /* NULL = the same */
    } pairs[] = {
        {{kDLCPU, 0}, {kDLCPU, 1}, NULL},
        {{kDLCPU, 0}, {kDLCUDAHost, 1}, NULL},
        {{kDLCUDA, 2}, {kDLCUDAManaged, 2}, NULL},
        {{kDLCUDAManaged, 2}, {kDLCUDA, 2}, NULL},
        {{kDLCUDA, 0},
         {kDLCUDA, 1},
         "b: device is CUDA device 1, expected CUDA device 0, where a is"},
        {{kDLCUDA, 7}, {kDLCPU, 0}, "b: device is the host, expected CUDA device 7, where a is"},
        {{kDLCPU, 0}, {kDLCUDA, 0}, "b: device is CUDA device 0, expected the host, where a is"},
        {{kDLCPU, 0},
         {kDLVulkan, 0},
         "b: device is DLPack device type 7, expected CPU, CUDA, CUDA host or CUDA managed"},
    };
    static const tkj_tensor_rule rule = {"b", 1, 1, FLOAT32_ONLY};
    int64_t size = 3;
    for (size_t i = 0; i < COUNT(pairs); i++) {
        tkj_view a = tkj_view_of_bytes("a", memory, 4, pairs[i].first);
        tkj_view b;
        DLTensor tensor = tensor_of(1, &size, NULL);
        tensor.device = pairs[i].other;
        assert_int_equal(tkj_view_read(&rule, &tensor, &a, &b),
                         pairs[i].message ? TOPK_JIT_INVALID_ARGUMENT : TOPK_JIT_OK);
        if (pairs[i].message)
            assert_string_equal(topk_jit_last_error()->message, pairs[i].message);
    }
}

static bool bytes_overlap(size_t a, size_t a_size, size_t b, size_t b_size)
{
    DLDevice cpu = {kDLCPU, 0};
    tkj_view x = tkj_view_of_bytes("x", (char *)memory + a, a_size, cpu);
    tkj_view y = tkj_view_of_bytes("y", (char *)memory + b, b_size, cpu);
    bool overlap = tkj_view_check_overlap(&x, &y) != TOPK_JIT_OK;
    assert_int_equal(tkj_view_check_overlap(&y, &x) != TOPK_JIT_OK, overlap);
    return overlap;
}

static void ranges_overlap_where_they_share_a_byte(void **state)
{
    (void)state;
    assert_true(bytes_overlap(0, 8, 0, 8));
    assert_true(bytes_overlap(0, 8, 7, 8));
    assert_true(bytes_overlap(0, 32, 8, 1));
    assert_false(bytes_overlap(0, 8, 8, 8));
    assert_false(bytes_overlap(0, 8, 9, 8));
    assert_false(bytes_overlap(0, 8, 4, 0)); /* nothing shares no byte */
    assert_false(bytes_overlap(4, 0, 4, 0));
}

/* Two tensors over `memory`, each of rows at a pitch. */
static bool rows_overlap(int64_t begin_a, int64_t columns_a, int64_t pitch_a, int64_t begin_b,
                         int64_t columns_b, int64_t pitch_b)
{
    int64_t shape_a[] = {4, columns_a}, strides_a[] = {pitch_a, 1};
    int64_t shape_b[] = {4, columns_b}, strides_b[] = {pitch_b, 1};
    DLTensor a = tensor_of(2, shape_a, strides_a), b = tensor_of(2, shape_b, strides_b);
    a.data = memory + begin_a;
    b.data = memory + begin_b;
    tkj_view x = read_view(&a), y = read_view(&b);
    bool overlap = tkj_view_check_overlap(&x, &y) != TOPK_JIT_OK;
    assert_int_equal(tkj_view_check_overlap(&y, &x) != TOPK_JIT_OK, overlap);
    return overlap;
}

static void separate_columns_of_one_pitch_do_not_overlap(void **state)
{
    (void)state;
    assert_false(rows_overlap(0, 4, 8, 4, 4, 8));  /* halves */
    assert_false(rows_overlap(0, 4, 8, 12, 4, 8)); /* a row further down */
    assert_false(rows_overlap(0, 1, 8, 7, 1, 8));
    assert_true(rows_overlap(0, 4, 8, 3, 4, 8));
    assert_true(rows_overlap(0, 4, 8, 5, 4, 8)); /* runs into the next row */
    assert_true(rows_overlap(0, 5, 8, 12, 4, 8));
    assert_true(rows_overlap(0, 4, 8, 4, 4, 9)); /* another pitch */
    assert_true(rows_overlap(0, 9, 8, 4, 1, 8)); /* rows that overlap themselves */
}

static void vector_is_a_column(void **state)
{
    (void)state;
    int64_t shape[] = {4, 3}, strides[] = {4, 1}, size[] = {4}, step[] = {4};
    DLTensor rows = tensor_of(2, shape, strides), column = tensor_of(1, size, step);
    column.data = memory + 3;
    tkj_view x = read_view(&rows), y = read_view(&column);
    assert_int_equal(tkj_view_check_overlap(&x, &y), TOPK_JIT_OK);
    column.data = memory + 2;
    y = read_view(&column);
    assert_int_equal(tkj_view_check_overlap(&x, &y), TOPK_JIT_INVALID_ARGUMENT);
    assert_string_equal(topk_jit_last_error()->message,
                        "t: memory is overlapping t, expected memory of its own");
}

static void columns_of_more_dimensions_are_judged_by_their_range(void **state)
{
    (void)state;
    int64_t shape[] = {2, 2, 2}, strides[] = {16, 8, 1}, matrix[] = {4, 2}, pitch[] = {8, 1};
    DLTensor cube = tensor_of(3, shape, strides), other = tensor_of(2, matrix, pitch);
    other.data = memory + 4;
    tkj_view x = read_view(&cube), y = read_view(&other);
    assert_int_equal(tkj_view_check_overlap(&x, &y), TOPK_JIT_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_devices_are_pageable_and_pinned_memory),
        cmocka_unit_test(devices_are_the_same_or_not),
        cmocka_unit_test(ranges_overlap_where_they_share_a_byte),
        cmocka_unit_test(separate_columns_of_one_pitch_do_not_overlap),
        cmocka_unit_test(vector_is_a_column),
        cmocka_unit_test(columns_of_more_dimensions_are_judged_by_their_range),
    };
    return cmocka_run_group_tests_name("tensor_overlap", tests, NULL, NULL);
}
