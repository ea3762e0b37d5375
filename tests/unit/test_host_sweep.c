/* SPDX-License-Identifier: Apache-2.0 */
/* The host engine across distributions, dtypes, k, lengths, layouts and options, drawn by seed. */

#include "select_case.h"

enum { ROWS = 4, WIDTH = 2300, PAGES = 1200 };

/* What one case needs beyond its tensors. */
typedef struct inputs {
    int32_t starts[ROWS], lengths[ROWS], ends[ROWS], offsets[ROWS];
    int32_t first_pages[ROWS], batch_of[ROWS], cu[ROWS + 1];
    int32_t table[ROWS * PAGES];
} inputs;

static int64_t draw(uint64_t *random, int64_t low, int64_t high)
{
    return low + (int64_t)(tkj_scores_random(random) % (uint64_t)(high - low + 1));
}

/* Each k is met by rows that are longer, as long, and shorter. */
static void draw_inputs(inputs *in, uint64_t *random, int64_t k)
{
    for (int i = 0; i < ROWS; i++) {
        int64_t around_k[] = {k - 1, k, k + 1, 0, -5, WIDTH, WIDTH + 9, draw(random, 1, WIDTH)};
        in->lengths[i] = (int32_t)around_k[draw(random, 0, 7)];
        in->starts[i] = (int32_t)(draw(random, 0, 2) > 0 ? draw(random, -3, 40) : WIDTH - 7);
        in->ends[i] = in->starts[i] + in->lengths[i];
        in->offsets[i] = (int32_t)(tkj_scores_random(random) >> 32);
        in->first_pages[i] = (int32_t)draw(random, -1, 50);
        in->batch_of[i] = (int32_t)draw(random, -1, ROWS);
        in->cu[i + 1] = in->cu[i] + (int32_t)draw(random, 0, 2);
    }
    for (int i = 0; i < ROWS * PAGES; i++)
        in->table[i] = (int32_t)draw(random, -1, draw(random, 0, 1) ? 100000 : INT32_MAX);
}

static topk_jit_spec draw_spec(uint64_t *random, topk_jit_dtype dtype, int64_t k)
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.topk = k;
    spec.dtype = dtype;
    spec.index_dtype = draw(random, 0, 1) ? TOPK_JIT_INT64 : TOPK_JIT_INT32;
    spec.layout = (topk_jit_layout)draw(random, 0, 2);
    spec.page_size = spec.layout == TOPK_JIT_LAYOUT_PAGED ? INT64_C(1) << draw(random, 0, 12) : 0;
    spec.tie_break = (topk_jit_tie_break)draw(random, 0, 2);
    spec.sorted = (uint8_t)draw(random, 0, 1);
    spec.deterministic = (uint8_t)draw(random, 0, 1);
    spec.nan_last = (uint8_t)draw(random, 0, 1);
    return spec;
}

static select_shape draw_shape(uint64_t *random)
{
    return (select_shape){.rows = ROWS,
                          .width = WIDTH,
                          .padded_rows = draw(random, 0, 2),
                          .score_gap = draw(random, 0, 5),
                          .out_gap = draw(random, 0, 5),
                          .shift = (size_t)draw(random, 0, 7)};
}

static void give_window(select_case *c, const inputs *in, uint64_t *random)
{
    c->params.next_n = INT64_C(1) << draw(random, 0, 2);
    c->params.compress_ratio = draw(random, 0, 3) ? 1 : draw(random, 2, 5);
    c->params.lengths_step = draw(random, 0, 1);
    if (!c->params.lengths_step) {
        c->params.lengths_stride_b = c->params.next_n;
        c->params.lengths_stride_j = 1;
    }
    if (draw(random, 0, 1))
        c->params.row_starts = VECTOR(in->starts);
    if (draw(random, 0, 3))
        c->params.lengths = in->lengths;
    else if (draw(random, 0, 1))
        c->params.row_ends = VECTOR(in->ends);
}

static void give_layout(select_case *c, const inputs *in, uint64_t *random)
{
    c->params.offsets = VECTOR(in->offsets);
    select_case_set_table(c, in->table, ROWS, PAGES);
    if (draw(random, 0, 1))
        c->params.page_table_row_starts = VECTOR(in->first_pages);
    int64_t mapping = draw(random, 0, 2);
    if (mapping == 1)
        c->params.row_to_batch = VECTOR(in->batch_of);
    if (mapping == 2) {
        c->params.cu_seqlens_q = VECTOR(in->cu);
        c->params.cu_batch = ROWS;
    }
}

static void run_case(topk_jit_dtype dtype, tkj_scores_distribution distribution, int64_t k,
                     uint64_t seed)
{
    uint64_t random = seed;
    inputs in = {.cu = {0}};
    select_case c;
    draw_inputs(&in, &random, k);
    select_case_open(&c, draw_spec(&random, dtype, k), draw_shape(&random));
    for (int64_t row = 0; row < ROWS; row++)
        select_case_fill(&c, row, 0, WIDTH, distribution, seed + (uint64_t)row);
    if (draw(&random, 0, 7) == 0)
        c.params.score_stride = 0;
    give_window(&c, &in, &random);
    give_layout(&c, &in, &random);
    select_case_run(&c);
    select_case_close(&c);
}

static void sweep(topk_jit_dtype dtype)
{
    const int64_t ks[11] = {1, 2, 5, 63, 64, 65, 2048, WIDTH - 1, WIDTH, WIDTH + 1, WIDTH + 700};
    for (int d = 0; d < TKJ_SCORES_COUNT; d++)
        for (uint64_t i = 0; i < 44; i++)
            run_case(dtype, (tkj_scores_distribution)d, ks[i % 11], (uint64_t)d * 100 + i);
}

static void float32_is_right_for_every_distribution(void **state)
{
    (void)state;
    sweep(TOPK_JIT_FLOAT32);
}

static void float16_is_right_for_every_distribution(void **state)
{
    (void)state;
    sweep(TOPK_JIT_FLOAT16);
}

static void bfloat16_is_right_for_every_distribution(void **state)
{
    (void)state;
    sweep(TOPK_JIT_BFLOAT16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(float32_is_right_for_every_distribution),
        cmocka_unit_test(float16_is_right_for_every_distribution),
        cmocka_unit_test(bfloat16_is_right_for_every_distribution),
    };
    return cmocka_run_group_tests_name("host_sweep", tests, NULL, NULL);
}
