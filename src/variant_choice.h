/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file variant_choice.h
 * @brief Which of a spec's kernels serves a call best, and in what shape it is launched. Pure:
 * rows, width and device facts say so.
 */
#ifndef TKJ_VARIANT_CHOICE_H
#define TKJ_VARIANT_CHOICE_H

#include "device.h"
#include "variants.h"

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

#endif /* TKJ_VARIANT_CHOICE_H */
