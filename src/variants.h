/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file variants.h
 * @brief The finite list of kernels of a spec. Pure.
 *
 * It depends on the spec and the GPU's architecture alone, so what is warmed is what is launched.
 */
#ifndef TKJ_VARIANTS_H
#define TKJ_VARIANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <topk_jit/topk_jit.h>

#define TKJ_VARIANTS_MAX 9

/** Lines of any strides that a kernel of fast_topk takes: none, for it selects from rows; any;
 * short ones; for k = 1, of which it finds the maximum. */
typedef enum tkj_line_kind {
    TKJ_LINES_NONE,
    TKJ_LINES_ANY,
    TKJ_LINES_SHORT,
    TKJ_LINES_MAXIMUM
} tkj_line_kind;

/** One kernel: a template and its tuning constants. */
typedef struct tkj_variant {
    const char *name;          /* "general": part of the kernel's name */
    const char *template_name; /* "select_general.cu" */
    uint32_t threads;          /* per block */
    uint32_t items;            /* elements per thread and tile */
    uint32_t blocks_per_sm;    /* that registers and shared memory leave room for, at least */
    uint32_t sort_capacity;    /* slots sorted in shared memory, 0 = sorted in place */
    uint32_t shared_bytes;     /* dynamic shared memory */
    uint32_t staged_pages;     /* entries of a page table that it holds, a multiple of threads */
    bool clusters;             /* launched as clusters of blocks */
    bool split;                /* launched twice, with a workspace in between */
    bool whole;                /* takes rows of at most `capacity` columns, wherever they begin */
    bool one_row;              /* each block takes one row: the grid is not bounded */
    tkj_line_kind lines;       /* of fast_topk alone, with tkj_fast_topk_params */
    int64_t capacity;          /* longest row, in elements from a 16-byte boundary; 0 = any */
} tkj_variant;

/** The kernels of a valid spec on an architecture. @return how many, 1 .. TKJ_VARIANTS_MAX */
size_t tkj_variants_enumerate(const topk_jit_spec *spec, int architecture,
                              tkj_variant out[TKJ_VARIANTS_MAX]);

/** Scores that a block of a variant holds in registers. */
int64_t tkj_variants_share(const tkj_variant *variant);

#endif /* TKJ_VARIANTS_H */
