/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_case.h @brief One thing that topk-jit-bench measures. Pure. */
#ifndef TKJ_BENCH_CASE_H
#define TKJ_BENCH_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <topk_jit/topk_jit.h>

#include "scores.h"

/** Where the scores are when a call begins. */
typedef enum bench_mode {
    BENCH_HOT,  /* the same buffer again: in L2 if they fit */
    BENCH_COLD, /* another buffer each call, together more than twice L2 */
} bench_mode;

/** A call's shape, data and options. */
typedef struct bench_case {
    int64_t rows;
    int64_t width;  /* columns of the scores */
    int64_t length; /* of every row, or the longest if mixed */
    int64_t topk;
    int64_t page_size; /* paged, else 0 */
    int64_t sharing;   /* consecutive rows that share a row of the page table, else 1 */
    topk_jit_operation operation;
    topk_jit_layout layout;
    topk_jit_dtype dtype;
    topk_jit_tie_break tie_break;
    tkj_scores_distribution distribution;
    bench_mode mode;
    int32_t max_sms; /* 0 = all */
    bool mixed;      /* lengths are log-uniform in [1, length] */
    bool row_starts; /* windows start off a 16-byte boundary */
    bool held_sm;    /* another kernel occupies one SM */
    bool sorted;
    bool deterministic;
    bool raw_indices;
    bool values;
} bench_case;

/** A plain float32 selection of 2048 from normal scores, hot. Rows and width are to be set; a
 *  length of 0 is the width. */
#define BENCH_CASE_INIT                                                                            \
    {                                                                                              \
        .topk = 2048, .page_size = 64, .sharing = 1                                                \
    }

/** The case with what has no meaning for it removed, so that equal cases compare equal. */
bench_case bench_case_canonical(const bench_case *given);

/** @return NULL, or why a canonical case cannot be measured: a static string */
const char *bench_case_fault(const bench_case *what);

bool bench_case_equal(const bench_case *a, const bench_case *b);

#define BENCH_CASE_TEXT_SIZE 192

/** Writes "B=64 L=8192 hot" and what differs from BENCH_CASE_INIT, such as " W=131072 paged64". */
void bench_case_format(const bench_case *what, char text[BENCH_CASE_TEXT_SIZE]);

/** Writes only what differs, without a blank in front; "" if nothing does. */
void bench_case_format_options(const bench_case *what, char text[BENCH_CASE_TEXT_SIZE]);

/** What is compiled for it. */
topk_jit_spec bench_case_spec(const bench_case *what);

/** Bytes of one score. */
size_t bench_case_score_size(const bench_case *what);

/** Rows whose scores differ; row i has those of row i modulo this many. So a case of many rows
 *  costs a bounded time to make. */
int64_t bench_case_distinct_rows(const bench_case *what);

/** Window of a row, as the contract clamps it. */
int64_t bench_case_start(const bench_case *what, int64_t row);
int64_t bench_case_length(const bench_case *what, int64_t row);

/** Scores in the windows of all rows. */
int64_t bench_case_scores(const bench_case *what);

/** The longest window. */
int64_t bench_case_longest(const bench_case *what);

#endif /* TKJ_BENCH_CASE_H */
