/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"
#include "ordered_key.h"
#include "scores.h"
#include "testing.h"

/** One random call while it is made. */
typedef struct maker {
    tkj_call *call;
    uint64_t state;
    int64_t rows;
    int64_t width;
    int64_t next_n;
} maker;

static int64_t between(maker *m, int64_t low, int64_t high)
{
    return low + (int64_t)(tkj_scores_random(&m->state) % (uint64_t)(high - low + 1));
}

static bool chance(maker *m, int percent)
{
    return between(m, 1, 100) <= percent;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/** A width that is small, around k, or anything. */
static int64_t any_width(maker *m, int64_t limit)
{
    int64_t k = m->call->spec.topk;
    switch (between(m, 0, 3)) {
    case 0:
        return between(m, 0, smaller(limit, 40));
    case 1:
        return smaller(limit, between(m, k - 1, k + 2));
    case 2:
        return smaller(limit, between(m, k, 2 * k + 100));
    default:
        return between(m, 0, limit);
    }
}

/** A length that may be out of range on either side, and often is where paths meet. */
static int32_t any_length(maker *m)
{
    int64_t k = m->call->spec.topk;
    switch (between(m, 0, 5)) {
    case 0:
        return (int32_t)between(m, -4, 3);
    case 1:
        return (int32_t)smaller(between(m, k - 1, k + 1), INT32_MAX);
    case 2:
        return (int32_t)between(m, m->width - 1, m->width + 2);
    case 3:
        return chance(m, 50) ? INT32_MIN : INT32_MAX;
    default:
        return (int32_t)between(m, 0, m->width);
    }
}

/** Adds an int32 vector of `size` entries with any stride. */
static int32_t *add_vector(maker *m, tkj_call_slot slot, int64_t size, int64_t *stride)
{
    *stride = chance(m, 70) ? 1 : between(m, 0, 3);
    return tkj_call_add(m->call, slot, TOPK_JIT_INT32, 1, size, 1, *stride,
                        (size_t)between(m, 0, 3));
}

/** A vector of B entries or more, each between low and high. */
static void add_bounded(maker *m, tkj_call_slot slot, int64_t low, int64_t high)
{
    int64_t stride;
    int64_t size = m->rows + (chance(m, 20) ? 3 : 0);
    int32_t *data = add_vector(m, slot, size, &stride);
    for (int64_t i = 0; i < size; i++)
        data[i * stride] = (int32_t)between(m, low, high);
}

static void add_score(maker *m)
{
    const topk_jit_spec *spec = &m->call->spec;
    int64_t gap = chance(m, 50) ? 0 : between(m, 1, 9);
    int64_t stride = chance(m, 10) ? 0 : m->width + gap;
    char *data = tkj_call_add(m->call, TKJ_CALL_SCORE, spec->dtype, 2, m->rows, m->width, stride,
                              (size_t)between(m, 0, 7));
    size_t pitch = (size_t)stride * tkj_dtype_size(spec->dtype);
    int64_t fixed = chance(m, 50) ? between(m, 0, TKJ_SCORES_COUNT - 1) : -1;
    for (int64_t row = 0; row < (stride == 0 ? smaller(m->rows, 1) : m->rows); row++) {
        int64_t drawn = fixed >= 0 ? fixed : between(m, 0, TKJ_SCORES_COUNT - 1);
        tkj_scores_fill((tkj_scores_distribution)drawn, tkj_scores_random(&m->state), spec->topk,
                        spec->dtype, data + (size_t)row * pitch, m->width, 1);
    }
}

static void fill_lengths(maker *m, int32_t *data, int64_t count, int64_t stride)
{
    for (int64_t i = 0; i < count; i++)
        data[i * stride] = any_length(m);
}

/** lengths in one of its forms. */
static void add_lengths(maker *m)
{
    int64_t stride;
    int64_t batch = m->rows / m->next_n;
    if (chance(m, 25)) {
        bool by_batch = chance(m, 50);
        int64_t rows = by_batch ? batch : m->rows;
        int64_t columns = by_batch ? m->next_n : 1;
        int32_t *data = tkj_call_add(m->call, TKJ_CALL_LENGTHS, TOPK_JIT_INT32, 2, rows, columns,
                                     columns + between(m, 0, 2), (size_t)between(m, 0, 3));
        int64_t pitch = m->call->tensors[TKJ_CALL_LENGTHS].strides[0];
        for (int64_t row = 0; row < rows; row++)
            fill_lengths(m, data + row * pitch, columns, 1);
        return;
    }
    int64_t size = m->next_n > 1 && chance(m, 60) ? batch : m->rows;
    if (m->next_n == 1 && chance(m, 20))
        size += 2;
    int32_t *data = add_vector(m, TKJ_CALL_LENGTHS, size, &stride);
    fill_lengths(m, data, size, stride);
}

static void add_window(maker *m)
{
    if (chance(m, 15))
        add_bounded(m, TKJ_CALL_ROW_ENDS, -2, m->width + 2);
    else if (chance(m, 85))
        add_lengths(m);
    if (chance(m, 40))
        add_bounded(m, TKJ_CALL_ROW_STARTS, -1, m->width / 2 + 1);
    if (chance(m, 20))
        m->call->args.compress_ratio = between(m, 1, 5);
}

/** Which table row serves which row; returns how many table rows that takes. */
static int64_t add_table_rows(maker *m)
{
    int64_t batch = between(m, 1, m->rows + 1);
    int64_t stride;
    if (chance(m, 30)) {
        add_bounded(m, TKJ_CALL_ROW_TO_BATCH, -1, batch);
        return batch;
    }
    if (m->next_n > 1 || chance(m, 50))
        return m->rows / m->next_n;
    int32_t *cu = add_vector(m, TKJ_CALL_CU_SEQLENS_Q, batch + 1, &stride);
    int32_t at = (int32_t)(chance(m, 70) ? 0 : between(m, 0, 2));
    for (int64_t b = 0; b <= batch; b++) {
        cu[b * stride] = at;
        at += (int32_t)between(m, 0, 2 * m->rows / batch + 1);
    }
    return batch;
}

static void add_page_table(maker *m)
{
    int64_t page_size = m->call->spec.page_size;
    int64_t table_rows = add_table_rows(m) + (chance(m, 20) ? 1 : 0);
    int64_t pages = m->width / page_size + (chance(m, 80) ? 1 : 0);
    int64_t stride = chance(m, 20) ? 0 : pages + between(m, 0, 3);
    int64_t high = chance(m, 20) ? INT32_MAX : 100000;
    int32_t *table = tkj_call_add(m->call, TKJ_CALL_PAGE_TABLE, TOPK_JIT_INT32, 2, table_rows,
                                  pages, stride, (size_t)between(m, 0, 3));
    for (int64_t row = 0; row < (stride == 0 ? smaller(table_rows, 1) : table_rows); row++)
        for (int64_t page = 0; page < pages; page++)
            table[row * stride + page] =
                (int32_t)(chance(m, 5) ? -between(m, 1, 9) : between(m, 0, high));
    if (chance(m, 30))
        add_bounded(m, TKJ_CALL_PAGE_TABLE_ROW_STARTS, -1, 2);
}

static void add_output(maker *m, tkj_call_slot slot, topk_jit_dtype dtype, int64_t rows)
{
    int64_t k = m->call->spec.topk;
    tkj_call_add(m->call, slot, dtype, 2, rows, k, k + (chance(m, 50) ? 0 : between(m, 1, 5)),
                 (size_t)between(m, 0, 3));
}

void tkj_call_random(tkj_call *call, const topk_jit_spec *spec, uint64_t seed,
                     tkj_call_limits limits)
{
    tkj_call_init(call, spec);
    maker m = {.call = call, .state = seed, .next_n = 1};
    m.next_n = chance(&m, 25) ? between(&m, 2, 4) : 1;
    m.rows = between(&m, chance(&m, 5) ? 0 : 1, limits.rows) / m.next_n * m.next_n;
    m.width = any_width(&m, limits.width);
    call->args.next_n = m.next_n > 1 || chance(&m, 50) ? m.next_n : 0;
    call->args.max_sms = (int32_t)(chance(&m, 20) ? between(&m, 1, 3) : 0);
    call->args.pdl = chance(&m, 20);
    add_score(&m);
    add_window(&m);
    if (spec->layout == TOPK_JIT_LAYOUT_PAGED)
        add_page_table(&m);
    if (spec->layout == TOPK_JIT_LAYOUT_RAGGED)
        add_bounded(&m, TKJ_CALL_OFFSET, chance(&m, 10) ? INT32_MIN : 0,
                    chance(&m, 20) ? INT32_MAX : 1000000);
    int64_t out_rows = m.rows + (chance(&m, 30) ? between(&m, 1, 3) : 0);
    add_output(&m, TKJ_CALL_INDICES, spec->index_dtype, out_rows);
    add_output(&m, TKJ_CALL_RAW_INDICES, TOPK_JIT_INT32, out_rows);
    if (chance(&m, 60))
        add_output(&m, TKJ_CALL_VALUES, spec->dtype, out_rows);
}
