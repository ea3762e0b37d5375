/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file selection_request.h
 * @brief What a selection is asked for, as it is read from the arguments of Python.
 */
#ifndef TKP_SELECTION_REQUEST_H
#define TKP_SELECTION_REQUEST_H

#include "framework.h"

/** Every tensor of a selection: its name, and what it is in topk_jit_select_args. */
#define TKP_TENSORS(X)                                                                             \
    X(SCORE, score)                                                                                \
    X(LENGTHS, lengths)                                                                            \
    X(ROW_STARTS, row_starts)                                                                      \
    X(ROW_ENDS, row_ends)                                                                          \
    X(PAGE_TABLE, page_table)                                                                      \
    X(PAGE_TABLE_ROW_STARTS, page_table_row_starts)                                                \
    X(CU_SEQLENS_Q, cu_seqlens_q)                                                                  \
    X(ROW_TO_BATCH, row_to_batch)                                                                  \
    X(TOPK_INDICES_OFFSET, topk_indices_offset)                                                    \
    X(INDICES, out)                                                                                \
    X(RAW_INDICES, raw_indices)                                                                    \
    X(VALUES, values)                                                                              \
    X(CHECK_COUNTS, check_counts)                                                                  \
    X(WORKSPACE, workspace)

#define TKP_TENSOR_PLACE(place, name) TKP_##place,
enum { TKP_TENSORS(TKP_TENSOR_PLACE) TKP_TENSOR_COUNT };
#undef TKP_TENSOR_PLACE

/** What a selection is asked for: constants and, borrowed, the tensors. */
typedef struct tkp_request {
    topk_jit_select_args args;           /* numbers and switches only */
    tkp_element index_element;           /* of indices that are allocated */
    bool want_raw_indices, want_values;  /* to be allocated */
    bool whole;                          /* the result is a Selection and not the indices alone */
    PyObject *tensors[TKP_TENSOR_COUNT]; /* NULL or None = absent */
    PyObject *stream;                    /* NULL or None = the framework's current one */
} tkp_request;

/** Names of the tensors in messages, by place. */
extern const char *const tkp_tensor_names[TKP_TENSOR_COUNT];

static inline bool tkp_is_absent(const PyObject *object)
{
    return object == NULL || object == Py_None;
}

/** The constants, in the order of their arguments: see selection_request.c. */
enum { TKP_CONSTANT_COUNT = 12 };
int tkp_request_read_constants(tkp_request *request, PyObject *const *constants);

/** Arguments of select and workspace_size: the tensors, the constants, and the rest. */
enum {
    TKP_STREAM_ARGUMENT = TKP_TENSOR_COUNT + TKP_CONSTANT_COUNT,
    TKP_CONTEXT_ARGUMENT,
    TKP_WHOLE_ARGUMENT,
    TKP_ARGUMENT_COUNT,
};

int tkp_request_read(tkp_request *request, PyObject *const *arguments, Py_ssize_t count);

#endif
