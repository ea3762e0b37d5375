/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_rows.h @brief The input of a case in host memory: what is uploaded and judged. */
#ifndef TKJ_BENCH_ROWS_H
#define TKJ_BENCH_ROWS_H

#include "bench_case.h"

/** Score rows and table rows are given once each; row i has row i modulo their number. */
typedef struct bench_rows {
    void *scores; /* (distinct, width), garbage outside the windows */
    int64_t distinct;
    int32_t *lengths; /* one a row */
    int32_t *starts;
    int32_t *offsets;      /* ragged, else NULL */
    int32_t *row_to_batch; /* paged, else NULL */
    int32_t *row_to_table; /* the same, among the rows that are given */
    int32_t *table;        /* (tables, entries); paged, else NULL */
    int64_t tables;
    int64_t entries;
} bench_rows;

/** Makes it; the same case gives the same bytes. */
void bench_rows_create(bench_rows *rows, const bench_case *what);
void bench_rows_destroy(bench_rows *rows);

/** malloc that ends the program if there is no memory. */
void *bench_allocate(size_t size);

#endif /* TKJ_BENCH_ROWS_H */
