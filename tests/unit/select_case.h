/* SPDX-License-Identifier: Apache-2.0 */
/** @file select_case.h @brief One selection on guarded host memory: build, run, judge. */
#ifndef TKJ_SELECT_CASE_H
#define TKJ_SELECT_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "guarded.h"
#include "host.h"
#include "judge.h"
#include "memory.h"
#include "scores.h"

/** Sizes of the tensors; whatever is 0 is as small as it can be. */
typedef struct select_shape {
    int64_t rows;
    int64_t width;
    int64_t padded_rows; /**< outputs have so many rows more */
    int64_t score_gap;   /**< columns between the rows of the scores */
    int64_t out_gap;     /**< columns between the rows of each output */
    size_t shift;        /**< elements by which each tensor misses a 16-byte boundary */
} select_shape;

/** A selection with all three outputs. Change params between open and run as the test needs. */
typedef struct select_case {
    topk_jit_spec spec;
    tkj_select_params params;
    tkj_guarded score, indices, raw_indices, values;
} select_case;

/** Scores start as NaN, +inf and 1e30: garbage that must not matter outside a window. */
void select_case_open(select_case *c, topk_jit_spec spec, select_shape shape);
void select_case_close(select_case *c);

/** Fills the scores [start, start + length) of a row. */
void select_case_fill(select_case *c, int64_t row, int64_t start, int64_t length,
                      tkj_scores_distribution distribution, uint64_t seed);

/** Writes scores [0, count) of a row. */
void select_case_write(select_case *c, int64_t row, const float *scores, int64_t count);

/** Runs the host engine; fails the test unless the judge and the guards find nothing. */
void select_case_run(select_case *c);

/** What slot of row holds. */
int64_t select_case_index(const select_case *c, int64_t row, int64_t slot);
int64_t select_case_raw(const select_case *c, int64_t row, int64_t slot);

/** Compares a row's indices, or its raw ones, with topk listed ones. */
void select_case_expect(const select_case *c, int64_t row, const int64_t *indices);
void select_case_expect_raw(const select_case *c, int64_t row, const int64_t *positions);

#define EXPECT_ROW(c, row, ...) select_case_expect(c, row, (const int64_t[]){__VA_ARGS__})
#define EXPECT_RAW(c, row, ...) select_case_expect_raw(c, row, (const int64_t[]){__VA_ARGS__})

/** A vector over an array. */
#define VECTOR(array) ((tkj_vector){(array), 1})

/** A plain float32 selection of k with one right output only: deterministic. */
topk_jit_spec select_case_spec(int64_t k);

/** As select_case_spec, in the paged layout. */
topk_jit_spec select_case_paged_spec(int64_t k, int64_t page_size);

/** Opens rows that all hold the scores 5, 1, 9, 3, 7, 2 (by a row stride of 0): the largest are at
 *  positions 2, 4, 0, 3, 5, 1. */
void select_case_open_six(select_case *c, topk_jit_spec spec, int64_t rows);

/** Gives the case a page table, which is borrowed. */
void select_case_set_table(select_case *c, const int32_t *table, int64_t rows, int64_t width);

#endif /* TKJ_SELECT_CASE_H */
