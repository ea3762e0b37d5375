/* SPDX-License-Identifier: Apache-2.0 */
#include "judge.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "float16.h"
#include "ranking.h"

/* A selection that is judged, and the row that is looked at. */
typedef struct trial {
    const topk_jit_spec *spec;
    const tkj_select_params *params;
    tkj_ranking ranking;
    int64_t start;
    int64_t table_row; /* -1: the row has none */
    uint32_t *counts;  /* what check_counts must show for the rows looked at so far */
} trial;

/* ------------------------------------------------------------------------------------------- */
/* Where a row looks                                                                            */
/* ------------------------------------------------------------------------------------------- */

static int64_t input_at(tkj_vector vector, int64_t i, int64_t if_absent)
{
    return vector.data != NULL ? vector.data[i * vector.stride] : if_absent;
}

/* Takes value into [low, high], and counts if it was not there. */
static int64_t bring_into(int64_t value, int64_t low, int64_t high, uint32_t *count)
{
    if (value >= low && value <= high)
        return value;
    (*count)++;
    return value < low ? low : high;
}

static void look_at_lengths(trial *t, int64_t i)
{
    const tkj_select_params *params = t->params;
    int64_t room = params->width - t->start;
    int64_t draft = i % params->next_n;
    int64_t given = params->lengths[i / params->next_n * params->lengths_stride_b +
                                    draft * params->lengths_stride_j];
    int64_t later = params->lengths_step != 0 ? params->next_n - 1 - draft : 0;
    int64_t length = given > later ? (given - later) / params->compress_ratio : 0;
    if (given < 0 || length > room)
        t->counts[1]++;
    t->ranking.length = length < room ? length : room;
}

static int64_t find_table_row(trial *t, int64_t i)
{
    const tkj_select_params *params = t->params;
    if (params->cu_seqlens_q.data != NULL) {
        for (int64_t b = 0; b < params->cu_batch; b++)
            if (input_at(params->cu_seqlens_q, b, 0) <= i &&
                i < input_at(params->cu_seqlens_q, b + 1, 0))
                return b;
        t->counts[2]++;
        return -1;
    }
    int64_t b = input_at(params->row_to_batch, i, i / params->next_n);
    if (b >= 0 && b < params->page_table_rows)
        return b;
    t->counts[3]++;
    return -1;
}

static void look_at_row(trial *t, int64_t i)
{
    const tkj_select_params *params = t->params;
    t->ranking.row = i;
    t->ranking.length = 0;
    if (i >= params->rows)
        return;
    t->start = bring_into(input_at(params->row_starts, i, 0), 0, params->width, &t->counts[0]);
    if (params->lengths != NULL && params->row_ends.data == NULL)
        look_at_lengths(t, i);
    else
        t->ranking.length = bring_into(input_at(params->row_ends, i, params->width), t->start,
                                       params->width, &t->counts[1]) -
                            t->start;
    t->table_row = t->spec->layout == TOPK_JIT_LAYOUT_PAGED ? find_table_row(t, i) : 0;
    if (t->table_row < 0)
        t->ranking.length = 0;
    t->ranking.first = i * params->score_stride + t->start;
}

/* ------------------------------------------------------------------------------------------- */
/* What a slot must hold                                                                        */
/* ------------------------------------------------------------------------------------------- */

static int64_t expected_page_slot(trial *t, int64_t position)
{
    const tkj_select_params *params = t->params;
    int64_t entry =
        input_at(params->page_table_row_starts, t->ranking.row, 0) + position / t->spec->page_size;
    if (entry < 0 || entry >= params->page_table_width) {
        t->counts[4]++;
        return -1;
    }
    int64_t page = params->page_table[t->table_row * params->page_table_stride + entry];
    if (page < 0)
        t->counts[5]++;
    return page < 0 ? -1 : page * t->spec->page_size + position % t->spec->page_size;
}

static int64_t expected_index(trial *t, int64_t slot)
{
    int64_t position = t->ranking.chosen[slot];
    if (slot >= tkj_ranking_selected(&t->ranking))
        return -1;
    int64_t index = position;
    if (t->spec->layout == TOPK_JIT_LAYOUT_PAGED)
        index = expected_page_slot(t, position);
    else if (t->spec->layout == TOPK_JIT_LAYOUT_RAGGED)
        index += input_at(t->params->offsets, t->ranking.row, 0);
    if (t->spec->index_dtype == TOPK_JIT_INT64 || index == (int32_t)index)
        return index;
    t->counts[6]++;
    return -1;
}

static uint32_t bits_at(topk_jit_dtype dtype, const void *elements, int64_t i)
{
    return dtype == TOPK_JIT_FLOAT32 ? ((const uint32_t *)elements)[i]
                                     : ((const uint16_t *)elements)[i];
}

static uint32_t expected_bits(const trial *t, int64_t slot)
{
    topk_jit_dtype dtype = t->spec->dtype;
    if (slot < tkj_ranking_selected(&t->ranking))
        return bits_at(dtype, t->params->score, t->ranking.first + t->ranking.chosen[slot]);
    if (dtype == TOPK_JIT_FLOAT16)
        return tkj_float16_from_float(-INFINITY);
    if (dtype == TOPK_JIT_BFLOAT16)
        return tkj_bfloat16_from_float(-INFINITY);
    float pad = -INFINITY;
    return bits_at(TOPK_JIT_FLOAT32, &pad, 0);
}

static bool judge_index(trial *t, int64_t slot)
{
    int64_t i = t->ranking.row * t->params->indices_stride + slot;
    int64_t found = t->spec->index_dtype == TOPK_JIT_INT64
                        ? ((const int64_t *)t->params->indices)[i]
                        : ((const int32_t *)t->params->indices)[i];
    int64_t expected = expected_index(t, slot);
    if (found == expected)
        return true;
    return tkj_ranking_reject(&t->ranking, slot,
                              "expected index %" PRId64 " for position %" PRId64 ", found %" PRId64,
                              expected, t->ranking.chosen[slot], found);
}

static bool judge_value(const trial *t, int64_t slot)
{
    if (t->params->values == NULL)
        return true;
    int64_t i = t->ranking.row * t->params->values_stride + slot;
    uint32_t found = bits_at(t->spec->dtype, t->params->values, i);
    uint32_t expected = expected_bits(t, slot);
    if (found == expected)
        return true;
    return tkj_ranking_reject(&t->ranking, slot,
                              "expected a value of bits %#" PRIx32 ", found %#" PRIx32, expected,
                              found);
}

/* ------------------------------------------------------------------------------------------- */
/* Verdicts                                                                                     */
/* ------------------------------------------------------------------------------------------- */

static tkj_ranking_rules rules_for(const topk_jit_spec *spec, int64_t length)
{
    tkj_ranking_rules rules = {.sorted = spec->sorted, .tie_break = spec->tie_break};
    /* All positions of a short row, each once and ascending, are 0, 1, ..., length - 1. */
    rules.ascending = !spec->sorted && (spec->deterministic || length <= spec->topk);
    if (spec->deterministic && spec->tie_break == TOPK_JIT_TIE_BREAK_NONE)
        rules.tie_break = TOPK_JIT_TIE_BREAK_SMALLEST;
    return rules;
}

static void read_row(trial *t, int64_t i)
{
    look_at_row(t, i);
    for (int64_t slot = 0; slot < t->spec->topk; slot++)
        t->ranking.chosen[slot] = t->params->raw_indices[i * t->params->raw_indices_stride + slot];
}

static bool judge_row(trial *t, int64_t i)
{
    read_row(t, i);
    if (!tkj_ranking_judge(&t->ranking, rules_for(t->spec, t->ranking.length)))
        return false;
    for (int64_t slot = 0; slot < t->spec->topk; slot++)
        if (!judge_index(t, slot) || !judge_value(t, slot))
            return false;
    return true;
}

static bool start_trial(trial *t, const topk_jit_spec *spec, const tkj_select_params *params,
                        uint32_t *counts, char *message)
{
    *t = (trial){.spec = spec, .params = params, .counts = counts};
    t->ranking.dtype = spec->dtype;
    t->ranking.nan_last = spec->nan_last;
    t->ranking.scores = params->score;
    t->ranking.step = 1;
    t->ranking.message = message;
    return tkj_ranking_allocate(&t->ranking, params->width, spec->topk);
}

bool tkj_judge_select(const topk_jit_spec *spec, const tkj_select_params *params,
                      char message[TKJ_JUDGE_MESSAGE_SIZE])
{
    if (params->raw_indices == NULL) {
        snprintf(message, TKJ_JUDGE_MESSAGE_SIZE, "there are no raw_indices to judge");
        return false;
    }
    trial t;
    uint32_t counts[8] = {0};
    bool right = start_trial(&t, spec, params, counts, message);
    for (int64_t i = 0; right && i < params->out_rows; i++)
        right = judge_row(&t, i);
    tkj_ranking_release(&t.ranking);
    return right;
}

void tkj_judge_counts(const topk_jit_spec *spec, const tkj_select_params *params,
                      uint32_t counts[8])
{
    trial t;
    char message[TKJ_JUDGE_MESSAGE_SIZE];
    memset(counts, 0, 8 * sizeof *counts);
    if (start_trial(&t, spec, params, counts, message))
        for (int64_t i = 0; i < params->rows; i++) {
            read_row(&t, i);
            for (int64_t slot = 0; slot < spec->topk; slot++)
                expected_index(&t, slot);
        }
    tkj_ranking_release(&t.ranking);
}
