/* SPDX-License-Identifier: Apache-2.0 */
/** @file problem_reader.h @brief One topk_jit_select_args while it is being read, step by step. */
#ifndef TKJ_PROBLEM_READER_H
#define TKJ_PROBLEM_READER_H

#include <string.h>
#include <topk_jit/topk_jit.h>

#include "params.h"
#include "tensor.h"

#define TKJ_INT32_ONLY (1u << TOPK_JIT_INT32)

#define TKJ_READER_VIEWS_MAX 15

/** A call while it is being read. Views: inputs first, then outputs; the first one is the score. */
typedef struct tkj_reader {
    const topk_jit_select_args *args;
    tkj_select_params *params; /* zeroed at first */
    int64_t next_n;
    int64_t rows;  /* B */
    int64_t width; /* L */
    size_t count;
    size_t first_output;
    tkj_view views[TKJ_READER_VIEWS_MAX];
} tkj_reader;

/** Zeroes, in pieces that compilers make stores of: of the whole they make an instruction that is
 * slow to start. */
static inline void tkj_select_params_clear(tkj_select_params *params)
{
    char *bytes = (char *)params;
    memset(bytes, 0, 64);
    memset(bytes + 64, 0, 64);
    memset(bytes + 128, 0, 64);
    memset(bytes + 192, 0, 64);
    memset(bytes + 256, 0, sizeof *params - 256);
}

/* The steps, in this order. Each reads some of the arguments, fills what they say into params, and
   returns TOPK_JIT_OK or TOPK_JIT_INVALID_ARGUMENT with a message that names the argument. */
topk_jit_status tkj_read_score(tkj_reader *r);
topk_jit_status tkj_read_numbers(tkj_reader *r);
topk_jit_status tkj_read_window(tkj_reader *r);
topk_jit_status tkj_read_layout(tkj_reader *r);
topk_jit_status tkj_read_outputs(tkj_reader *r);

/** Reads one more tensor. @param[out] out  borrowed from the reader */
static inline topk_jit_status tkj_reader_take(tkj_reader *r, const tkj_tensor_rule *rule,
                                              const DLTensor *tensor, const tkj_view **out)
{
    tkj_view *view = &r->views[r->count];
    const tkj_view *first = r->count++ > 0 ? &r->views[0] : NULL;
    *out = view;
    return tkj_view_read(rule, tensor, first, view);
}

/** A one-dimensional int32 input of at least `size` entries. */
topk_jit_status tkj_reader_take_vector(tkj_reader *r, const char *name, const DLTensor *tensor,
                                       int64_t size, tkj_vector *out);

/** The same for one that need not be given, as most of them are not. */
static inline topk_jit_status tkj_reader_take_optional(tkj_reader *r, const char *name,
                                                       const DLTensor *tensor, int64_t size,
                                                       tkj_vector *out)
{
    return tensor == NULL ? TOPK_JIT_OK : tkj_reader_take_vector(r, name, tensor, size, out);
}

/** Checks that a stride which says something is at least so large. */
topk_jit_status tkj_reader_check_stride(const tkj_view *view, int dimension, int64_t least);

/** Checks that the elements of each row are neighbours, and that rows are at least so far
 *  apart. */
topk_jit_status tkj_reader_check_rows(const tkj_view *view, int64_t least);

/** Rows without columns may have any stride: engines are spared multiplying it. */
int64_t tkj_reader_stride_of_rows(const tkj_view *view);

#endif /* TKJ_PROBLEM_READER_H */
