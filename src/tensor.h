/* SPDX-License-Identifier: Apache-2.0 */
/** @file tensor.h @brief One DLTensor, checked and resolved, with messages that name it. Pure. */
#ifndef TKJ_TENSOR_H
#define TKJ_TENSOR_H

#include <stdbool.h>
#include <stdint.h>
#include <topk_jit/topk_jit.h>

#include "status.h"

/** A tensor as the problems see it. Strides are in elements. */
typedef struct tkj_view {
    const char *name; /* of the argument */
    void *data;       /* with byte_offset */
    DLDevice device;
    topk_jit_dtype dtype;
    uint16_t element;  /* bytes of one */
    bool matrix;       /* or a vector: of no more dimensions than shape has room for */
    int64_t shape[2];  /* of the first two dimensions; 1 where there are fewer */
    int64_t stride[2]; /* 0 for a dimension of size 0 or 1, whose stride says nothing */
    uintptr_t begin;   /* bytes from the first element to behind the last; equal if empty */
    uintptr_t end;
} tkj_view;

/** Records "name: what is given, expected expected"; what == NULL: the argument itself.
 *  @return TOPK_JIT_INVALID_ARGUMENT */
TKJ_COLD topk_jit_status tkj_reject(const char *name, const char *what, const char *given,
                                    const char *expected);
/** As tkj_reject, for numbers. */
TKJ_COLD topk_jit_status tkj_reject_number(const char *name, const char *what, int64_t given,
                                           const char *expected);
/** As tkj_reject, with an expected number behind the text. */
TKJ_COLD topk_jit_status tkj_reject_size(const char *name, const char *what, int64_t given,
                                         const char *expected, int64_t size);

/** What one argument may be. */
typedef struct tkj_tensor_rule {
    const char *name;
    int rank_min;
    int rank_max;
    unsigned dtypes; /* bit d is set if topk_jit_dtype d is allowed */
} tkj_tensor_rule;

/**
 * Reads a tensor: present, rank, shape, a dtype of the rule's, alignment, that its extent fits the
 * address space, and that it is where the first one is.
 * @param first  NULL: this is the first one, which may be on any device that the library knows
 */
topk_jit_status tkj_view_read(const tkj_tensor_rule *rule, const DLTensor *tensor,
                              const tkj_view *first, tkj_view *out);

/** Stride of a dimension: strides == NULL is compact row-major. */
int64_t tkj_tensor_stride(const DLTensor *tensor, int dimension);

/** Memory that is no tensor, such as check_counts, as a view for the overlap check. */
tkj_view tkj_view_of_bytes(const char *name, void *data, size_t size, DLDevice device);

/** True for memory that the host engine works on. */
bool tkj_device_is_host(DLDevice device);

/** True if what the tensors span has a byte in common: those that do not, do not overlap. */
static inline bool tkj_view_ranges_meet(const tkj_view *a, const tkj_view *b)
{
    return a->begin < b->end && b->begin < a->end;
}

/** Checks that an output shares no byte with another tensor. Two tensors of one row pitch whose
 * byte columns are separate (halves of a wider buffer) do not overlap. */
topk_jit_status tkj_view_check_overlap(const tkj_view *output, const tkj_view *other);

#endif /* TKJ_TENSOR_H */
