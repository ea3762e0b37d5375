/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "host.h"
#include "host_rank.h"
#include "memory.h"
#include "ordered_key.h"

#define CHECKS 8

/* One call: what is the same for all of its rows. */
typedef struct selection {
    const topk_jit_spec *spec;
    const tkj_select_params *params;
    size_t element_size;  /* of a score */
    tkj_rank_pair *pairs; /* scratch for the widest window */
    uint32_t counts[CHECKS];
} selection;

/* One row: its window, and its row of the page table in the paged layout. */
typedef struct row {
    int64_t index;
    int64_t start;
    int64_t length;
    int64_t table_row;
} row;

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static int64_t vector_at(const tkj_vector *vector, int64_t i)
{
    return vector->data[i * vector->stride];
}

/* ------------------------------------------------------------------------------------------- */
/* Where a row looks                                                                            */
/* ------------------------------------------------------------------------------------------- */

static int64_t find_start(const tkj_select_params *params, int64_t i, uint32_t *counts)
{
    if (params->row_starts.data == NULL)
        return 0;
    int64_t start = vector_at(&params->row_starts, i);
    counts[TKJ_CHECK_ROW_STARTS] += start < 0 || start > params->width;
    return clamp(start, 0, params->width);
}

static int64_t length_by_end(const tkj_select_params *params, int64_t i, int64_t start,
                             uint32_t *counts)
{
    int64_t end = vector_at(&params->row_ends, i);
    counts[TKJ_CHECK_LENGTHS] += end < start || end > params->width;
    return clamp(end, start, params->width) - start;
}

static int64_t length_by_lengths(const tkj_select_params *params, int64_t i, int64_t start,
                                 uint32_t *counts)
{
    int64_t b = i / params->next_n, j = i % params->next_n;
    int64_t given = params->lengths[b * params->lengths_stride_b + j * params->lengths_stride_j];
    int64_t length = params->lengths_step ? given - (params->next_n - 1 - j) : given;
    length = length > 0 ? length / params->compress_ratio : 0;
    counts[TKJ_CHECK_LENGTHS] += given < 0 || length > params->width - start;
    return clamp(length, 0, params->width - start);
}

static int64_t find_length(const tkj_select_params *params, int64_t i, int64_t start,
                           uint32_t *counts)
{
    if (params->row_ends.data != NULL)
        return length_by_end(params, i, start, counts);
    if (params->lengths != NULL)
        return length_by_lengths(params, i, start, counts);
    return params->width - start;
}

/* The last interval that starts at or before row i. Stays in bounds on any data: the intervals are
   read only at indices of the search. @return -1 if the row is in none */
static int64_t find_interval(const tkj_select_params *params, int64_t i)
{
    int64_t low = 0, high = params->cu_batch; /* intervals below low start at or before i */
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (vector_at(&params->cu_seqlens_q, middle) <= i)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && i < vector_at(&params->cu_seqlens_q, low) ? low - 1 : -1;
}

/* @return -1 if the row has none */
static int64_t find_table_row(const tkj_select_params *params, int64_t i, uint32_t *counts)
{
    if (params->cu_seqlens_q.data != NULL) {
        int64_t b = find_interval(params, i);
        counts[TKJ_CHECK_CU_SEQLENS_Q] += b < 0;
        return b;
    }
    if (params->row_to_batch.data != NULL) {
        int64_t b = vector_at(&params->row_to_batch, i);
        bool valid = b >= 0 && b < params->page_table_rows;
        counts[TKJ_CHECK_ROW_TO_BATCH] += !valid;
        return valid ? b : -1;
    }
    return i / params->next_n;
}

static row find_row(const selection *s, int64_t i, uint32_t *counts)
{
    row r = {.index = i};
    r.start = find_start(s->params, i, counts);
    r.length = find_length(s->params, i, r.start, counts);
    if (s->spec->layout == TOPK_JIT_LAYOUT_PAGED)
        r.table_row = find_table_row(s->params, i, counts);
    if (r.table_row < 0)
        r.length = 0;
    return r;
}

/* ------------------------------------------------------------------------------------------- */
/* What a slot holds                                                                            */
/* ------------------------------------------------------------------------------------------- */

static int64_t page_slot(selection *s, const row *r, int64_t position)
{
    const tkj_select_params *params = s->params;
    int64_t entry = position / s->spec->page_size;
    if (params->page_table_row_starts.data != NULL)
        entry += vector_at(&params->page_table_row_starts, r->index);
    if (entry < 0 || entry >= params->page_table_width) {
        s->counts[TKJ_CHECK_PAGE_ENTRY]++;
        return -1;
    }
    int64_t page = params->page_table[r->table_row * params->page_table_stride + entry];
    if (page < 0) {
        s->counts[TKJ_CHECK_UNMAPPED_PAGE]++;
        return -1;
    }
    return page * s->spec->page_size + position % s->spec->page_size;
}

/* The position in the form of the layout; -1 where there is none. */
static int64_t transform(selection *s, const row *r, int64_t position)
{
    int64_t value = position;
    if (s->spec->layout == TOPK_JIT_LAYOUT_PAGED)
        value = page_slot(s, r, position);
    if (s->spec->layout == TOPK_JIT_LAYOUT_RAGGED)
        value += vector_at(&s->params->offsets, r->index);
    if (s->spec->index_dtype == TOPK_JIT_INT32 && value > INT32_MAX) {
        s->counts[TKJ_CHECK_VALUE]++;
        return -1;
    }
    return value;
}

static const void *score_at(const selection *s, const row *r, int64_t position)
{
    int64_t element = r->index * s->params->score_stride + r->start + position;
    return (const char *)s->params->score + element * (int64_t)s->element_size;
}

static const void *minus_infinity(topk_jit_dtype dtype)
{
    static const uint32_t float32 = 0xFF800000;
    static const uint16_t float16 = 0xFC00, bfloat16 = 0xFF80;
    if (dtype == TOPK_JIT_FLOAT16)
        return &float16;
    return dtype == TOPK_JIT_BFLOAT16 ? (const void *)&bfloat16 : (const void *)&float32;
}

/* Writes one slot of every output that is wanted. */
static void write_slot(const selection *s, int64_t i, int64_t slot, int64_t index, int64_t position,
                       const void *score)
{
    const tkj_select_params *params = s->params;
    int64_t place = i * params->indices_stride + slot;
    if (s->spec->index_dtype == TOPK_JIT_INT64)
        ((int64_t *)params->indices)[place] = index;
    else
        ((int32_t *)params->indices)[place] = (int32_t)index;
    if (params->raw_indices != NULL)
        params->raw_indices[i * params->raw_indices_stride + slot] = (int32_t)position;
    if (params->values != NULL) {
        int64_t element = i * params->values_stride + slot;
        memcpy((char *)params->values + element * (int64_t)s->element_size, score, s->element_size);
    }
}

/* ------------------------------------------------------------------------------------------- */
/* The selection                                                                                */
/* ------------------------------------------------------------------------------------------- */

/* Leaves the selected pairs of the row at the front and tells how many. Positions ascend unless
   sorted, and ties go to the smallest unless asked otherwise: right for every option at once. */
static int64_t rank_row(selection *s, const row *r)
{
    for (int64_t p = 0; p < r->length; p++) {
        uint64_t key = tkj_ordered_key(s->spec->dtype, s->spec->nan_last, score_at(s, r, p));
        s->pairs[p] = (tkj_rank_pair){key, p};
    }
    int64_t selected = r->length < s->spec->topk ? r->length : s->spec->topk;
    if (selected < r->length)
        tkj_rank_keep(s->pairs, r->length, selected,
                      s->spec->tie_break == TOPK_JIT_TIE_BREAK_LARGEST);
    if (s->spec->sorted)
        tkj_rank_sort(s->pairs, selected);
    return selected;
}

static void select_row(selection *s, const row *r)
{
    int64_t selected = rank_row(s, r);
    for (int64_t slot = 0; slot < selected; slot++) {
        int64_t position = s->pairs[slot].position;
        write_slot(s, r->index, slot, transform(s, r, position), position,
                   score_at(s, r, position));
    }
    for (int64_t slot = selected; slot < s->spec->topk; slot++)
        write_slot(s, r->index, slot, -1, -1, minus_infinity(s->spec->dtype));
}

static int64_t widest_window(const selection *s)
{
    uint32_t ignored[CHECKS] = {0};
    int64_t widest = 0;
    for (int64_t i = 0; i < s->params->rows; i++) {
        int64_t length = find_row(s, i, ignored).length;
        widest = length > widest ? length : widest;
    }
    return widest;
}

/* Atomic, since calls on other threads may count into the same array. */
static void report_counts(const selection *s)
{
    if (s->params->check_counts == NULL)
        return;
    for (int i = 0; i < CHECKS; i++)
        __atomic_fetch_add(&s->params->check_counts[i], s->counts[i], __ATOMIC_RELAXED);
}

topk_jit_status tkj_host_select(const topk_jit_allocator *allocator, const topk_jit_spec *spec,
                                const tkj_select_params *params)
{
    selection s = {.spec = spec, .params = params, .element_size = tkj_dtype_size(spec->dtype)};
    s.pairs = tkj_alloc(allocator, (size_t)widest_window(&s), sizeof *s.pairs);
    if (s.pairs == NULL)
        return TOPK_JIT_OUT_OF_MEMORY;
    for (int64_t i = 0; i < params->rows; i++) {
        row r = find_row(&s, i, s.counts);
        select_row(&s, &r);
    }
    for (int64_t i = params->rows; i < params->out_rows; i++)
        select_row(&s, &(row){.index = i});
    report_counts(&s);
    tkj_free(allocator, s.pairs);
    return TOPK_JIT_OK;
}
