/* SPDX-License-Identifier: Apache-2.0 */
/* Every shape, stride and dtype that topk_jit_fast_topk takes. */
#include "fast_topk_case.h"

#include <string.h>

#include "problem.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void every_dtype_is_legal(void **state)
{
    (void)state;
    static const DLDataType dtypes[] = {{kDLFloat, 32, 1}, {kDLFloat, 16, 1}, {kDLBfloat, 16, 1},
                                        {kDLFloat, 64, 1}, {kDLInt, 32, 1},   {kDLInt, 64, 1}};
    for (size_t i = 0; i < COUNT(dtypes); i++)
        for (int64_t dim = -3; dim < 3; dim++) {
            fast_topk_case c;
            fast_topk_case_open_shape(&c, dtypes[i], 3, (const int64_t[]){3, 5, 4}, dim, 2);
            fast_topk_case_expect_success(&c);
        }
}

static void every_rank_from_0_to_64_is_legal(void **state)
{
    (void)state;
    int64_t shape[64];
    for (int rank = 0; rank <= 64; rank++) {
        fast_topk_case c;
        for (int d = 0; d < rank; d++)
            shape[d] = d % 11 == 3 ? 2 : 1;
        if (rank > 0)
            shape[rank / 2] = 5;
        fast_topk_case_open_shape(&c, (DLDataType){kDLFloat, 32, 1}, rank, shape, rank / 2,
                                  rank > 0 ? 3 : 1);
        fast_topk_case_expect_success(&c);
    }
}

/* Turns a tensor's dimension round: its first element is then the last in memory. */
static void turn(fast_topk_case *c, int i, int d)
{
    int64_t way = (c->shapes[i][d] - 1) * c->strides[i][d];
    c->tensors[i].byte_offset += (uint64_t)(way * (int64_t)c->memory[i].element_size);
    c->strides[i][d] = -c->strides[i][d];
}

static void negative_strides_are_legal_everywhere(void **state)
{
    (void)state;
    for (int turned = 0; turned < 1 << 9; turned++) {
        fast_topk_case c;
        fast_topk_case_open(&c);
        for (int bit = 0; bit < 9; bit++)
            if (turned >> bit & 1)
                turn(&c, bit / 3, bit % 3);
        fast_topk_case_expect_success(&c);
    }
}

static void transposed_and_expanded_tensors_are_legal(void **state)
{
    (void)state;
    fast_topk_case c;
    fast_topk_case_open(&c); /* outputs with dimension 0 innermost */
    for (int i = OUT_VALUES; i < TENSORS; i++)
        memcpy(c.strides[i], (const int64_t[]){1, 3, 6}, 3 * sizeof(int64_t));
    fast_topk_case_expect_success(&c);
    fast_topk_case_open(&c);
    memset(c.strides[VALUES], 0, 3 * sizeof(int64_t)); /* one element everywhere */
    fast_topk_case_expect_success(&c);
    fast_topk_case_open(&c);
    for (int i = 0; i < TENSORS; i++)
        c.tensors[i].strides = NULL;
    fast_topk_case_expect_success(&c);
}

static void strides_of_single_elements_are_ignored(void **state)
{
    (void)state;
    fast_topk_case c;
    fast_topk_case_open_shape(&c, (DLDataType){kDLFloat, 32, 1}, 3, (const int64_t[]){1, 5, 1}, 1,
                              1);
    for (int i = 0; i < TENSORS; i++)
        c.strides[i][0] = c.strides[i][2] = INT64_MIN;
    c.strides[OUT_VALUES][1] = c.strides[OUT_INDICES][1] = 0;
    fast_topk_case_expect_success(&c);
}

static void tensors_without_elements_are_legal(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {
        {0, 5, 3, 2}, {2, 5, 0, 2}, {0, 5, INT64_MAX, INT64_MAX}, {INT64_MAX, 5, INT64_MAX, 0}};
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (int compact = 0; compact < 2; compact++) {
            fast_topk_case c;
            fast_topk_case_open_shape(&c, (DLDataType){kDLFloat, 32, 1}, 4,
                                      (const int64_t[]){1, 5, 1, 1}, 1, 2);
            for (int i = 0; i < TENSORS; i++)
                for (int d = 0; d < 4; d++) {
                    c.shapes[i][d] = d == 1 && i != VALUES ? 2 : shapes[s][d];
                    c.strides[i][d] = INT64_MAX - d;
                    c.tensors[i].strides = compact ? NULL : c.strides[i];
                    c.tensors[i].data = NULL;
                }
            assert_int_equal(fast_topk_case_run(&c), TOPK_JIT_OK);
            fast_topk_case_expect_poison(&c);
            fast_topk_case_close(&c);
        }
}

static void no_rows_on_a_gpu_need_no_gpu(void **state)
{
    (void)state;
    fast_topk_case c;
    fast_topk_case_open(&c);
    for (int i = 0; i < TENSORS; i++) {
        fast_topk_case_set(&c, i, SIZE_0, 0);
        fast_topk_case_set(&c, i, DEVICE, kDLCUDA);
    }
    assert_int_equal(fast_topk_case_run(&c), TOPK_JIT_OK);
    fast_topk_case_close(&c);
}

static void dimensions_that_continue_each_other_become_one(void **state)
{
    (void)state;
    tkj_fast_topk_problem problem;
    fast_topk_case c;
    fast_topk_case_open_shape(&c, (DLDataType){kDLFloat, 32, 1}, 5,
                              (const int64_t[]){2, 1, 3, 4, 7}, -1, 2);
    assert_int_equal(tkj_problem_fast_topk(&c.tensors[VALUES], 2, -1, &c.tensors[OUT_VALUES],
                                           &c.tensors[OUT_INDICES], &problem),
                     TOPK_JIT_OK);
    assert_int_equal(problem.params.outer_dims, 1);
    assert_int_equal(problem.params.rows, 24);
    assert_int_equal(problem.params.outer[0].size, 24);
    assert_int_equal(problem.params.outer[0].in_stride, 7);
    assert_int_equal(problem.params.outer[0].values_stride, 2);
    assert_int_equal(problem.params.size, 7);
    assert_int_equal(problem.shape.rows, 24);
    assert_int_equal(problem.shape.width, 7);
    c.strides[OUT_INDICES][0] *= 2; /* now the outermost goes its own way */
    assert_int_equal(tkj_problem_fast_topk(&c.tensors[VALUES], 2, -1, &c.tensors[OUT_VALUES],
                                           &c.tensors[OUT_INDICES], &problem),
                     TOPK_JIT_OK);
    assert_int_equal(problem.params.outer_dims, 2);
    assert_int_equal(problem.params.rows, 24);
    fast_topk_case_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dtype_is_legal),
        cmocka_unit_test(every_rank_from_0_to_64_is_legal),
        cmocka_unit_test(negative_strides_are_legal_everywhere),
        cmocka_unit_test(transposed_and_expanded_tensors_are_legal),
        cmocka_unit_test(strides_of_single_elements_are_ignored),
        cmocka_unit_test(tensors_without_elements_are_legal),
        cmocka_unit_test(no_rows_on_a_gpu_need_no_gpu),
        cmocka_unit_test(dimensions_that_continue_each_other_become_one),
    };
    return cmocka_run_group_tests_name("problem_fast_topk_shapes", tests, fast_topk_case_setup,
                                       fast_topk_case_teardown);
}
