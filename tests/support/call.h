/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file call.h
 * @brief One call of topk_jit_select with all its tensors in guarded host memory: what random cases
 *        and GPU tests are made of.
 */
#ifndef TKJ_CALL_H
#define TKJ_CALL_H

#include <stdbool.h>
#include <topk_jit/topk_jit.h>

#include "guarded.h"

/** A tensor and its memory. The memory around and between its rows is poisoned. */
typedef struct tkj_call_tensor {
    tkj_guarded memory;
    DLTensor tensor;
    int64_t shape[2];
    int64_t strides[2];
} tkj_call_tensor;

/** Which tensor. */
typedef enum tkj_call_slot {
    TKJ_CALL_SCORE,
    TKJ_CALL_LENGTHS,
    TKJ_CALL_ROW_STARTS,
    TKJ_CALL_ROW_ENDS,
    TKJ_CALL_PAGE_TABLE,
    TKJ_CALL_PAGE_TABLE_ROW_STARTS,
    TKJ_CALL_CU_SEQLENS_Q,
    TKJ_CALL_ROW_TO_BATCH,
    TKJ_CALL_OFFSET,
    TKJ_CALL_INDICES, /* outputs from here on */
    TKJ_CALL_RAW_INDICES,
    TKJ_CALL_VALUES,
    TKJ_CALL_TENSORS
} tkj_call_slot;

/** A call. A tensor whose block is NULL is absent. */
typedef struct tkj_call {
    topk_jit_spec spec;
    topk_jit_select_args args; /* all but the tensors */
    tkj_call_tensor tensors[TKJ_CALL_TENSORS];
    uint32_t check_counts[8];
} tkj_call;

/** As a tensor of DLPack names it. */
DLDataType tkj_dlpack_dtype(topk_jit_dtype dtype);

/** An empty call of a spec: layout, k, page size and options are set, no tensor is. */
void tkj_call_init(tkj_call *call, const topk_jit_spec *spec);

/** Frees every tensor. */
void tkj_call_release(tkj_call *call);

/**
 * Adds a tensor. Vectors have one column; stride is from row to row, in elements, and 0 makes all
 * rows one.
 * @param shift  elements by which the data misses a 16-byte boundary
 * @return its first element
 */
void *tkj_call_add(tkj_call *call, tkj_call_slot slot, topk_jit_dtype dtype, int rank, int64_t rows,
                   int64_t columns, int64_t stride, size_t shift);

/** Where a tensor's fields in the arguments are: the arguments with every tensor of the call. */
topk_jit_select_args tkj_call_args(tkj_call *call);

/** Poisons the outputs and clears the counts. */
void tkj_call_poison(tkj_call *call);

/** Judges outputs, guards and counts. @return false with a message of TKJ_JUDGE_MESSAGE_SIZE */
bool tkj_call_judge(tkj_call *call, char *message);

/** Bytes of an output, for comparing two engines. */
bool tkj_call_same_outputs(const tkj_call *a, const tkj_call *b);

/** Bounds of random calls. */
typedef struct tkj_call_limits {
    int64_t rows;  /* B is at most this */
    int64_t width; /* L is at most this */
} tkj_call_limits;

/** A random legal call of a spec: shapes, strides, inputs, lengths, scores; raw_indices are always
 *  there for the judge. The same seed gives the same call. */
void tkj_call_random(tkj_call *call, const topk_jit_spec *spec, uint64_t seed,
                     tkj_call_limits limits);

#endif /* TKJ_CALL_H */
