/* SPDX-License-Identifier: Apache-2.0 */
/** @file fast_topk_case.h @brief A legal call of topk_jit_fast_topk, one part of which a test then
 *  breaks. */
#ifndef TKJ_FAST_TOPK_CASE_H
#define TKJ_FAST_TOPK_CASE_H

#include "testing.h"

#include "guarded.h"

/** Tensors of a call. */
enum { VALUES, OUT_VALUES, OUT_INDICES, TENSORS };

/** A call over (3, 5, 4) float32 along dimension 1: the two largest. */
typedef struct fast_topk_case {
    tkj_guarded memory[TENSORS];
    DLTensor tensors[TENSORS];
    int64_t shapes[TENSORS][64];
    int64_t strides[TENSORS][64];
    int64_t topk;
    int64_t dim;
} fast_topk_case;

/** Parts of a tensor that a rule breaks; sizes and strides of dimension 0, 1 and 2. */
enum {
    RANK,
    BITS,
    CODE,
    DATA,
    OFFSET,
    DEVICE,
    DEVICE_ID,
    SIZE_0,
    SIZE_1,
    SIZE_2,
    STRIDE_0,
    STRIDE_1,
    STRIDE_2
};

/** The context of all cases: for cmocka_run_group_tests. */
int fast_topk_case_setup(void **state);
int fast_topk_case_teardown(void **state);
topk_jit_context *fast_topk_case_context(void);

/** Opens the call that fast_topk_case describes. */
void fast_topk_case_open(fast_topk_case *c);

/** Opens a call of any shape and dtype; every element has a value of its own. */
void fast_topk_case_open_shape(fast_topk_case *c, DLDataType dtype, int rank, const int64_t *shape,
                               int64_t dim, int64_t topk);
void fast_topk_case_close(fast_topk_case *c);

/** Changes one part of tensor i. */
void fast_topk_case_set(fast_topk_case *c, int i, int part, int64_t value);

topk_jit_status fast_topk_case_run(fast_topk_case *c);

/** Fails the test unless every byte is as it was. */
void fast_topk_case_expect_poison(const fast_topk_case *c);

/** Makes the call: fails the test unless it is an invalid argument with exactly this message and
 *  wrote nothing. Closes the call. */
void fast_topk_case_expect_refusal(fast_topk_case *c, const char *message);

/** Makes the call: fails the test unless it succeeds and the judge agrees. Closes the call. */
void fast_topk_case_expect_success(fast_topk_case *c);

#endif /* TKJ_FAST_TOPK_CASE_H */
