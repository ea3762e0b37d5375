/* SPDX-License-Identifier: Apache-2.0 */
#include "variant_choice.h"

#include "ordered_key.h"
#include "params.h"

/** Elements of a row from the 16-byte boundary before it. */
static int64_t reach(const topk_jit_spec *spec, const tkj_call_shape *shape)
{
    if (shape->aligned)
        return shape->width;
    return shape->width + 16 / (int64_t)tkj_dtype_size(spec->dtype) - 1;
}

/** True if a kernel takes rows of this width. @param reach  as above */
static bool takes(const tkj_variant *variant, const tkj_call_shape *shape, int64_t reach)
{
    bool is_bounded = shape->rows > (shape->max_sms > 0 ? shape->max_sms : INT32_MAX);
    if ((shape->lines_only && variant->lines == TKJ_LINES_NONE) || (variant->one_row && is_bounded))
        return false;
    return variant->capacity >= (variant->whole ? shape->width : reach);
}

/** True if a cluster of so many blocks for each row is at work at once. Clusters of more than two
 * leave SMs of a group over, so that all SMs are never filled by them. @param rows  at most sms */
static bool all_at_once(int64_t rows, int64_t size, int64_t sms)
{
    return rows * size <= (size == 2 ? sms : sms * 3 / 4);
}

/** SMs that a call may use. */
static int64_t sms_of(const tkj_call_shape *shape, const tkj_device_facts *facts)
{
    bool bounded = shape->max_sms > 0 && shape->max_sms < facts->sm_count;
    return bounded ? shape->max_sms : facts->sm_count;
}

uint32_t tkj_variants_cluster(const tkj_variant *variant, const tkj_call_shape *shape,
                              const tkj_device_facts *facts)
{
    uint32_t size = 1;
    int64_t sms = sms_of(shape, facts);
    if (!variant->clusters || shape->rows > sms)
        return 1;
    while ((int)size * 2 <= facts->cluster_max &&
           all_at_once(shape->rows, 2 * (int64_t)size, sms) &&
           shape->width > (int64_t)size * tkj_variants_share(variant))
        size *= 2;
    return size;
}

uint32_t tkj_variants_parts(const tkj_variant *variant, const tkj_call_shape *shape,
                            const tkj_device_facts *facts)
{
    uint32_t parts = 1;
    int64_t sms = sms_of(shape, facts);
    if (!variant->split || shape->rows > (int64_t)(shape->workspace_size / TKJ_SPLIT_ROW_BYTES))
        return 1;
    while (parts < TKJ_SPLIT_PARTS_MAX && shape->rows <= sms / (2 * (int64_t)parts) &&
           shape->width > (int64_t)parts * tkj_variants_share(variant))
        parts *= 2;
    return parts;
}

/* Rows that a block of 512 threads holds are not for clusters, but longer ones are. Among clusters
   the smallest share that makes one round is best, or else the largest. */
#define CLUSTER_RANK (512 * 32 + 1)
#define CLUSTER_RANK_ROUNDS (CLUSTER_RANK + 4096)

/* A second launch costs more than a block of 1024 threads, if there is one, takes longer. */
#define SPLIT_RANK (1024 * 32 + 1)

/** Where a variant comes among those that take the call's rows: the lowest is chosen. */
static int64_t preference(const tkj_variant *variant, const tkj_call_shape *shape,
                          const tkj_device_facts *facts)
{
    if (variant->capacity == 0) /* anything, but slowly */
        return INT64_MAX;
    if (variant->whole)
        return 0;
    if (variant->split)
        return tkj_variants_parts(variant, shape, facts) > 1 ? SPLIT_RANK : INT64_MAX;
    if (!variant->clusters)
        return variant->capacity;
    uint32_t size = tkj_variants_cluster(variant, shape, facts);
    if (size == 1) /* the same as without clusters, but slower */
        return INT64_MAX - 1;
    int64_t share = tkj_variants_share(variant);
    return shape->width <= size * share ? CLUSTER_RANK + share / 16
                                        : CLUSTER_RANK_ROUNDS - share / 16;
}

size_t tkj_variants_choose(const topk_jit_spec *spec, const tkj_variant *variants, size_t count,
                           const tkj_call_shape *shape, const tkj_device_facts *facts)
{
    const int64_t needed = reach(spec, shape);
    size_t best = 0;
    int64_t best_preference = preference(&variants[0], shape, facts);
    for (size_t v = 1; v < count && best_preference > 0; v++) {
        bool fills_sm = variants[v].threads == 1024;
        if (!takes(&variants[v], shape, needed) || (fills_sm && shape->rows > facts->sm_count))
            continue;
        if (variants[v].clusters && best_preference < CLUSTER_RANK) /* spared the arithmetic */
            continue;
        const int64_t own = preference(&variants[v], shape, facts);
        if (own < best_preference) {
            best = v;
            best_preference = own;
        }
    }
    return best;
}

uint32_t tkj_variants_grid(const tkj_call_shape *shape, uint32_t cluster, uint32_t lines)
{
    /* A cluster takes rows in turn, so a grid of max_sms blocks occupies at most as many SMs. */
    int64_t limit = shape->max_sms > 0 ? shape->max_sms : INT32_MAX;
    int64_t clusters = shape->rows;
    if (cluster > 1)
        limit /= (int64_t)cluster;
    if (lines > 1)
        clusters = clusters / lines + (clusters % lines != 0);
    return (uint32_t)(clusters < limit ? clusters : limit) * cluster;
}

/** Lines of a block for k = 1: as many as keep all SMs busy, but no more warps for each than load
 * a batch. */
static tkj_line_share share_of_max(const tkj_variant *variant, const tkj_call_shape *shape,
                                   int64_t sms)
{
    const uint32_t warps = variant->threads / 32;
    tkj_line_share share = {.lanes = 1};
    if (shape->across) /* at least one sector of memory, if that keeps more SMs busy */
        share.lanes = shape->rows >= 32 * sms ? 32 : 8;
    share.lines = share.lanes * warps;
    const int64_t batch =
        (int64_t)(32 / share.lanes) * variant->items; /* of a warp, of each line */
    for (uint32_t own = 1; own < warps && shape->width > own * batch &&
                           shape->rows / share.lines < variant->blocks_per_sm * sms;
         own *= 2)
        share.lines /= 2;
    return share;
}

/** Lines of a block for short ones: as many as fit, if that keeps all SMs busy. */
static tkj_line_share share_of_short(const tkj_variant *variant, const tkj_call_shape *shape,
                                     int64_t sms)
{
    const int64_t room = (int64_t)variant->threads * variant->items + 32;
    tkj_line_share share = {.lanes = 1, .lines = 32};
    while (share.lines > 8 &&
           (share.lines * (shape->width | 1) > room || shape->rows < share.lines * sms))
        share.lines /= 2;
    return share;
}

tkj_line_share tkj_variants_lines(const tkj_variant *variant, const tkj_call_shape *shape,
                                  const tkj_device_facts *facts)
{
    if (variant->lines == TKJ_LINES_MAXIMUM)
        return share_of_max(variant, shape, sms_of(shape, facts));
    if (variant->lines == TKJ_LINES_SHORT)
        return share_of_short(variant, shape, sms_of(shape, facts));
    return (tkj_line_share){1, 1};
}

uint32_t tkj_variants_parts_grid(const tkj_call_shape *shape, uint32_t parts)
{
    /* Blocks take parts in turn, whichever row they are of. */
    int64_t limit = shape->max_sms > 0 ? shape->max_sms : INT32_MAX;
    return (uint32_t)(shape->rows <= limit / parts ? shape->rows * parts : limit);
}

size_t tkj_variants_workspace(const topk_jit_spec *spec, const tkj_call_shape *shape)
{
    /* AD102: of the GPUs without clusters none has more SMs. */
    const tkj_device_facts largest = {.compute_major = 8, .compute_minor = 9, .sm_count = 144};
    tkj_variant variants[TKJ_VARIANTS_MAX];
    tkj_call_shape given = *shape;
    given.workspace_size = SIZE_MAX;
    size_t count = tkj_variants_enumerate(spec, 89, variants);
    size_t chosen = tkj_variants_choose(spec, variants, count, &given, &largest);
    return variants[chosen].split ? (size_t)shape->rows * TKJ_SPLIT_ROW_BYTES : 0;
}
