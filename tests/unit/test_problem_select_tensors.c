/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for every tensor of a selection: rank, dtype, sizes, data, alignment, strides, device.
 */
#include "rule_case.h"

#include <stdio.h>

/* Every tensor, and what is expected of it. */
static const struct {
    tkj_call_slot slot;
    const char *name;
    const char *rank;
    const char *dtype;
} tensors[] = {
    {TKJ_CALL_SCORE, "score", "2", "float32 or float16 or bfloat16"},
    {TKJ_CALL_LENGTHS, "lengths", "from 1 to 2", "int32"},
    {TKJ_CALL_ROW_STARTS, "row_starts", "1", "int32"},
    {TKJ_CALL_ROW_ENDS, "row_ends", "1", "int32"},
    {TKJ_CALL_PAGE_TABLE, "page_table", "2", "int32"},
    {TKJ_CALL_PAGE_TABLE_ROW_STARTS, "page_table_row_starts", "1", "int32"},
    {TKJ_CALL_CU_SEQLENS_Q, "cu_seqlens_q", "1", "int32"},
    {TKJ_CALL_ROW_TO_BATCH, "row_to_batch", "1", "int32"},
    {TKJ_CALL_OFFSET, "topk_indices_offset", "1", "int32"},
    {TKJ_CALL_INDICES, "indices", "2", "int32 or int64"},
    {TKJ_CALL_RAW_INDICES, "raw_indices", "2", "int32"},
    {TKJ_CALL_VALUES, "values", "2", "float32"},
};

_Static_assert(sizeof tensors / sizeof tensors[0] == TKJ_CALL_TENSORS,
               "every tensor has its rules");

/* Breaks one part of tensor i and expects "name: <complaint>, expected <expected>". */
static void expect_refusal(int i, rule_part part, int64_t value, const char *complaint,
                           const char *expected)
{
    tkj_call call;
    char message[256];
    snprintf(message, sizeof message, "%s: %s, expected %s", tensors[i].name, complaint, expected);
    rule_case_open_with(&call, tensors[i].slot);
    rule_case_set(&call, tensors[i].slot, part, value);
    rule_case_expect_refusal(&call, message);
}

static void every_unbroken_call_is_legal(void **state)
{
    (void)state;
    for (int i = 0; i < TKJ_CALL_TENSORS; i++) {
        tkj_call call;
        rule_case_open_with(&call, tensors[i].slot);
        rule_case_expect_success(&call);
    }
}

static void another_rank_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < TKJ_CALL_TENSORS; i++) {
        expect_refusal(i, RULE_RANK, 3, "rank is 3", tensors[i].rank);
        expect_refusal(i, RULE_RANK, 0, "rank is 0", tensors[i].rank);
        expect_refusal(i, RULE_RANK, -1, "rank is -1", tensors[i].rank);
        if (tensors[i].rank[0] == '2')
            expect_refusal(i, RULE_RANK, 1, "rank is 1", tensors[i].rank);
        else if (tensors[i].rank[0] == '1')
            expect_refusal(i, RULE_RANK, 2, "rank is 2", tensors[i].rank);
    }
}

static void sixty_four_bit_elements_are_refused_by_name(void **state)
{
    (void)state;
    for (int i = 0; i < TKJ_CALL_TENSORS; i++) {
        bool floats = tensors[i].slot == TKJ_CALL_SCORE || tensors[i].slot == TKJ_CALL_VALUES;
        if (tensors[i].slot != TKJ_CALL_INDICES)
            expect_refusal(i, RULE_DTYPE_BITS, 64, floats ? "dtype is float64" : "dtype is int64",
                           tensors[i].dtype);
    }
}

static void dtype_of_another_kind_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < TKJ_CALL_TENSORS; i++) {
        bool floats = tensors[i].slot == TKJ_CALL_SCORE || tensors[i].slot == TKJ_CALL_VALUES;
        expect_refusal(i, RULE_DTYPE_CODE, floats ? kDLInt : kDLFloat,
                       floats ? "dtype is int32" : "dtype is float32", tensors[i].dtype);
        expect_refusal(i, RULE_DTYPE_CODE, kDLUInt, "dtype is DLPack code 1, 32 bits, 1 lanes",
                       tensors[i].dtype);
        expect_refusal(i, RULE_DTYPE_BITS, 8,
                       floats ? "dtype is DLPack code 2, 8 bits, 1 lanes"
                              : "dtype is DLPack code 0, 8 bits, 1 lanes",
                       tensors[i].dtype);
    }
}

static void values_have_the_dtype_of_the_score(void **state)
{
    (void)state;
    tkj_call call;
    rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
    rule_case_set(&call, TKJ_CALL_SCORE, RULE_DTYPE_BITS, 16);
    rule_case_expect_refusal(&call, "values: dtype is float32, expected float16");
    rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
    rule_case_set(&call, TKJ_CALL_VALUES, RULE_DTYPE_BITS, 16);
    rule_case_expect_refusal(&call, "values: dtype is float16, expected float32");
}

static void negative_size_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < TKJ_CALL_TENSORS; i++) {
        expect_refusal(i, RULE_SIZE_0, -1, "a size of the shape is -1", "at least 0");
        if (tensors[i].rank[0] == '2')
            expect_refusal(i, RULE_SIZE_1, -5, "a size of the shape is -5", "at least 0");
    }
}

static void missing_shape_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < TKJ_CALL_TENSORS; i++) {
        tkj_call call;
        char message[256];
        snprintf(message, sizeof message, "%s: shape is NULL, expected one size for each dimension",
                 tensors[i].name);
        rule_case_open_with(&call, tensors[i].slot);
        call.tensors[tensors[i].slot].tensor.shape = NULL;
        rule_case_expect_refusal(&call, message);
    }
}

static void null_data_is_refused_where_there_are_elements(void **state)
{
    (void)state;
    for (int i = 0; i < TKJ_CALL_TENSORS; i++)
        expect_refusal(i, RULE_DATA, 0, "data is NULL", "memory, since the tensor has elements");
}

static void address_is_aligned_to_its_element(void **state)
{
    (void)state;
    for (int i = 0; i < TKJ_CALL_TENSORS; i++)
        for (int64_t offset = 1; offset < 4; offset++) {
            char complaint[64];
            snprintf(complaint, sizeof complaint, "the address modulo its element's size is %d",
                     (int)offset);
            expect_refusal(i, RULE_BYTE_OFFSET, offset, complaint, "0");
        }
}

static void int64_indices_are_aligned_to_eight_bytes(void **state)
{
    (void)state;
    tkj_call call;
    rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
    rule_case_drop(&call, TKJ_CALL_INDICES);
    tkj_call_add(&call, TKJ_CALL_INDICES, TOPK_JIT_INT64, 2, RULE_OUT_ROWS, RULE_TOPK, RULE_TOPK,
                 1);
    rule_case_set(&call, TKJ_CALL_INDICES, RULE_BYTE_OFFSET, 4);
    rule_case_expect_refusal(&call,
                             "indices: the address modulo its element's size is 4, expected 0");
}

static void extent_beyond_the_address_space_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < TKJ_CALL_TENSORS; i++) {
        expect_refusal(i, RULE_STRIDE_0, INT64_MAX,
                       "the extent in bytes is beyond the address space",
                       "a smaller shape or stride");
        expect_refusal(i, RULE_BYTE_OFFSET, -4, "byte_offset is beyond the address space",
                       "a smaller one");
    }
    expect_refusal(0, RULE_SIZE_0, INT64_MAX, "the number of elements is beyond 64 bits",
                   "a smaller shape");
}

static void negative_stride_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < TKJ_CALL_TENSORS; i++) {
        bool output = tensors[i].slot >= TKJ_CALL_INDICES;
        expect_refusal(i, RULE_STRIDE_0, -1, "stride(0) is -1",
                       output ? "at least 3" : "at least 0");
    }
}

static void rows_of_two_dimensional_tensors_are_contiguous(void **state)
{
    (void)state;
    for (int i = 0; i < TKJ_CALL_TENSORS; i++)
        if (tensors[i].rank[0] == '2') {
            expect_refusal(i, RULE_STRIDE_1, 2, "stride(1) is 2", "1");
            expect_refusal(i, RULE_STRIDE_1, 0, "stride(1) is 0", "1");
            expect_refusal(i, RULE_STRIDE_1, -1, "stride(1) is -1", "1");
        }
}

static void every_tensor_is_on_the_device_of_the_score(void **state)
{
    (void)state;
    for (int i = 0; i < TKJ_CALL_TENSORS; i++)
        if (tensors[i].slot != TKJ_CALL_SCORE) {
            expect_refusal(i, RULE_DEVICE_TYPE, kDLCUDA, "device is CUDA device 0",
                           "the host, where score is");
            expect_refusal(i, RULE_DEVICE_TYPE, kDLCUDAManaged, "device is CUDA device 0",
                           "the host, where score is");
        }
}

static void other_devices_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < TKJ_CALL_TENSORS; i++)
        expect_refusal(i, RULE_DEVICE_TYPE, kDLROCM, "device is DLPack device type 10",
                       "CPU, CUDA, CUDA host or CUDA managed");
}

/* Everything on the GPUs of a two-GPU machine; the memory is not looked at before the refusal. */
static void tensors_of_two_gpus_are_refused(void **state)
{
    (void)state;
    for (int i = 1; i < TKJ_CALL_TENSORS; i++) {
        tkj_call call;
        char message[256];
        snprintf(message, sizeof message,
                 "%s: device is CUDA device 1, expected CUDA device 0, where score is",
                 tensors[i].name);
        rule_case_open_with(&call, tensors[i].slot);
        for (int slot = 0; slot < TKJ_CALL_TENSORS; slot++)
            rule_case_set(&call, (tkj_call_slot)slot, RULE_DEVICE_TYPE,
                          slot % 2 == 0 ? kDLCUDA : kDLCUDAManaged);
        rule_case_set(&call, tensors[i].slot, RULE_DEVICE_ID, 1);
        rule_case_expect_refusal(&call, message);
    }
}

static void host_tensor_beside_gpu_tensors_is_refused(void **state)
{
    (void)state;
    tkj_call call;
    rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
    rule_case_set(&call, TKJ_CALL_SCORE, RULE_DEVICE_TYPE, kDLCUDA);
    rule_case_set(&call, TKJ_CALL_SCORE, RULE_DEVICE_ID, 3);
    rule_case_set(&call, TKJ_CALL_LENGTHS, RULE_DEVICE_TYPE, kDLCUDAHost);
    rule_case_expect_refusal(&call,
                             "lengths: device is the host, expected CUDA device 3, where score is");
}

static void pageable_and_pinned_host_memory_mix(void **state)
{
    (void)state;
    for (int pinned = 0; pinned < TKJ_CALL_TENSORS; pinned++) {
        tkj_call call;
        rule_case_open(&call, TOPK_JIT_LAYOUT_PLAIN);
        rule_case_set(&call, (tkj_call_slot)pinned, RULE_DEVICE_TYPE, kDLCUDAHost);
        rule_case_set(&call, (tkj_call_slot)pinned, RULE_DEVICE_ID, 1);
        rule_case_expect_success(&call);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_unbroken_call_is_legal),
        cmocka_unit_test(another_rank_is_refused),
        cmocka_unit_test(sixty_four_bit_elements_are_refused_by_name),
        cmocka_unit_test(dtype_of_another_kind_is_refused),
        cmocka_unit_test(values_have_the_dtype_of_the_score),
        cmocka_unit_test(negative_size_is_refused),
        cmocka_unit_test(missing_shape_is_refused),
        cmocka_unit_test(null_data_is_refused_where_there_are_elements),
        cmocka_unit_test(address_is_aligned_to_its_element),
        cmocka_unit_test(int64_indices_are_aligned_to_eight_bytes),
        cmocka_unit_test(extent_beyond_the_address_space_is_refused),
        cmocka_unit_test(negative_stride_is_refused),
        cmocka_unit_test(rows_of_two_dimensional_tensors_are_contiguous),
        cmocka_unit_test(every_tensor_is_on_the_device_of_the_score),
        cmocka_unit_test(other_devices_are_refused),
        cmocka_unit_test(tensors_of_two_gpus_are_refused),
        cmocka_unit_test(host_tensor_beside_gpu_tensors_is_refused),
        cmocka_unit_test(pageable_and_pinned_host_memory_mix),
    };
    return cmocka_run_group_tests_name("problem_select_tensors", tests, rule_case_setup,
                                       rule_case_teardown);
}
