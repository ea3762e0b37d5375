/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_params.h @brief Parameters of the benchmark's own kernels. Compiled by NVRTC and
 * C11.
 */
#ifndef TKJ_BENCH_PARAMS_H
#define TKJ_BENCH_PARAMS_H

/** bench_read_N: reads every score of every row once, and k entries a row of a page table. */
typedef struct bench_read_params {
    const void *score;
    long long pitch;    /* bytes from row to row */
    long long bytes;    /* of each row, if lengths is NULL */
    const int *lengths; /* scores of each row */
    unsigned score_size;
    unsigned rows;
    unsigned pieces; /* so many blocks' turns are a row */
    unsigned gather_rows;
    unsigned gathers; /* of each of them; 0 = none */
    const int *table; /* row i uses row i modulo table_rows */
    long long table_width;
    unsigned table_rows;
    unsigned *sink; /* one word, never written in practice */
} bench_read_params;

/** bench_write: writes -1 everywhere. */
typedef struct bench_write_params {
    int *out; /* aligned to 16 bytes */
    long long words;
} bench_write_params;

/** bench_hold: occupies its multiprocessor until it is told to stop, or for `cycles`. */
typedef struct bench_hold_params {
    unsigned *started; /* set to 1 */
    const unsigned *stop;
    long long cycles;
} bench_hold_params;

#endif /* TKJ_BENCH_PARAMS_H */
