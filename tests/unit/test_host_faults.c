/* SPDX-License-Identifier: Apache-2.0 */
/* Faults that users met in other implementations, each as a kind. */
#include <float.h>
#include <math.h>
#include <sys/mman.h>

#include "select_case.h"

static topk_jit_spec loose_spec(int64_t k)
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.topk = k;
    return spec;
}

static void run_rows(topk_jit_spec spec, select_shape shape, tkj_scores_distribution distribution)
{
    select_case c;
    select_case_open(&c, spec, shape);
    for (int64_t row = 0; row < shape.rows; row++)
        select_case_fill(&c, row, 0, shape.width, distribution, (uint64_t)row + 1);
    select_case_run(&c);
    select_case_close(&c);
}

/* sglang#36807, vllm#51782, flashinfer#2604, TensorRT-LLM#17550: more candidates than a buffer. */
static void crowds_around_the_kth_place_lose_nobody(void **state)
{
    (void)state;
    const select_shape shape = {.rows = 2, .width = 262144};
    run_rows(loose_spec(2048), shape, TKJ_SCORES_NORMAL);
    run_rows(loose_spec(2048), shape, TKJ_SCORES_NARROW);
    run_rows(loose_spec(2048), shape, TKJ_SCORES_NEAR_ONE);
    run_rows(loose_spec(2048), shape, TKJ_SCORES_RELU);
}

/* tilelang#1351: the same crowds write beyond their buffer. */
static void plateau_wider_than_the_output_stays_in_its_slots(void **state)
{
    (void)state;
    const select_shape shape = {.rows = 3, .width = 50000, .out_gap = 1, .shift = 1};
    run_rows(loose_spec(2047), shape, TKJ_SCORES_EQUAL);
    run_rows(loose_spec(1), shape, TKJ_SCORES_EQUAL);
}

/* sglang#30512: slots left unwritten, later used as addresses. */
static void hundred_winners_among_zeros_fill_every_slot(void **state)
{
    (void)state;
    select_case c;
    select_case_open(&c, loose_spec(2048), (select_shape){.rows = 1, .width = 8320});
    for (int64_t column = 0; column < 8320; column++)
        ((float *)tkj_guarded_data(&c.score))[column] = column % 83 == 7 ? 1.0F : 0.0F;
    select_case_run(&c);
    for (int64_t slot = 0; slot < 2048; slot++)
        assert_in_range(select_case_index(&c, 0, slot), 0, 8319);
    select_case_close(&c);
}

/* sglang#30378, vllm#51593: lengths of padded graph rows read as unsigned. */
static void negative_length_is_an_empty_row(void **state)
{
    (void)state;
    const int32_t lengths[] = {-1, -4, INT32_MIN};
    select_case c;
    select_case_open(&c, loose_spec(2), (select_shape){.rows = 3, .width = 100});
    c.params.lengths = lengths;
    select_case_run(&c);
    for (int64_t row = 0; row < 3; row++)
        EXPECT_ROW(&c, row, -1, -1);
    select_case_close(&c);
}

/* vllm#49896: the bits of NaN used as an index. */
static void nan_becomes_no_index(void **state)
{
    (void)state;
    run_rows(loose_spec(300), (select_shape){.rows = 2, .width = 5000}, TKJ_SCORES_SOME_NAN);
    run_rows(loose_spec(300), (select_shape){.rows = 2, .width = 5000}, TKJ_SCORES_ANY_BITS);
}

/* sglang#39648: rows of -inf return position 0 again and again. flashinfer#4621: -inf winners
   taken for padding. */
static void row_of_minus_infinity_selects_distinct_positions(void **state)
{
    (void)state;
    select_case c;
    select_case_open(&c, loose_spec(64), (select_shape){.rows = 1, .width = 100});
    select_case_fill(&c, 0, 0, 100, TKJ_SCORES_MINUS_INFINITY, 1);
    select_case_run(&c);
    for (int64_t slot = 0; slot < 64; slot++)
        assert_in_range(select_case_index(&c, 0, slot), 0, 99);
    select_case_close(&c);
}

/* raft#2801: padding of the lowest finite number beats a real -inf. */
static void minus_infinity_beats_padding_but_no_number(void **state)
{
    (void)state;
    const float scores[] = {-INFINITY, -FLT_MAX, -INFINITY};
    topk_jit_spec spec = loose_spec(5);
    spec.sorted = 1;
    select_case c;
    select_case_open(&c, spec, (select_shape){.rows = 1, .width = 3});
    select_case_write(&c, 0, scores, 3);
    select_case_run(&c);
    EXPECT_ROW(&c, 0, 1, 0, 2, -1, -1);
    select_case_close(&c);
}

/* cudnn-frontend#446: scores below -65504 fall into one bin. */
static void scores_below_the_float16_range_are_told_apart(void **state)
{
    (void)state;
    const float scores[] = {-65506.0F, -1e30F, -65505.0F, -3e38F};
    select_case c;
    select_case_open(&c, select_case_spec(2), (select_shape){.rows = 1, .width = 4});
    select_case_write(&c, 0, scores, 4);
    select_case_run(&c);
    EXPECT_ROW(&c, 0, 0, 2);
    select_case_close(&c);
    run_rows(loose_spec(100), (select_shape){.rows = 2, .width = 9000}, TKJ_SCORES_FAR_BELOW);
}

/* vllm#42169, tokenspeed#683: the width taken for the row stride. flashinfer#4315: wide loads from
   an address that is aligned to its element only. */
static void padded_and_misaligned_rows_are_read_where_they_are(void **state)
{
    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        topk_jit_spec spec = loose_spec(7);
        select_shape shape = {.rows = 5, .width = 61, .score_gap = 3, .shift = shift};
        run_rows(spec, shape, TKJ_SCORES_NORMAL);
        spec.dtype = TOPK_JIT_BFLOAT16;
        run_rows(spec, shape, TKJ_SCORES_NORMAL);
    }
}

/* flashinfer#2937, cudnn-frontend#311: row * stride overflows 32 bits. */
static void row_offsets_exceed_32_bits(void **state)
{
    (void)state;
    const int64_t stride = (INT64_C(1) << 32) + 3;
    const size_t bytes = (size_t)(stride + 8) * 2;
    uint16_t *score = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (score == MAP_FAILED)
        skip(); /* the address space is limited; of the 8 GiB two pages are touched */
    topk_jit_spec spec = select_case_spec(1);
    spec.dtype = TOPK_JIT_BFLOAT16;
    select_case c;
    select_case_open(&c, spec, (select_shape){.rows = 2, .width = 8});
    c.params.score = score;
    c.params.score_stride = stride;
    score[5] = 0x3F80;
    score[stride + 2] = 0x3F80;
    select_case_run(&c);
    EXPECT_ROW(&c, 0, 5);
    EXPECT_ROW(&c, 1, 2);
    select_case_close(&c);
    munmap(score, bytes);
}

/* vllm#41189, #41444, #41665, flashinfer#3610: state of one launch seen by the next. */
static void call_leaves_nothing_behind_for_the_next(void **state)
{
    (void)state;
    select_case c, other;
    select_case_open(&c, loose_spec(50), (select_shape){.rows = 2, .width = 1000});
    select_case_fill(&c, 0, 0, 1000, TKJ_SCORES_TEN_VALUES, 1);
    select_case_fill(&c, 1, 0, 1000, TKJ_SCORES_RELU, 2);
    select_case_open(&other, loose_spec(900), (select_shape){.rows = 1, .width = 3000});
    select_case_run(&c);
    int32_t first[100];
    memcpy(first, c.params.indices, sizeof first);
    select_case_run(&other);
    select_case_run(&c);
    assert_memory_equal(first, c.params.indices, sizeof first);
    select_case_close(&other);
    select_case_close(&c);
}

/* sglang#31115, #24654, aiter#4415: ranks take different ties. One window, alone and then amid
   other rows of a wider, misaligned tensor. */
static void deterministic_row_depends_on_its_window_alone(void **state)
{
    (void)state;
    const int32_t starts[] = {0, 0, 33, 5}, lengths[] = {1500, 7, 1000, 90};
    for (int sorted = 0; sorted < 2; sorted++) {
        topk_jit_spec spec = select_case_spec(100);
        spec.sorted = (uint8_t)sorted;
        select_case alone, amid;
        select_case_open(&alone, spec, (select_shape){.rows = 1, .width = 1000});
        select_case_fill(&alone, 0, 0, 1000, TKJ_SCORES_TEN_VALUES, 9);
        select_case_run(&alone);
        select_case_open(&amid, spec,
                         (select_shape){.rows = 4, .width = 1500, .score_gap = 5, .shift = 3});
        amid.params.row_starts = VECTOR(starts);
        amid.params.lengths = lengths;
        select_case_fill(&amid, 0, 0, 1500, TKJ_SCORES_NORMAL, 1);
        select_case_fill(&amid, 2, 33, 1000, TKJ_SCORES_TEN_VALUES, 9);
        select_case_run(&amid);
        for (int64_t slot = 0; slot < 100; slot++)
            assert_int_equal(select_case_raw(&alone, 0, slot), select_case_raw(&amid, 2, slot));
        select_case_close(&amid);
        select_case_close(&alone);
    }
}

/* Producers leave anything in the columns outside the window. */
static void garbage_outside_the_window_has_no_influence(void **state)
{
    (void)state;
    const int32_t starts[] = {40, 1, 99}, lengths[] = {20, 60, 1};
    select_case c;
    select_case_open(&c, select_case_spec(10), (select_shape){.rows = 3, .width = 100});
    c.params.row_starts = VECTOR(starts);
    c.params.lengths = lengths;
    for (int64_t row = 0; row < 3; row++)
        select_case_fill(&c, row, starts[row], lengths[row], TKJ_SCORES_FAR_BELOW, 4);
    select_case_run(&c);
    for (int64_t slot = 0; slot < 10; slot++) {
        assert_true(((float *)c.params.values)[slot] < -65504.0F);
        assert_true(((float *)c.params.values)[c.params.values_stride + slot] < -65504.0F);
    }
    EXPECT_ROW(&c, 2, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    select_case_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crowds_around_the_kth_place_lose_nobody),
        cmocka_unit_test(plateau_wider_than_the_output_stays_in_its_slots),
        cmocka_unit_test(hundred_winners_among_zeros_fill_every_slot),
        cmocka_unit_test(negative_length_is_an_empty_row),
        cmocka_unit_test(nan_becomes_no_index),
        cmocka_unit_test(row_of_minus_infinity_selects_distinct_positions),
        cmocka_unit_test(minus_infinity_beats_padding_but_no_number),
        cmocka_unit_test(scores_below_the_float16_range_are_told_apart),
        cmocka_unit_test(padded_and_misaligned_rows_are_read_where_they_are),
        cmocka_unit_test(row_offsets_exceed_32_bits),
        cmocka_unit_test(call_leaves_nothing_behind_for_the_next),
        cmocka_unit_test(deterministic_row_depends_on_its_window_alone),
        cmocka_unit_test(garbage_outside_the_window_has_no_influence),
    };
    return cmocka_run_group_tests_name("host_faults", tests, NULL, NULL);
}
