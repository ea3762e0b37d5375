/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file variants.h
 * @brief The finite list of kernels of a spec, and which of them one call launches. Pure.
 *
 * The list depends on the spec and the GPU's architecture alone, so what is warmed is what is
 * launched. Rows, width and device facts choose within it and set the grid.
 */
#ifndef TKJ_VARIANTS_H
#define TKJ_VARIANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <topk_jit/topk_jit.h>

#include "device.h"

#define TKJ_VARIANTS_MAX 9

/** One kernel: a template and its tuning constants. */
typedef struct tkj_variant {
    const char *name;          /* "general": part of the kernel's name */
    const char *template_name; /* "select_general.cu" */
    uint32_t threads;          /* per block */
    uint32_t items;            /* elements per thread and tile */
    uint32_t blocks_per_sm;    /* that registers and shared memory leave room for, at least */
    uint32_t sort_capacity;    /* slots sorted in shared memory, 0 = sorted in place */
    uint32_t shared_bytes;     /* dynamic shared memory */
    bool clusters;             /* launched as clusters of blocks */
    bool split;                /* launched twice, with a workspace in between */
    bool whole;                /* takes rows of at most `capacity` columns, wherever they begin */
    bool one_row;              /* each block takes one row: the grid is not bounded */
    bool lines;                /* of fast_topk alone: lines of any strides, tkj_fast_topk_params */
    int64_t capacity;          /* longest row, in elements from a 16-byte boundary; 0 = any */
} tkj_variant;

/** The kernels of a valid spec on an architecture. @return how many, 1 .. TKJ_VARIANTS_MAX */
size_t tkj_variants_enumerate(const topk_jit_spec *spec, int architecture,
                              tkj_variant out[TKJ_VARIANTS_MAX]);

/** Scores that a block of a variant holds in registers. */
int64_t tkj_variants_share(const tkj_variant *variant);

/** Size of one call. */
typedef struct tkj_call_shape {
    int64_t rows;  /* that are written, padding included */
    int64_t width; /* L, or the size of the searched dimension */
    int32_t max_sms;
    bool aligned;          /* every row starts at a multiple of 16 bytes */
    size_t workspace_size; /* bytes that the caller gives; 0 = none */
    bool lines_only;       /* fast_topk: the lines are not rows of a selection */
    bool across;           /* fast_topk: nearer to one another than the elements of each */
} tkj_call_shape;

/** Index into a spec's enumerated list of the variant that serves a call best. */
size_t tkj_variants_choose(const topk_jit_spec *spec, const tkj_variant *variants, size_t count,
                           const tkj_call_shape *shape, const tkj_device_facts *facts);

/** Blocks of a cluster for a call; 1 = no cluster. */
uint32_t tkj_variants_cluster(const tkj_variant *variant, const tkj_call_shape *shape,
                              const tkj_device_facts *facts);

/** Blocks that share each row in the first of two launches; 1 = the variant is not for the call. */
uint32_t tkj_variants_parts(const tkj_variant *variant, const tkj_call_shape *shape,
                            const tkj_device_facts *facts);

/** How a block shares out lines. */
typedef struct tkj_line_share {
    uint32_t lines; /* that a block takes at once */
    uint32_t lanes; /* of them, those that the lanes of a warp share out */
} tkj_line_share;

/** How the blocks of a call share out its lines; one row each where the variant selects. */
tkj_line_share tkj_variants_lines(const tkj_variant *variant, const tkj_call_shape *shape,
                                  const tkj_device_facts *facts);

/** Blocks to launch for a call: whole clusters of this size, for so many rows or lines each. */
uint32_t tkj_variants_grid(const tkj_call_shape *shape, uint32_t cluster, uint32_t lines);

/** Blocks of the first of two launches: as many for each row, or fewer that take them in turn. */
uint32_t tkj_variants_parts_grid(const tkj_call_shape *shape, uint32_t parts);

/** Bytes of workspace with which a split would serve a call on a GPU that has room for it; 0 =
 * none would. What workspace the shape has does not matter. */
size_t tkj_variants_workspace(const topk_jit_spec *spec, const tkj_call_shape *shape);

#endif /* TKJ_VARIANTS_H */
