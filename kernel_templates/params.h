/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file params.h
 * @brief What the host tells an engine about one call: the one parameter of every kernel, and the
 *        input of the host engine. Compiled by NVRTC, which has no standard headers, and by C11.
 *
 * The host has checked everything that can be checked without reading tensor data; what the data
 * says (lengths, starts, tables) is clamped by the engine.
 */
#ifndef TKJ_PARAMS_H
#define TKJ_PARAMS_H

/* Version of the templates' contract with the library; a directory that carries another one is not
   used. Raise it with every change of this file or of what preludes define. */
#define TKJ_TEMPLATE_ABI 5

#ifdef __CUDACC_RTC__
typedef signed char tkj_i8;
typedef unsigned char tkj_u8;
typedef unsigned short tkj_u16;
typedef int tkj_i32;
typedef unsigned int tkj_u32;
typedef long long tkj_i64;
typedef unsigned long long tkj_u64;
#else
#include <stdint.h>
typedef int8_t tkj_i8;
typedef uint8_t tkj_u8;
typedef uint16_t tkj_u16;
typedef int32_t tkj_i32;
typedef uint32_t tkj_u32;
typedef int64_t tkj_i64;
typedef uint64_t tkj_u64;
#endif

#ifdef __cplusplus
#define TKJ_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define TKJ_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

/* Values of TKJ_DTYPE and TKJ_LAYOUT, as in topk_jit_dtype and topk_jit_layout. */
#define TKJ_FLOAT32 0
#define TKJ_FLOAT16 1
#define TKJ_BFLOAT16 2
#define TKJ_FLOAT64 3
#define TKJ_INT32 4
#define TKJ_INT64 5
#define TKJ_PLAIN 0
#define TKJ_PAGED 1
#define TKJ_RAGGED 2

/* Slots of check_counts, as in topk_jit_select_args. */
#define TKJ_CHECK_ROW_STARTS 0
#define TKJ_CHECK_LENGTHS 1
#define TKJ_CHECK_CU_SEQLENS_Q 2
#define TKJ_CHECK_ROW_TO_BATCH 3
#define TKJ_CHECK_PAGE_ENTRY 4
#define TKJ_CHECK_UNMAPPED_PAGE 5
#define TKJ_CHECK_VALUE 6

/* What the first launch of select_split.cu leaves of a row for the second one: 16 bytes a part, and
   a list of 6144 scores with their positions. */
#define TKJ_SPLIT_PARTS_MAX 16
#define TKJ_SPLIT_ROW_BYTES (TKJ_SPLIT_PARTS_MAX * 16 + 6144 * 8)

/* A line that fast_topk_general.cu copies to shared memory first. */
#define TKJ_STAGED_BYTES 32768

/** One-dimensional int32 input: element i is at data[i * stride]. NULL data = absent. */
typedef struct tkj_vector {
    const tkj_i32 *data;
    tkj_i64 stride;
} tkj_vector;

/* What `simple` says. Its lowest bit: each row i has table row i, with an entry for each of its
   positions. The rest, in units of TKJ_STARTED: what simple_stride would be without row_starts. */
#define TKJ_SIMPLE_TABLE 1u
#define TKJ_STARTED 2u

/** One selection. Strides are in elements. A GPU fetches parameters by lines of 64 bytes: what is
 * needed before scores can be read is in the first one, whose first 16 bytes are the GPU's; what
 * most calls need to write, in the second one. */
typedef struct tkj_select_params {
    const void *score; /* row i at score + i * score_stride */
    tkj_i64 score_stride;
    tkj_i64 width; /* L */
    tkj_i64 rows;  /* B */
    const tkj_i32 *lengths;
    tkj_i32 simple_stride; /* not 0: row i's window is [0, lengths[i * simple_stride]) and R = B */
    tkj_u32 simple;        /* see TKJ_STARTED */

    void *indices; /* int32 or int64, as the spec says */
    tkj_i64 indices_stride;
    tkj_i32 *raw_indices;      /* NULL = not wanted */
    void *values;              /* NULL = not wanted */
    const tkj_i32 *page_table; /* table row b at page_table + b * page_table_stride */
    tkj_i64 page_table_stride;
    tkj_vector row_starts;

    tkj_vector offsets; /* ragged: topk_indices_offset */
    tkj_i64 raw_indices_stride;
    tkj_i64 values_stride;
    tkj_i64 out_rows;      /* R >= B; rows beyond B are padding */
    tkj_u32 *check_counts; /* NULL unless the spec has check */

    tkj_i64 next_n;           /* row i = b * next_n + j */
    tkj_i64 lengths_stride_b; /* its length: lengths[b * stride_b + j * stride_j] */
    tkj_i64 lengths_stride_j;
    tkj_i64 lengths_step;   /* 1: minus (next_n - 1 - j), never below 0; 0: as it is */
    tkj_i64 compress_ratio; /* divides the length */
    tkj_vector row_ends;

    tkj_i64 page_table_rows;  /* batch of the table */
    tkj_i64 page_table_width; /* P */
    tkj_vector page_table_row_starts;
    tkj_vector cu_seqlens_q;
    tkj_i64 cu_batch; /* its size - 1 */
    tkj_vector row_to_batch;

    void *workspace; /* select_split.cu: TKJ_SPLIT_ROW_BYTES a row, at a multiple of 256 */
    tkj_u32 parts;   /* blocks that list one row: a power of two, at most TKJ_SPLIT_PARTS_MAX */
    tkj_u32 launch;  /* of the two of a call: 0, then 1 */
} tkj_select_params;

TKJ_STATIC_ASSERT(sizeof(tkj_select_params) == 304, "host and device must agree on the layout");

/** Outer dimensions that fast_topk can walk: 64 less the one that is searched. */
#define TKJ_FAST_TOPK_DIMS 63

/** One outer dimension of fast_topk: its size, and its stride in each tensor in elements. */
typedef struct tkj_outer_dim {
    tkj_i64 size;
    tkj_i64 in_stride;
    tkj_i64 values_stride;
    tkj_i64 indices_stride;
} tkj_outer_dim;

/** One fast_topk: rows = the product of the outer sizes; the last outer dimension varies fastest.
 */
typedef struct tkj_fast_topk_params {
    const void *in;
    void *values;
    tkj_i64 *indices;
    tkj_i64 rows;
    tkj_i64 size;      /* of the searched dimension */
    tkj_i64 in_stride; /* along it, in each tensor */
    tkj_i64 values_stride;
    tkj_i64 indices_stride;
    tkj_i64 outer_dims;
    tkj_u32 lines; /* that a block takes at once */
    tkj_u32 lanes; /* fast_topk_max.cu: of them, those that the lanes of a warp share out */
    tkj_outer_dim outer[TKJ_FAST_TOPK_DIMS];
} tkj_fast_topk_params;

TKJ_STATIC_ASSERT(sizeof(tkj_fast_topk_params) == 80 + 32 * TKJ_FAST_TOPK_DIMS,
                  "host and device must agree on the layout");

#endif /* TKJ_PARAMS_H */
