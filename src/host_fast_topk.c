/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "host.h"
#include "host_rank.h"
#include "memory.h"
#include "ordered_key.h"

/* Where a row begins in each tensor, in elements. */
typedef struct row_offsets {
    int64_t in;
    int64_t values;
    int64_t indices;
} row_offsets;

static row_offsets find_row(const tkj_fast_topk_params *params, int64_t row)
{
    row_offsets offsets = {0, 0, 0};
    for (int64_t d = params->outer_dims - 1; d >= 0; d--) {
        const tkj_outer_dim *dim = &params->outer[d];
        int64_t coordinate = row % dim->size;
        row /= dim->size;
        offsets.in += coordinate * dim->in_stride;
        offsets.values += coordinate * dim->values_stride;
        offsets.indices += coordinate * dim->indices_stride;
    }
    return offsets;
}

static void select_row(const topk_jit_spec *spec, const tkj_fast_topk_params *params,
                       tkj_rank_pair *pairs, row_offsets offsets)
{
    size_t size = tkj_dtype_size(spec->dtype);
    const char *in = (const char *)params->in + offsets.in * (int64_t)size;
    int64_t in_step = params->in_stride * (int64_t)size;
    for (int64_t p = 0; p < params->size; p++)
        pairs[p] =
            (tkj_rank_pair){tkj_ordered_key(spec->dtype, spec->nan_last, in + p * in_step), p};
    tkj_rank_keep(pairs, params->size, spec->topk, false);
    tkj_rank_sort(pairs, spec->topk);

    char *values = (char *)params->values + offsets.values * (int64_t)size;
    int64_t values_step = params->values_stride * (int64_t)size;
    int64_t *indices = params->indices + offsets.indices;
    for (int64_t slot = 0; slot < spec->topk; slot++) {
        memcpy(values + slot * values_step, in + pairs[slot].position * in_step, size);
        indices[slot * params->indices_stride] = pairs[slot].position;
    }
}

topk_jit_status tkj_host_fast_topk(const topk_jit_allocator *allocator, const topk_jit_spec *spec,
                                   const tkj_fast_topk_params *params)
{
    tkj_rank_pair *pairs = tkj_alloc(allocator, (size_t)params->size, sizeof *pairs);
    if (pairs == NULL)
        return TOPK_JIT_OUT_OF_MEMORY;
    for (int64_t row = 0; row < params->rows; row++)
        select_row(spec, params, pairs, find_row(params, row));
    tkj_free(allocator, pairs);
    return TOPK_JIT_OK;
}
