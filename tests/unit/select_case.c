/* SPDX-License-Identifier: Apache-2.0 */
#include "select_case.h"

#include <math.h>

#include "float16.h"
#include "ordered_key.h"

topk_jit_spec select_case_spec(int64_t k)
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.topk = k;
    spec.deterministic = 1;
    return spec;
}

topk_jit_spec select_case_paged_spec(int64_t k, int64_t page_size)
{
    topk_jit_spec spec = select_case_spec(k);
    spec.layout = TOPK_JIT_LAYOUT_PAGED;
    spec.page_size = page_size;
    return spec;
}

static void create(tkj_guarded *out, int64_t rows, int64_t columns, int64_t gap, size_t size,
                   size_t shift)
{
    assert_true(tkj_guarded_create(out, rows, columns, columns + gap, size, shift));
}

static void write_score(select_case *c, int64_t row, int64_t column, float value)
{
    int64_t i = row * c->params.score_stride + column;
    if (c->spec.dtype == TOPK_JIT_FLOAT32)
        ((float *)tkj_guarded_data(&c->score))[i] = value;
    else
        ((uint16_t *)tkj_guarded_data(&c->score))[i] = c->spec.dtype == TOPK_JIT_FLOAT16
                                                           ? tkj_float16_from_float(value)
                                                           : tkj_bfloat16_from_float(value);
}

static void write_garbage(select_case *c)
{
    static const float garbage[] = {NAN, INFINITY, 1e30F};
    for (int64_t row = 0; row < c->score.rows; row++)
        for (int64_t column = 0; column < c->score.columns; column++)
            write_score(c, row, column, garbage[column % 3]);
}

void select_case_open(select_case *c, topk_jit_spec spec, select_shape shape)
{
    *c = (select_case){.spec = spec};
    int64_t out_rows = shape.rows + shape.padded_rows;
    size_t size = tkj_dtype_size(spec.dtype), index_size = tkj_dtype_size(spec.index_dtype);
    create(&c->score, shape.rows, shape.width, shape.score_gap, size, shape.shift);
    create(&c->indices, out_rows, spec.topk, shape.out_gap, index_size, shape.shift);
    create(&c->raw_indices, out_rows, spec.topk, shape.out_gap, 4, shape.shift);
    create(&c->values, out_rows, spec.topk, shape.out_gap, size, shape.shift);
    c->params = (tkj_select_params){
        .score = tkj_guarded_data(&c->score),
        .score_stride = c->score.stride,
        .rows = shape.rows,
        .width = shape.width,
        .out_rows = out_rows,
        .next_n = 1,
        .compress_ratio = 1,
        .lengths_stride_b = 1,
        .indices = tkj_guarded_data(&c->indices),
        .indices_stride = c->indices.stride,
        .raw_indices = tkj_guarded_data(&c->raw_indices),
        .raw_indices_stride = c->raw_indices.stride,
        .values = tkj_guarded_data(&c->values),
        .values_stride = c->values.stride,
    };
    write_garbage(c);
}

void select_case_close(select_case *c)
{
    tkj_guarded_destroy(&c->score);
    tkj_guarded_destroy(&c->indices);
    tkj_guarded_destroy(&c->raw_indices);
    tkj_guarded_destroy(&c->values);
}

void select_case_fill(select_case *c, int64_t row, int64_t start, int64_t length,
                      tkj_scores_distribution distribution, uint64_t seed)
{
    int64_t first = (row * c->params.score_stride + start) * (int64_t)c->score.element_size;
    tkj_scores_fill(distribution, seed, c->spec.topk, c->spec.dtype,
                    (char *)tkj_guarded_data(&c->score) + first, length, 1);
}

void select_case_write(select_case *c, int64_t row, const float *scores, int64_t count)
{
    for (int64_t column = 0; column < count; column++)
        write_score(c, row, column, scores[column]);
}

void select_case_open_six(select_case *c, topk_jit_spec spec, int64_t rows)
{
    const float scores[6] = {5, 1, 9, 3, 7, 2};
    select_case_open(c, spec, (select_shape){.rows = rows, .width = 6});
    select_case_write(c, 0, scores, 6);
    c->params.score_stride = 0;
}

void select_case_set_table(select_case *c, const int32_t *table, int64_t rows, int64_t width)
{
    c->params.page_table = table;
    c->params.page_table_stride = width;
    c->params.page_table_rows = rows;
    c->params.page_table_width = width;
}

void select_case_run(select_case *c)
{
    char message[TKJ_JUDGE_MESSAGE_SIZE];
    const tkj_guarded *outputs[] = {&c->indices, &c->raw_indices, &c->values};
    for (int i = 0; i < 3; i++)
        tkj_guarded_poison(outputs[i]);
    assert_int_equal(tkj_host_select(&tkj_default_allocator, &c->spec, &c->params), TOPK_JIT_OK);
    for (int i = 0; i < 3; i++)
        if (!tkj_guarded_verify(outputs[i], message, sizeof message))
            fail_msg("output %d, %s", i, message);
    if (!tkj_judge_select(&c->spec, &c->params, message))
        fail_msg("%s", message);
}

int64_t select_case_index(const select_case *c, int64_t row, int64_t slot)
{
    int64_t i = row * c->params.indices_stride + slot;
    if (c->spec.index_dtype == TOPK_JIT_INT64)
        return ((const int64_t *)c->params.indices)[i];
    return ((const int32_t *)c->params.indices)[i];
}

int64_t select_case_raw(const select_case *c, int64_t row, int64_t slot)
{
    return c->params.raw_indices[row * c->params.raw_indices_stride + slot];
}

void select_case_expect(const select_case *c, int64_t row, const int64_t *indices)
{
    for (int64_t slot = 0; slot < c->spec.topk; slot++)
        assert_int_equal(select_case_index(c, row, slot), indices[slot]);
}

void select_case_expect_raw(const select_case *c, int64_t row, const int64_t *positions)
{
    for (int64_t slot = 0; slot < c->spec.topk; slot++)
        assert_int_equal(select_case_raw(c, row, slot), positions[slot]);
}
