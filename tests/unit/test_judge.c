/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "select_case.h"

/* A right selection of 4 of 6 tied scores, with a ragged offset of 100 and a padded row. Each test
   then spoils it. */
static void open_right(select_case *c, topk_jit_spec spec)
{
    static const float scores[6] = {4, 8, 4, 1, 4, 8};
    static const int32_t offset[1] = {100};
    spec.layout = TOPK_JIT_LAYOUT_RAGGED;
    select_case_open(c, spec,
                     (select_shape){.rows = 1, .width = 6, .padded_rows = 1, .out_gap = 3});
    select_case_write(c, 0, scores, 6);
    c->params.offsets = VECTOR(offset);
    select_case_run(c);
}

static topk_jit_spec loose_spec(int64_t k)
{
    topk_jit_spec spec = select_case_spec(k);
    spec.deterministic = 0;
    return spec;
}

static void put(const select_case *c, int64_t slot, int32_t position)
{
    c->params.raw_indices[slot] = position;
    ((int32_t *)c->params.indices)[slot] = position + 100;
    ((float *)c->params.values)[slot] = ((const float *)c->params.score)[position];
}

static void expect_accepted(select_case *c)
{
    char message[TKJ_JUDGE_MESSAGE_SIZE] = "";
    if (!tkj_judge_select(&c->spec, &c->params, message))
        fail_msg("%s", message);
    select_case_close(c);
}

static void expect_rejected(select_case *c, const char *message)
{
    char found[TKJ_JUDGE_MESSAGE_SIZE] = "accepted";
    assert_false(tkj_judge_select(&c->spec, &c->params, found));
    assert_string_equal(found, message);
    select_case_close(c);
}

static void any_order_and_any_tie_is_right_where_none_is_asked(void **state)
{
    (void)state;
    select_case c;
    open_right(&c, loose_spec(4));
    put(&c, 0, 4);
    put(&c, 1, 5);
    put(&c, 2, 2);
    put(&c, 3, 1);
    expect_accepted(&c);
}

static void position_that_is_there_twice_is_rejected(void **state)
{
    (void)state;
    select_case c;
    open_right(&c, loose_spec(4));
    put(&c, 2, 1);
    expect_rejected(&c, "row 0, slot 2: expected another position, found 1 a second time");
}

static void unwritten_slot_is_rejected(void **state)
{
    (void)state;
    select_case c;
    open_right(&c, loose_spec(4));
    memset(&c.params.raw_indices[3], TKJ_GUARDED_POISON, 4);
    expect_rejected(&c, "row 0, slot 3: expected a position in [0, 6), found -1515870811");
}

static void position_outside_the_window_is_rejected(void **state)
{
    (void)state;
    const int32_t length[1] = {5};
    select_case c;
    open_right(&c, loose_spec(4));
    c.params.lengths = length;
    expect_rejected(&c, "row 0, slot 3: expected a position in [0, 5), found 5");
}

static void minus_one_for_a_position_is_rejected(void **state)
{
    (void)state;
    select_case c;
    open_right(&c, loose_spec(4));
    c.params.raw_indices[0] = -1;
    expect_rejected(&c, "row 0, slot 0: expected a position in [0, 6), found -1");
}

static void smaller_score_is_rejected(void **state)
{
    (void)state;
    select_case c;
    open_right(&c, loose_spec(4));
    put(&c, 0, 3);
    expect_rejected(&c, "row 0, slot 0: expected position 0 with score 4, found 3 with score 1");
}

static void padding_other_than_minus_one_is_rejected(void **state)
{
    (void)state;
    select_case c;
    open_right(&c, loose_spec(8));
    c.params.raw_indices[6] = 0;
    expect_rejected(&c, "row 0, slot 6: expected -1, found position 0");
}

static void padding_of_the_index_alone_is_judged(void **state)
{
    (void)state;
    select_case c;
    open_right(&c, loose_spec(8));
    ((int32_t *)c.params.indices)[7] = 99;
    expect_rejected(&c, "row 0, slot 7: expected index -1 for position -1, found 99");
}

static void unwritten_padded_row_is_rejected(void **state)
{
    (void)state;
    select_case c;
    open_right(&c, loose_spec(4));
    memset(&c.params.raw_indices[c.params.raw_indices_stride + 1], TKJ_GUARDED_POISON, 4);
    expect_rejected(&c, "row 1, slot 1: expected -1, found position -1515870811");
}

static void wrong_transform_is_rejected(void **state)
{
    (void)state;
    select_case c;
    open_right(&c, loose_spec(4));
    ((int32_t *)c.params.indices)[1] = 1;
    expect_rejected(&c, "row 0, slot 1: expected index 101 for position 1, found 1");
}

static void value_of_other_bits_is_rejected(void **state)
{
    (void)state;
    const float zeros[1] = {0.0F};
    select_case c;
    open_right(&c, loose_spec(8));
    select_case_write(&c, 0, zeros, 1);
    ((float *)c.params.values)[0] = -0.0F;
    expect_rejected(&c, "row 0, slot 0: expected a value of bits 0, found 0x80000000");
}

static void padding_value_other_than_minus_infinity_is_rejected(void **state)
{
    (void)state;
    select_case c;
    open_right(&c, loose_spec(8));
    ((float *)c.params.values)[7] = 0.0F;
    expect_rejected(&c, "row 0, slot 7: expected a value of bits 0xff800000, found 0");
}

static void short_row_out_of_order_is_rejected(void **state)
{
    (void)state;
    select_case c;
    open_right(&c, loose_spec(8));
    put(&c, 0, 1);
    put(&c, 1, 0);
    expect_rejected(&c, "row 0, slot 1: expected a position above 1, found 0");
}

static void deterministic_slots_out_of_order_are_rejected(void **state)
{
    (void)state;
    select_case c;
    open_right(&c, select_case_spec(4));
    put(&c, 2, 5);
    put(&c, 3, 2);
    expect_rejected(&c, "row 0, slot 3: expected a position above 5, found 2");
}

static void sorted_scores_out_of_order_are_rejected(void **state)
{
    (void)state;
    topk_jit_spec spec = loose_spec(4);
    spec.sorted = 1;
    select_case c;
    open_right(&c, spec);
    put(&c, 1, 0);
    put(&c, 2, 5);
    expect_rejected(&c, "row 0, slot 2: expected a score of at most 4, found 8");
}

static void sorted_equals_by_descending_position_are_rejected(void **state)
{
    (void)state;
    topk_jit_spec spec = loose_spec(4);
    spec.sorted = 1;
    select_case c;
    open_right(&c, spec);
    put(&c, 0, 5);
    put(&c, 1, 1);
    expect_rejected(&c, "row 0, slot 1: expected a position above 5, found 1");
}

static void wrong_tie_is_rejected(void **state)
{
    (void)state;
    topk_jit_spec spec = loose_spec(4);
    spec.tie_break = TOPK_JIT_TIE_BREAK_LARGEST;
    select_case c;
    open_right(&c, spec); /* 1, 2, 4, 5 */
    put(&c, 1, 0);
    expect_rejected(&c, "row 0, slot 1: expected position 2 of the equal scores 4, found 0");
    spec.tie_break = TOPK_JIT_TIE_BREAK_SMALLEST;
    open_right(&c, spec); /* 0, 1, 2, 5 */
    put(&c, 2, 4);
    expect_rejected(&c, "row 0, slot 2: expected position 2 of the equal scores 4, found 4");
    open_right(&c, select_case_spec(4));
    put(&c, 2, 4);
    expect_rejected(&c, "row 0, slot 2: expected position 2 of the equal scores 4, found 4");
}

static void selection_that_ignores_nan_last_is_rejected(void **state)
{
    (void)state;
    const float nan[1] = {NAN};
    select_case c;
    open_right(&c, loose_spec(4));
    select_case_write(&c, 0, nan, 1);
    select_case_run(&c);
    c.spec.nan_last = 1;
    expect_rejected(&c, "row 0, slot 0: expected position 3 with score 1, found 0 with score nan");
}

static void result_without_raw_indices_cannot_be_judged(void **state)
{
    (void)state;
    select_case c;
    open_right(&c, loose_spec(4));
    c.params.raw_indices = NULL;
    expect_rejected(&c, "there are no raw_indices to judge");
}

static void broken_guards_are_noticed(void **state)
{
    (void)state;
    char message[128] = "";
    tkj_guarded g;
    assert_true(tkj_guarded_create(&g, 2, 3, 5, 4, 1));
    int32_t *data = tkj_guarded_data(&g);
    assert_int_equal((uintptr_t)data % 16, 4);
    const int touched[] = {-1, 3, 4, 8, 9};
    memset(&data[0], 0, 12);
    memset(&data[5], 0, 12);
    assert_true(tkj_guarded_verify(&g, message, sizeof message));
    for (int i = 0; i < 5; i++) {
        int32_t intact = data[touched[i]];
        data[touched[i]] = 0;
        assert_false(tkj_guarded_verify(&g, message, sizeof message));
        data[touched[i]] = intact;
    }
    g.block[0] = 0;
    assert_false(tkj_guarded_verify(&g, message, sizeof message));
    g.block[0] = TKJ_GUARDED_POISON;
    g.block[g.block_size - 1] = 7;
    assert_false(tkj_guarded_verify(&g, message, sizeof message));
    assert_string_equal(message, "row 2: the guard byte 295 bytes from the first element is 0x7");
    tkj_guarded_destroy(&g);
}

static int compare_descending(const void *left, const void *right)
{
    float a = *(const float *)left, b = *(const float *)right;
    return (a < b) - (a > b);
}

/* The three largest of scores, descending. */
static void three_largest(const float *scores, int count, float out[3])
{
    float sorted[8];
    memcpy(sorted, scores, (size_t)count * sizeof *scores);
    qsort(sorted, (size_t)count, sizeof *sorted, compare_descending);
    memcpy(out, sorted, 3 * sizeof *out);
}

/* The judge's criterion against a full sort, for every choice of three of eight. */
static void judge_agrees_with_a_sort_on_every_choice(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        select_case c;
        select_case_open(&c, loose_spec(3), (select_shape){.rows = 1, .width = 8});
        select_case_fill(&c, 0, 0, 8, TKJ_SCORES_TEN_VALUES, seed);
        const float *scores = c.params.score;
        float right[3], chosen[3];
        three_largest(scores, 8, right);
        for (int choice = 0; choice < 512; choice++) {
            int p[3] = {choice & 7, choice >> 3 & 7, choice >> 6 & 7};
            for (int slot = 0; slot < 3; slot++) {
                put(&c, slot, p[slot]);
                ((int32_t *)c.params.indices)[slot] -= 100;
                chosen[slot] = scores[p[slot]];
            }
            three_largest(chosen, 3, chosen);
            bool same_scores =
                chosen[0] == right[0] && chosen[1] == right[1] && chosen[2] == right[2];
            bool distinct = p[0] != p[1] && p[0] != p[2] && p[1] != p[2];
            char message[TKJ_JUDGE_MESSAGE_SIZE];
            assert_int_equal(tkj_judge_select(&c.spec, &c.params, message),
                             distinct && same_scores);
        }
        select_case_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_and_any_tie_is_right_where_none_is_asked),
        cmocka_unit_test(position_that_is_there_twice_is_rejected),
        cmocka_unit_test(unwritten_slot_is_rejected),
        cmocka_unit_test(position_outside_the_window_is_rejected),
        cmocka_unit_test(minus_one_for_a_position_is_rejected),
        cmocka_unit_test(smaller_score_is_rejected),
        cmocka_unit_test(padding_other_than_minus_one_is_rejected),
        cmocka_unit_test(padding_of_the_index_alone_is_judged),
        cmocka_unit_test(unwritten_padded_row_is_rejected),
        cmocka_unit_test(wrong_transform_is_rejected),
        cmocka_unit_test(value_of_other_bits_is_rejected),
        cmocka_unit_test(padding_value_other_than_minus_infinity_is_rejected),
        cmocka_unit_test(short_row_out_of_order_is_rejected),
        cmocka_unit_test(deterministic_slots_out_of_order_are_rejected),
        cmocka_unit_test(sorted_scores_out_of_order_are_rejected),
        cmocka_unit_test(sorted_equals_by_descending_position_are_rejected),
        cmocka_unit_test(wrong_tie_is_rejected),
        cmocka_unit_test(selection_that_ignores_nan_last_is_rejected),
        cmocka_unit_test(result_without_raw_indices_cannot_be_judged),
        cmocka_unit_test(broken_guards_are_noticed),
        cmocka_unit_test(judge_agrees_with_a_sort_on_every_choice),
    };
    return cmocka_run_group_tests_name("judge", tests, NULL, NULL);
}
