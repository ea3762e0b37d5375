/* SPDX-License-Identifier: Apache-2.0 */
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

static void expect_refusal(const DLTensor *tensor, const char *message)
{
    tkj_view view;
    assert_int_equal(tkj_view_read(&any_rank, tensor, NULL, &view), TOPK_JIT_INVALID_ARGUMENT);
    assert_string_equal(topk_jit_last_error()->message, message);
}

static void compact_tensor_needs_no_strides(void **state)
{
    (void)state;
    int64_t shape[] = {4, 3};
    DLTensor tensor = tensor_of(2, shape, NULL);
    tkj_view view = read_view(&tensor);
    assert_string_equal(view.name, "t");
    assert_ptr_equal(view.data, memory);
    assert_int_equal(view.dtype, TOPK_JIT_FLOAT32);
    assert_int_equal(view.element, 4);
    assert_true(view.matrix);
    assert_int_equal(view.shape[0], 4);
    assert_int_equal(view.shape[1], 3);
    assert_int_equal(view.stride[0], 3);
    assert_int_equal(view.stride[1], 1);
    assert_int_equal(view.begin, (uintptr_t)memory);
    assert_int_equal(view.end, (uintptr_t)(memory + 12));
}

static void compact_strides_multiply_from_the_right(void **state)
{
    (void)state;
    int64_t shape[] = {2, 3, 4, 5};
    static const int64_t expected[] = {60, 20, 5, 1};
    DLTensor tensor = tensor_of(4, shape, NULL);
    for (int d = 0; d < 4; d++)
        assert_int_equal(tkj_tensor_stride(&tensor, d), expected[d]);
}

static void extent_runs_from_the_lowest_to_the_highest_element(void **state)
{
    (void)state;
    int64_t shape[] = {3, 4}, strides[] = {-8, 2};
    DLTensor tensor = tensor_of(2, shape, strides);
    tensor.data = memory + 32;
    tkj_view view = read_view(&tensor);
    assert_int_equal(view.begin, (uintptr_t)(memory + 16));
    assert_int_equal(view.end, (uintptr_t)(memory + 32 + 6 + 1));
}

static void tensor_without_dimensions_is_one_element(void **state)
{
    (void)state;
    DLTensor tensor = tensor_of(0, NULL, NULL);
    tkj_view view = read_view(&tensor);
    assert_int_equal(view.shape[0], 1);
    assert_int_equal(view.shape[1], 1);
    assert_int_equal(view.end - view.begin, 4);
}

static void strides_of_sizes_zero_and_one_are_zero(void **state)
{
    (void)state;
    int64_t strides[] = {INT64_MIN, INT64_MAX};
    for (int64_t size = 0; size < 2; size++) {
        int64_t shape[] = {size, size};
        DLTensor tensor = tensor_of(2, shape, strides);
        tkj_view view = read_view(&tensor);
        assert_int_equal(view.stride[0], 0);
        assert_int_equal(view.stride[1], 0);
        assert_int_equal(view.end - view.begin, 4 * size);
    }
}

static void byte_offset_moves_the_data_and_its_alignment(void **state)
{
    (void)state;
    int64_t shape[] = {4};
    DLTensor tensor = tensor_of(1, shape, NULL);
    tensor.byte_offset = 8;
    assert_ptr_equal(read_view(&tensor).data, memory + 2);
    tensor.data = (char *)memory + 1; /* what counts is data + byte_offset */
    tensor.byte_offset = 7;
    assert_ptr_equal(read_view(&tensor).data, memory + 2);
    tensor.byte_offset = 8;
    expect_refusal(&tensor, "t: the address modulo its element's size is 1, expected 0");
}

static void empty_tensor_may_have_any_data_and_any_size_beside_zero(void **state)
{
    (void)state;
    int64_t shape[] = {INT64_MAX, INT64_MAX, 0, INT64_MAX};
    for (size_t offset = 0; offset < 2; offset++) {
        DLTensor tensor = tensor_of(4, shape, NULL);
        tensor.data = NULL;
        tensor.byte_offset = offset;
        tkj_view view = read_view(&tensor);
        assert_int_equal(view.begin, view.end);
    }
}

static void malformed_tensors_are_refused(void **state)
{
    (void)state;
    int64_t shape[] = {4, 3}, negative[] = {4, -1}, many[] = {INT64_MAX, 3};
    int64_t far[] = {INT64_MAX / 4, 1}, down[] = {INT64_MIN / 16, 1}, wide[] = {INT64_MAX, 1};
    DLTensor tensor = tensor_of(65, shape, NULL);
    expect_refusal(NULL, "t: the tensor is NULL, expected a tensor");
    expect_refusal(&tensor, "t: rank is 65, expected from 0 to 64");
    tensor = tensor_of(2, NULL, NULL);
    expect_refusal(&tensor, "t: shape is NULL, expected one size for each dimension");
    tensor = tensor_of(2, negative, NULL);
    expect_refusal(&tensor, "t: a size of the shape is -1, expected at least 0");
    tensor = tensor_of(2, many, NULL);
    expect_refusal(&tensor,
                   "t: the number of elements is beyond 64 bits, expected a smaller shape");
    static const char beyond[] = "t: the extent in bytes is beyond the address space, expected a "
                                 "smaller shape or stride";
    tensor = tensor_of(2, shape, far);
    expect_refusal(&tensor, beyond);
    tensor = tensor_of(2, shape, wide);
    expect_refusal(&tensor, beyond);
    tensor = tensor_of(2, shape, down);
    expect_refusal(&tensor, beyond);
    tensor = tensor_of(2, shape, NULL);
    tensor.byte_offset = UINT64_MAX - 3;
    expect_refusal(&tensor, "t: byte_offset is beyond the address space, expected a smaller one");
    tensor.data = NULL;
    expect_refusal(&tensor, "t: data is NULL, expected memory, since the tensor has elements");
}

static void tensor_may_end_where_the_address_space_does_but_not_beyond(void **state)
{
    (void)state;
    int64_t shape[] = {4};
    DLTensor tensor = tensor_of(1, shape, NULL);
    tensor.data = (void *)(UINTPTR_MAX - 19);
    assert_int_equal(read_view(&tensor).end, UINTPTR_MAX - 3);
    tensor.data = (void *)(UINTPTR_MAX - 11);
    expect_refusal(&tensor, "t: the extent in bytes is beyond the address space, expected a "
                            "smaller shape or stride");
}

static void every_dtype_is_known_with_its_size(void **state)
{
    (void)state;
    static const struct {
        DLDataType given;
        topk_jit_dtype dtype;
        int64_t size;
    } dtypes[] = {
        {{kDLFloat, 32, 1}, TOPK_JIT_FLOAT32, 4},   {{kDLFloat, 16, 1}, TOPK_JIT_FLOAT16, 2},
        {{kDLBfloat, 16, 1}, TOPK_JIT_BFLOAT16, 2}, {{kDLFloat, 64, 1}, TOPK_JIT_FLOAT64, 8},
        {{kDLInt, 32, 1}, TOPK_JIT_INT32, 4},       {{kDLInt, 64, 1}, TOPK_JIT_INT64, 8},
    };
    int64_t shape[] = {2};
    for (size_t i = 0; i < COUNT(dtypes); i++) {
        tkj_view view;
        DLTensor tensor = tensor_of(1, shape, NULL);
        tensor.dtype = dtypes[i].given;
        const tkj_tensor_rule only = {"t", 1, 1, 1u << dtypes[i].dtype};
        const tkj_tensor_rule others = {"t", 1, 1, ~(1u << dtypes[i].dtype)};
        assert_int_equal(tkj_view_read(&only, &tensor, NULL, &view), TOPK_JIT_OK);
        assert_int_equal(view.dtype, dtypes[i].dtype);
        assert_int_equal(view.element, dtypes[i].size);
        assert_int_equal(tkj_view_read(&others, &tensor, NULL, &view), TOPK_JIT_INVALID_ARGUMENT);
    }
}

static void other_dtypes_are_described(void **state)
{
    (void)state;
    int64_t shape[] = {2};
    static const struct {
        DLDataType given;
        const char *message;
    } dtypes[] = {
        {{kDLFloat, 32, 4}, "t: dtype is DLPack code 2, 32 bits, 4 lanes, expected float32"},
        {{kDLFloat, 8, 1}, "t: dtype is DLPack code 2, 8 bits, 1 lanes, expected float32"},
        {{kDLUInt, 255, 65535},
         "t: dtype is DLPack code 1, 255 bits, 65535 lanes, expected float32"},
        {{kDLComplex, 64, 1}, "t: dtype is DLPack code 5, 64 bits, 1 lanes, expected float32"},
        {{kDLBfloat, 16, 1}, "t: dtype is bfloat16, expected float32"},
        {{kDLInt, 64, 1}, "t: dtype is int64, expected float32"},
    };
    for (size_t i = 0; i < COUNT(dtypes); i++) {
        DLTensor tensor = tensor_of(1, shape, NULL);
        tensor.dtype = dtypes[i].given;
        expect_refusal(&tensor, dtypes[i].message);
    }
}

static void all_expected_dtypes_are_listed(void **state)
{
    (void)state;
    int64_t shape[] = {2};
    tkj_view view;
    DLTensor tensor = tensor_of(1, shape, NULL);
    tensor.dtype.bits = 8;
    static const tkj_tensor_rule any_dtype = {"t", 1, 1, 0x3F};
    assert_int_equal(tkj_view_read(&any_dtype, &tensor, NULL, &view), TOPK_JIT_INVALID_ARGUMENT);
    assert_string_equal(topk_jit_last_error()->message,
                        "t: dtype is DLPack code 2, 8 bits, 1 lanes, expected float32 or float16 "
                        "or bfloat16 or float64 or int32 or int64");
}

static int64_t pick(uint64_t *state, const int64_t *from, size_t count)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return from[(*state >> 33) % count];
}

/* A matrix, or a vector, of sizes and strides about the bounds of what is read at once, and the
   same with a leading dimension of size 1, which makes it one that is read step by step. */
typedef struct twins {
    int64_t shape[3], strides[3];
    DLTensor usual, unusual;
} twins;

static void make_twins(uint64_t *state, twins *out)
{
    static const int64_t sizes[] = {0, 1, 2, 3, 5, (1 << 27) - 1, 1 << 27, INT64_MAX, -1};
    static const int64_t strides[] = {
        0, 1, 2, 3, INT64_C(0x7FFFFFFF), -1, INT64_MIN, INT64_MAX, INT64_C(0x80000000)};
    static const int64_t addresses[] = {0, 1, 4, 8, INT64_C(1) << 61, -64, INT64_MAX - 3};
    static const int64_t offsets[] = {0, 4, 3, INT64_C(1) << 61, -4};
    const int rank = (int)pick(state, (const int64_t[]){1, 2}, 2);
    out->shape[0] = 1;
    out->strides[0] = pick(state, strides, COUNT(strides));
    for (int d = 1; d <= rank; d++) {
        out->shape[d] = pick(state, sizes, COUNT(sizes));
        out->strides[d] = pick(state, strides, COUNT(strides));
    }
    const bool compact = pick(state, (const int64_t[]){0, 1}, 2) == 0;
    out->unusual = tensor_of(rank + 1, out->shape, compact ? NULL : out->strides);
    out->unusual.data = (void *)(uintptr_t)pick(state, addresses, COUNT(addresses));
    out->unusual.byte_offset = (uint64_t)pick(state, offsets, COUNT(offsets));
    out->usual = out->unusual;
    out->usual.ndim = rank;
    out->usual.shape = out->shape + 1;
    out->usual.strides = compact ? NULL : out->strides + 1;
}

static void what_is_read_at_once_is_read_like_anything_else(void **state)
{
    (void)state;
    uint64_t random = 1;
    size_t accepted = 0;
    for (size_t i = 0; i < 200000; i++) {
        twins it;
        tkj_view usual, unusual;
        make_twins(&random, &it);
        const topk_jit_status status = tkj_view_read(&any_rank, &it.unusual, NULL, &unusual);
        assert_int_equal(tkj_view_read(&any_rank, &it.usual, NULL, &usual), status);
        if (status != TOPK_JIT_OK)
            continue;
        accepted++;
        assert_ptr_equal(usual.data, unusual.data);
        assert_int_equal(usual.begin, unusual.begin);
        assert_int_equal(usual.end, unusual.end);
        assert_int_equal(usual.dtype, unusual.dtype);
        assert_int_equal(usual.element, unusual.element);
        assert_int_equal(usual.shape[0], it.usual.shape[0]);
        assert_int_equal(usual.shape[0], unusual.shape[1]);
        assert_int_equal(usual.stride[0], unusual.stride[1]);
        assert_int_equal(usual.shape[1], it.usual.ndim == 2 ? it.usual.shape[1] : 1);
        if (it.usual.ndim == 2)
            assert_int_equal(usual.stride[1], tkj_tensor_stride(&it.usual, 1));
        assert_true(usual.matrix);
        assert_false(unusual.matrix && it.unusual.ndim > 2);
    }
    assert_true(accepted > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_at_once_is_read_like_anything_else),
        cmocka_unit_test(compact_tensor_needs_no_strides),
        cmocka_unit_test(compact_strides_multiply_from_the_right),
        cmocka_unit_test(extent_runs_from_the_lowest_to_the_highest_element),
        cmocka_unit_test(tensor_without_dimensions_is_one_element),
        cmocka_unit_test(strides_of_sizes_zero_and_one_are_zero),
        cmocka_unit_test(byte_offset_moves_the_data_and_its_alignment),
        cmocka_unit_test(empty_tensor_may_have_any_data_and_any_size_beside_zero),
        cmocka_unit_test(malformed_tensors_are_refused),
        cmocka_unit_test(tensor_may_end_where_the_address_space_does_but_not_beyond),
        cmocka_unit_test(every_dtype_is_known_with_its_size),
        cmocka_unit_test(other_dtypes_are_described),
        cmocka_unit_test(all_expected_dtypes_are_listed),
    };
    return cmocka_run_group_tests_name("tensor", tests, NULL, NULL);
}
