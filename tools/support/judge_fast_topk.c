/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"
#include "ranking.h"

static size_t element_size(topk_jit_dtype dtype)
{
    static const size_t sizes[] = {
        [TOPK_JIT_FLOAT32] = 4, [TOPK_JIT_FLOAT16] = 2, [TOPK_JIT_BFLOAT16] = 2,
        [TOPK_JIT_FLOAT64] = 8, [TOPK_JIT_INT32] = 4,   [TOPK_JIT_INT64] = 8,
    };
    return sizes[dtype];
}

/* The coordinates of a row, counted up like an odometer: the last dimension first. */
static void advance(const tkj_fast_topk_params *params, int64_t *coordinates)
{
    for (int64_t d = params->outer_dims - 1; d >= 0; d--) {
        if (++coordinates[d] < params->outer[d].size)
            return;
        coordinates[d] = 0;
    }
}

/* Where row and slot meet in the outputs, and the row's first input. */
typedef struct row_place {
    int64_t in, values, indices;
} row_place;

static row_place find_place(const tkj_fast_topk_params *params, const int64_t *coordinates)
{
    row_place place = {0, 0, 0};
    for (int64_t d = 0; d < params->outer_dims; d++) {
        place.in += coordinates[d] * params->outer[d].in_stride;
        place.values += coordinates[d] * params->outer[d].values_stride;
        place.indices += coordinates[d] * params->outer[d].indices_stride;
    }
    return place;
}

static bool judge_values(const tkj_ranking *ranking, const tkj_fast_topk_params *params,
                         int64_t first_value)
{
    int64_t size = (int64_t)element_size(ranking->dtype);
    for (int64_t slot = 0; slot < ranking->slots; slot++) {
        int64_t from = ranking->first + ranking->chosen[slot] * ranking->step;
        int64_t to = first_value + slot * params->values_stride;
        if (memcmp((const char *)params->in + from * size, (const char *)params->values + to * size,
                   (size_t)size) != 0)
            return tkj_ranking_reject(ranking, slot,
                                      "expected the bits of position %" PRId64 ", found others",
                                      ranking->chosen[slot]);
    }
    return true;
}

static bool judge_row(tkj_ranking *ranking, const tkj_fast_topk_params *params, row_place place)
{
    ranking->first = place.in;
    for (int64_t slot = 0; slot < ranking->slots; slot++)
        ranking->chosen[slot] = params->indices[place.indices + slot * params->indices_stride];
    tkj_ranking_rules rules = {.sorted = true, .tie_break = TOPK_JIT_TIE_BREAK_SMALLEST};
    return tkj_ranking_judge(ranking, rules) && judge_values(ranking, params, place.values);
}

bool tkj_judge_fast_topk(const topk_jit_spec *spec, const tkj_fast_topk_params *params,
                         char message[TKJ_JUDGE_MESSAGE_SIZE])
{
    tkj_ranking ranking = {.dtype = spec->dtype,
                           .nan_last = spec->nan_last,
                           .scores = params->in,
                           .step = params->in_stride,
                           .length = params->size,
                           .message = message};
    if (!tkj_ranking_allocate(&ranking, params->size, spec->topk))
        return false;
    int64_t coordinates[TKJ_FAST_TOPK_DIMS] = {0};
    bool right = true;
    for (ranking.row = 0; right && ranking.row < params->rows; ranking.row++) {
        right = judge_row(&ranking, params, find_place(params, coordinates));
        advance(params, coordinates);
    }
    tkj_ranking_release(&ranking);
    return right;
}
