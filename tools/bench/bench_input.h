/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_input.h @brief A case in device memory: its buffers, and the call on them. */
#ifndef TKJ_BENCH_INPUT_H
#define TKJ_BENCH_INPUT_H

#include "bench_call.h"
#include "bench_gpu.h"
#include "bench_rows.h"

/** The buffers of a case. Scores and page table are there `copies` times: 1 hot, more cold. */
typedef struct bench_input {
    const bench_gpu *gpu;
    bench_rows rows;
    bench_call call; /* every tensor but those of absent inputs is in device memory */
    int copies;
    size_t score_bytes; /* from copy to copy */
    size_t table_bytes;
    int next; /* copy of the next call */
} bench_input;

/** Makes everything. The input must not be moved. */
void bench_input_create(bench_input *input, const bench_gpu *gpu, const bench_case *what);
void bench_input_destroy(bench_input *input);

/** Copies that together exceed twice L2. */
int bench_input_copies(const bench_case *what, const tkj_device_facts *facts);

/** Enqueues the call on the next copy. @param raw  with raw_indices, also if the case has none */
topk_jit_status bench_input_enqueue(bench_input *input, bool raw, CUstream stream);

/** Address of a tensor. */
void *bench_input_data(const bench_input *input, bench_slot slot);

#endif /* TKJ_BENCH_INPUT_H */
