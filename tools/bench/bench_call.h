/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_call.h @brief The call that a case makes: its tensors, wherever their data are.
 * Pure.
 */
#ifndef TKJ_BENCH_CALL_H
#define TKJ_BENCH_CALL_H

#include "bench_case.h"

/** Tensors of a call. */
typedef enum bench_slot {
    BENCH_SCORE,
    BENCH_LENGTHS,
    BENCH_ROW_STARTS,
    BENCH_OFFSETS,
    BENCH_ROW_TO_BATCH,
    BENCH_TABLE,
    BENCH_INDICES, /* outputs from here on */
    BENCH_RAW_INDICES,
    BENCH_VALUES,
    BENCH_SLOTS,
} bench_slot;

/** A compact tensor that owns its shape: it must not be moved. */
typedef struct bench_tensor {
    DLTensor tensor; /* data are set by the owner of the memory */
    int64_t shape[2];
} bench_tensor;

/** All tensors, those too that the case does not have. */
typedef struct bench_call {
    bench_case what;
    bench_tensor tensors[BENCH_SLOTS];
    void *workspace; /* set by the owner of the memory, as the data are; NULL = none */
    size_t workspace_size;
} bench_call;

/** Describes every tensor of a canonical case. */
void bench_call_init(bench_call *call, const bench_case *what);

/** Whether the case has a tensor. Values of fast_topk count as one. */
bool bench_call_has(const bench_call *call, bench_slot slot);

/** Bytes of a tensor. */
size_t bench_call_bytes(const bench_call *call, bench_slot slot);

/** Arguments of a selection. @param raw  with raw_indices, also if the case has none */
topk_jit_select_args bench_call_args(const bench_call *call, bool raw);

#endif /* TKJ_BENCH_CALL_H */
