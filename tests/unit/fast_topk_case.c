/* SPDX-License-Identifier: Apache-2.0 */
#include "fast_topk_case.h"

#include <string.h>

#include "judge.h"
#include "problem.h"

static topk_jit_context *context;

int fast_topk_case_setup(void **state)
{
    (void)state;
    return topk_jit_context_create(&context, NULL) != TOPK_JIT_OK;
}

int fast_topk_case_teardown(void **state)
{
    (void)state;
    topk_jit_context_destroy(context);
    return 0;
}

topk_jit_context *fast_topk_case_context(void)
{
    return context;
}

static void add_tensor(fast_topk_case *c, int i, DLDataType dtype, int rank, const int64_t *shape)
{
    int64_t elements = 1;
    for (int d = rank - 1; d >= 0; d--) {
        c->shapes[i][d] = shape[d];
        c->strides[i][d] = elements;
        elements *= shape[d];
    }
    assert_true(tkj_guarded_create(&c->memory[i], 1, elements, elements, dtype.bits / 8u, 1));
    c->tensors[i] = (DLTensor){
        .data = tkj_guarded_data(&c->memory[i]),
        .device = {kDLCPU, 0},
        .ndim = rank,
        .dtype = dtype,
        .shape = c->shapes[i],
        .strides = c->strides[i],
    };
}

void fast_topk_case_open_shape(fast_topk_case *c, DLDataType dtype, int rank, const int64_t *shape,
                               int64_t dim, int64_t topk)
{
    int64_t out_shape[64];
    memset(c, 0, sizeof *c);
    memcpy(out_shape, shape, (size_t)rank * sizeof *shape);
    if (rank > 0)
        out_shape[dim < 0 ? dim + rank : dim] = topk;
    add_tensor(c, VALUES, dtype, rank, shape);
    add_tensor(c, OUT_VALUES, dtype, rank, out_shape);
    add_tensor(c, OUT_INDICES, (DLDataType){kDLInt, 64, 1}, rank, out_shape);
    unsigned char *bytes = tkj_guarded_data(&c->memory[VALUES]);
    size_t size = (size_t)c->memory[VALUES].columns * c->memory[VALUES].element_size;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(i * 37 + i / 7);
    c->topk = topk;
    c->dim = dim;
}

void fast_topk_case_open(fast_topk_case *c)
{
    fast_topk_case_open_shape(c, (DLDataType){kDLFloat, 32, 1}, 3, (const int64_t[]){3, 5, 4}, 1,
                              2);
}

void fast_topk_case_close(fast_topk_case *c)
{
    for (int i = 0; i < TENSORS; i++)
        tkj_guarded_destroy(&c->memory[i]);
}

topk_jit_status fast_topk_case_run(fast_topk_case *c)
{
    return topk_jit_fast_topk(context, &c->tensors[VALUES], c->topk, c->dim,
                              &c->tensors[OUT_VALUES], &c->tensors[OUT_INDICES], NULL);
}

void fast_topk_case_expect_poison(const fast_topk_case *c)
{
    for (int i = OUT_VALUES; i < TENSORS; i++)
        for (size_t byte = 0; byte < c->memory[i].block_size; byte++)
            assert_int_equal(c->memory[i].block[byte], TKJ_GUARDED_POISON);
}

void fast_topk_case_expect_refusal(fast_topk_case *c, const char *message)
{
    topk_jit_status status = fast_topk_case_run(c);
    if (status != TOPK_JIT_INVALID_ARGUMENT)
        fail_msg("%s, expected a refusal: %s", topk_jit_status_name(status), message);
    assert_string_equal(topk_jit_last_error()->message, message);
    fast_topk_case_expect_poison(c);
    fast_topk_case_close(c);
}

void fast_topk_case_expect_success(fast_topk_case *c)
{
    tkj_fast_topk_problem problem;
    char message[TKJ_JUDGE_MESSAGE_SIZE];
    if (fast_topk_case_run(c) != TOPK_JIT_OK)
        fail_msg("%s", topk_jit_last_error()->message);
    assert_int_equal(tkj_problem_fast_topk(&c->tensors[VALUES], c->topk, c->dim,
                                           &c->tensors[OUT_VALUES], &c->tensors[OUT_INDICES],
                                           &problem),
                     TOPK_JIT_OK);
    if (!tkj_judge_fast_topk(&problem.spec, &problem.params, message))
        fail_msg("%s", message);
    for (int i = OUT_VALUES; i < TENSORS; i++)
        if (!tkj_guarded_verify(&c->memory[i], message, sizeof message))
            fail_msg("%s", message);
    fast_topk_case_close(c);
}

void fast_topk_case_set(fast_topk_case *c, int i, int part, int64_t value)
{
    DLTensor *tensor = &c->tensors[i];
    if (part == RANK)
        tensor->ndim = (int)value;
    else if (part == BITS)
        tensor->dtype.bits = (uint8_t)value;
    else if (part == CODE)
        tensor->dtype.code = (uint8_t)value;
    else if (part == DATA)
        tensor->data = (void *)(uintptr_t)value;
    else if (part == OFFSET)
        tensor->byte_offset = (uint64_t)value;
    else if (part == DEVICE)
        tensor->device.device_type = (DLDeviceType)value;
    else if (part == DEVICE_ID)
        tensor->device.device_id = (int)value;
    else if (part <= SIZE_2)
        c->shapes[i][part - SIZE_0] = value;
    else
        c->strides[i][part - STRIDE_0] = value;
}
