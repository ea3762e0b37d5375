/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule of topk_jit_fast_topk through the public function: refused calls write nothing. */
#include "fast_topk_case.h"

#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void scalar_has_the_dimensions_0_and_minus_1(void **state)
{
    (void)state;
    for (int64_t dim = -2; dim <= 1; dim++) {
        fast_topk_case c;
        char message[128];
        fast_topk_case_open_shape(&c, (DLDataType){kDLFloat, 32, 1}, 0, (const int64_t[]){1}, 0, 1);
        c.dim = dim;
        snprintf(message, sizeof message,
                 "dim is %d, expected below the rank and at least minus the rank, 1", (int)dim);
        if (dim == 0 || dim == -1)
            fast_topk_case_expect_success(&c);
        else
            fast_topk_case_expect_refusal(&c, message);
    }
}

static void topk_goes_from_1_to_the_size_of_dim(void **state)
{
    (void)state;
    static const int64_t topks[] = {INT64_MIN, -1, 0, 6, INT64_MAX};
    for (int64_t topk = 1; topk <= 5; topk++) {
        fast_topk_case c;
        fast_topk_case_open_shape(&c, (DLDataType){kDLFloat, 32, 1}, 3, (const int64_t[]){3, 5, 4},
                                  1, topk);
        fast_topk_case_expect_success(&c);
    }
    for (size_t i = 0; i < COUNT(topks); i++) {
        fast_topk_case c;
        char message[128];
        fast_topk_case_open(&c);
        c.topk = topks[i];
        snprintf(message, sizeof message, "topk is %lld, expected from 1 to the size of dim, 5",
                 (long long)topks[i]);
        fast_topk_case_expect_refusal(&c, message);
    }
}

static void dim_beyond_the_rank_is_refused(void **state)
{
    (void)state;
    static const int64_t dims[] = {INT64_MIN, -4, 3, INT64_MAX};
    for (size_t i = 0; i < COUNT(dims); i++) {
        fast_topk_case c;
        char message[128];
        fast_topk_case_open(&c);
        c.dim = dims[i];
        snprintf(message, sizeof message,
                 "dim is %lld, expected below the rank and at least minus the rank, 3",
                 (long long)dims[i]);
        fast_topk_case_expect_refusal(&c, message);
    }
}

static void broken_tensors_are_refused(void **state)
{
    (void)state;
    static const struct {
        int tensor, part;
        int64_t value;
        const char *message;
    } rules[] = {
        {VALUES, RANK, 65, "values: rank is 65, expected from 0 to 64"},
        {VALUES, RANK, -1, "values: rank is -1, expected from 0 to 64"},
        {VALUES, BITS, 8,
         "values: dtype is DLPack code 2, 8 bits, 1 lanes, expected float32 or float16 or bfloat16 "
         "or float64 or int32 or int64"},
        {VALUES, SIZE_0, -3, "values: a size of the shape is -3, expected at least 0"},
        {VALUES, DATA, 0, "values: data is NULL, expected memory, since the tensor has elements"},
        {VALUES, OFFSET, 2, "values: the address modulo its element's size is 2, expected 0"},
        {VALUES, STRIDE_0, INT64_MIN,
         "values: the extent in bytes is beyond the address space, expected a smaller shape or "
         "stride"},
        {VALUES, DEVICE, kDLOpenCL,
         "values: device is DLPack device type 4, expected CPU, CUDA, CUDA host or CUDA managed"},
        {OUT_VALUES, RANK, 2, "out_values: rank is 2, expected that of values, 3"},
        {OUT_VALUES, BITS, 64, "out_values: dtype is float64, expected float32"},
        {OUT_VALUES, CODE, kDLInt, "out_values: dtype is int32, expected float32"},
        {OUT_VALUES, SIZE_0, 2, "out_values: a size off dim is 2, expected 3"},
        {OUT_VALUES, SIZE_1, 3, "out_values: its size along dim is 3, expected 2"},
        {OUT_VALUES, SIZE_2, 5, "out_values: a size off dim is 5, expected 4"},
        {OUT_VALUES, DATA, 0,
         "out_values: data is NULL, expected memory, since the tensor has elements"},
        {OUT_VALUES, OFFSET, 1,
         "out_values: the address modulo its element's size is 1, expected 0"},
        {OUT_VALUES, STRIDE_2, 0,
         "out_values: strides is putting two elements in one place, expected a place for each"},
        {OUT_VALUES, STRIDE_1, 3,
         "out_values: strides is putting two elements in one place, expected a place for each"},
        {OUT_VALUES, DEVICE, kDLCUDA,
         "out_values: device is CUDA device 0, expected the host, where values is"},
        {OUT_INDICES, RANK, 4, "out_indices: rank is 4, expected that of values, 3"},
        {OUT_INDICES, BITS, 32, "out_indices: dtype is int32, expected int64"},
        {OUT_INDICES, CODE, kDLFloat, "out_indices: dtype is float64, expected int64"},
        {OUT_INDICES, SIZE_1, 1, "out_indices: its size along dim is 1, expected 2"},
        {OUT_INDICES, OFFSET, 4,
         "out_indices: the address modulo its element's size is 4, expected 0"},
        {OUT_INDICES, STRIDE_0, -4,
         "out_indices: strides is putting two elements in one place, expected a place for each"},
        {OUT_INDICES, DEVICE, kDLCUDAManaged,
         "out_indices: device is CUDA device 0, expected the host, where values is"},
    };
    for (size_t i = 0; i < COUNT(rules); i++) {
        fast_topk_case c;
        fast_topk_case_open(&c);
        c.shapes[OUT_INDICES][3] = 1; /* for the one of rank 4 */
        fast_topk_case_set(&c, rules[i].tensor, rules[i].part, rules[i].value);
        fast_topk_case_expect_refusal(&c, rules[i].message);
    }
}

static void missing_tensors_are_refused(void **state)
{
    (void)state;
    static const char *const messages[] = {"values: the tensor is NULL, expected a tensor",
                                           "out_values: the tensor is NULL, expected a tensor",
                                           "out_indices: the tensor is NULL, expected a tensor"};
    for (int missing = 0; missing < TENSORS; missing++) {
        fast_topk_case c;
        fast_topk_case_open(&c);
        const DLTensor *t[TENSORS];
        for (int i = 0; i < TENSORS; i++)
            t[i] = i == missing ? NULL : &c.tensors[i];
        assert_int_equal(topk_jit_fast_topk(fast_topk_case_context(), t[VALUES], 2, 1,
                                            t[OUT_VALUES], t[OUT_INDICES], NULL),
                         TOPK_JIT_INVALID_ARGUMENT);
        assert_string_equal(topk_jit_last_error()->message, messages[missing]);
        fast_topk_case_expect_poison(&c);
        fast_topk_case_close(&c);
    }
}

static void tensors_of_two_gpus_are_refused(void **state)
{
    (void)state;
    fast_topk_case c;
    fast_topk_case_open(&c);
    for (int i = 0; i < TENSORS; i++)
        fast_topk_case_set(&c, i, DEVICE, kDLCUDA);
    fast_topk_case_set(&c, OUT_INDICES, DEVICE_ID, 1);
    fast_topk_case_expect_refusal(
        &c, "out_indices: device is CUDA device 1, expected CUDA device 0, where values is");
}

static void outputs_share_no_byte_with_anything(void **state)
{
    (void)state;
    static const struct {
        int moved, onto;
        const char *message;
    } overlaps[] = {
        {OUT_VALUES, VALUES,
         "out_values: memory is overlapping values, expected memory of its own"},
        {OUT_INDICES, VALUES,
         "out_indices: memory is overlapping values, expected memory of its own"},
        {OUT_INDICES, OUT_VALUES,
         "out_indices: memory is overlapping out_values, expected memory of its own"},
    };
    for (size_t i = 0; i < COUNT(overlaps); i++) {
        fast_topk_case c;
        fast_topk_case_open(&c);
        uintptr_t onto = (uintptr_t)c.tensors[overlaps[i].onto].data;
        fast_topk_case_set(&c, overlaps[i].moved, DATA, (int64_t)((onto + 7) / 8 * 8));
        fast_topk_case_expect_refusal(&c, overlaps[i].message);
    }
}

static void searched_dimension_without_elements_is_refused(void **state)
{
    (void)state;
    fast_topk_case c;
    fast_topk_case_open(&c);
    fast_topk_case_set(&c, VALUES, SIZE_1, 0);
    fast_topk_case_expect_refusal(&c, "topk is 2, expected from 1 to the size of dim, 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalar_has_the_dimensions_0_and_minus_1),
        cmocka_unit_test(topk_goes_from_1_to_the_size_of_dim),
        cmocka_unit_test(dim_beyond_the_rank_is_refused),
        cmocka_unit_test(broken_tensors_are_refused),
        cmocka_unit_test(missing_tensors_are_refused),
        cmocka_unit_test(tensors_of_two_gpus_are_refused),
        cmocka_unit_test(outputs_share_no_byte_with_anything),
        cmocka_unit_test(searched_dimension_without_elements_is_refused),
    };
    return cmocka_run_group_tests_name("problem_fast_topk", tests, fast_topk_case_setup,
                                       fast_topk_case_teardown);
}
