/* SPDX-License-Identifier: Apache-2.0 */
#include "ranking.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "float16.h"
#include "judge.h"

bool tkj_ranking_allocate(tkj_ranking *r, int64_t longest, int64_t slots)
{
    r->slots = slots;
    r->chosen = malloc(((size_t)slots + 1) * sizeof *r->chosen);
    r->taken = malloc((size_t)longest + 1);
    if (r->chosen != NULL && r->taken != NULL)
        return true;
    snprintf(r->message, TKJ_JUDGE_MESSAGE_SIZE, "the judge has no memory");
    tkj_ranking_release(r);
    return false;
}

void tkj_ranking_release(tkj_ranking *r)
{
    free(r->chosen);
    free(r->taken);
    r->chosen = NULL;
    r->taken = NULL;
}

/* An element as a number: a float in `real`, an integer in `integer`, the other one 0. */
typedef struct number {
    bool is_nan;
    double real;
    int64_t integer;
} number;

static number real_number(double value)
{
    return isnan(value) ? (number){.is_nan = true} : (number){.real = value};
}

static number number_at(const tkj_ranking *r, int64_t position)
{
    int64_t i = r->first + position * r->step;
    switch (r->dtype) {
    case TOPK_JIT_FLOAT16:
        return real_number(tkj_float16_to_float(((const uint16_t *)r->scores)[i]));
    case TOPK_JIT_BFLOAT16:
        return real_number(tkj_bfloat16_to_float(((const uint16_t *)r->scores)[i]));
    case TOPK_JIT_FLOAT64:
        return real_number(((const double *)r->scores)[i]);
    case TOPK_JIT_INT32:
        return (number){.integer = ((const int32_t *)r->scores)[i]};
    case TOPK_JIT_INT64:
        return (number){.integer = ((const int64_t *)r->scores)[i]};
    case TOPK_JIT_FLOAT32:
        break;
    }
    return real_number(((const float *)r->scores)[i]);
}

/* Above 0 if a ranks above b, 0 if they are equal. */
static int compare(const tkj_ranking *r, number a, number b)
{
    if (a.is_nan != b.is_nan)
        return a.is_nan != r->nan_last ? 1 : -1;
    if (a.real > b.real || a.integer > b.integer)
        return 1;
    return a.real < b.real || a.integer < b.integer ? -1 : 0;
}

/* A number for a message. */
typedef struct number_text {
    char text[32];
} number_text;

static number_text describe(const tkj_ranking *r, number value)
{
    number_text out;
    if (value.is_nan)
        snprintf(out.text, sizeof out.text, "nan");
    else if (r->dtype == TOPK_JIT_INT32 || r->dtype == TOPK_JIT_INT64)
        snprintf(out.text, sizeof out.text, "%" PRId64, value.integer);
    else
        snprintf(out.text, sizeof out.text, "%.17g", value.real);
    return out;
}

bool tkj_ranking_reject(const tkj_ranking *r, int64_t slot, const char *format, ...)
{
    int length = snprintf(r->message, TKJ_JUDGE_MESSAGE_SIZE, "row %" PRId64 ", slot %" PRId64 ": ",
                          r->row, slot);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->message + length, TKJ_JUDGE_MESSAGE_SIZE - (size_t)length, format, arguments);
    va_end(arguments);
    return false;
}

int64_t tkj_ranking_selected(const tkj_ranking *r)
{
    return r->slots < r->length ? r->slots : r->length;
}

/* Distinct positions of the row, then -1. Marks the positions as taken. */
static bool judge_positions(const tkj_ranking *r)
{
    int64_t selected = tkj_ranking_selected(r);
    for (int64_t p = 0; p < r->length; p++)
        r->taken[p] = false;
    for (int64_t slot = 0; slot < r->slots; slot++) {
        int64_t p = r->chosen[slot];
        if (slot >= selected && p != -1)
            return tkj_ranking_reject(r, slot, "expected -1, found position %" PRId64, p);
        if (slot >= selected)
            continue;
        if (p < 0 || p >= r->length)
            return tkj_ranking_reject(
                r, slot, "expected a position in [0, %" PRId64 "), found %" PRId64, r->length, p);
        if (r->taken[p])
            return tkj_ranking_reject(
                r, slot, "expected another position, found %" PRId64 " a second time", p);
        r->taken[p] = true;
    }
    return true;
}

/* The slot with the lowest score. */
static int64_t lowest_slot(const tkj_ranking *r)
{
    int64_t lowest = 0;
    for (int64_t slot = 1; slot < tkj_ranking_selected(r); slot++)
        if (compare(r, number_at(r, r->chosen[slot]), number_at(r, r->chosen[lowest])) < 0)
            lowest = slot;
    return lowest;
}

/* k distinct positions hold the k largest scores, as a multiset, exactly if no score that was left
   out is larger than the lowest one taken. */
static bool judge_scores(const tkj_ranking *r)
{
    int64_t slot = lowest_slot(r);
    number lowest = number_at(r, r->chosen[slot]);
    for (int64_t p = 0; p < r->length; p++) {
        number score = number_at(r, p);
        if (!r->taken[p] && compare(r, score, lowest) > 0)
            return tkj_ranking_reject(
                r, slot,
                "expected position %" PRId64 " with score %s, found %" PRId64 " with score %s", p,
                describe(r, score).text, r->chosen[slot], describe(r, lowest).text);
    }
    return true;
}

static int64_t slot_of(const tkj_ranking *r, int64_t position)
{
    int64_t slot = 0;
    while (r->chosen[slot] != position)
        slot++;
    return slot;
}

/* Once a position with the lowest score was left out, no later one in the order of preference may
   be taken. */
static bool judge_ties(const tkj_ranking *r, topk_jit_tie_break tie_break)
{
    if (tie_break == TOPK_JIT_TIE_BREAK_NONE)
        return true;
    number lowest = number_at(r, r->chosen[lowest_slot(r)]);
    int64_t left_out = -1;
    for (int64_t i = 0; i < r->length; i++) {
        int64_t p = tie_break == TOPK_JIT_TIE_BREAK_LARGEST ? r->length - 1 - i : i;
        if (compare(r, number_at(r, p), lowest) != 0)
            continue;
        if (!r->taken[p])
            left_out = left_out < 0 ? p : left_out;
        else if (left_out >= 0)
            return tkj_ranking_reject(r, slot_of(r, p),
                                      "expected position %" PRId64 " of the equal scores %s, "
                                      "found %" PRId64,
                                      left_out, describe(r, lowest).text, p);
    }
    return true;
}

static bool judge_order(const tkj_ranking *r, tkj_ranking_rules rules)
{
    for (int64_t slot = 1; slot < tkj_ranking_selected(r); slot++) {
        int64_t p = r->chosen[slot], before = r->chosen[slot - 1];
        int order = rules.sorted ? compare(r, number_at(r, p), number_at(r, before)) : 0;
        if (order > 0)
            return tkj_ranking_reject(r, slot, "expected a score of at most %s, found %s",
                                      describe(r, number_at(r, before)).text,
                                      describe(r, number_at(r, p)).text);
        if ((rules.sorted || rules.ascending) && order == 0 && p < before)
            return tkj_ranking_reject(
                r, slot, "expected a position above %" PRId64 ", found %" PRId64, before, p);
    }
    return true;
}

bool tkj_ranking_judge(const tkj_ranking *r, tkj_ranking_rules rules)
{
    if (!judge_positions(r))
        return false;
    if (tkj_ranking_selected(r) == 0)
        return true;
    return judge_scores(r) && judge_ties(r, rules.tie_break) && judge_order(r, rules);
}
