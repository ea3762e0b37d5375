/* SPDX-License-Identifier: Apache-2.0 */
/* The covering array's specs cover what they shall, judged by rules of this file and by what the
   library takes for a valid spec. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "covering.h"
#include "spec.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const int64_t topks[] = {1, 100, 2048, 7000};
static const int64_t page_sizes[] = {0, 1, 64, 1 << 30};
static const struct order {
    topk_jit_tie_break tie_break;
    uint8_t sorted;
    uint8_t deterministic;
} orders[] = {
    {TOPK_JIT_TIE_BREAK_NONE, 0, 0},     {TOPK_JIT_TIE_BREAK_NONE, 1, 0},
    {TOPK_JIT_TIE_BREAK_SMALLEST, 0, 0}, {TOPK_JIT_TIE_BREAK_LARGEST, 0, 0},
    {TOPK_JIT_TIE_BREAK_SMALLEST, 0, 1}, {TOPK_JIT_TIE_BREAK_LARGEST, 0, 1},
    {TOPK_JIT_TIE_BREAK_LARGEST, 1, 0},  {TOPK_JIT_TIE_BREAK_SMALLEST, 1, 1},
};

enum factor { OPERATION, LAYOUT, DTYPE, INDEX, TOPK, PAGE_SIZE, ORDER, NAN_LAST, CHECK };
#define FACTORS (CHECK + 1)
#define VALUES_MAX 8
static const int value_counts[FACTORS] = {2, 3, 6, 2, 4, 4, COUNT(orders), 2, 2};

/** One value of each factor. */
typedef struct point {
    int value[FACTORS];
} point;

static topk_jit_spec spec_of(const point *p)
{
    const int *value = p->value;
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.operation = (topk_jit_operation)value[OPERATION];
    spec.layout = (topk_jit_layout)value[LAYOUT];
    spec.dtype = (topk_jit_dtype)value[DTYPE];
    spec.index_dtype = value[INDEX] ? TOPK_JIT_INT64 : TOPK_JIT_INT32;
    spec.topk = topks[value[TOPK]];
    spec.page_size = page_sizes[value[PAGE_SIZE]];
    spec.sorted = orders[value[ORDER]].sorted;
    spec.tie_break = orders[value[ORDER]].tie_break;
    spec.deterministic = orders[value[ORDER]].deterministic;
    spec.nan_last = (uint8_t)value[NAN_LAST];
    spec.check = (uint8_t)value[CHECK];
    return spec;
}

/** The next point of the product of all factors. @return false after the last */
static bool next_point(point *p)
{
    for (int f = 0; f < FACTORS; f++) {
        if (++p->value[f] < value_counts[f])
            return true;
        p->value[f] = 0;
    }
    return false;
}

static int index_of(int64_t value, const int64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] == value)
            return (int)i;
    fail_msg("%lld is not a value of its factor", (long long)value);
    return 0;
}

static int order_of(const topk_jit_spec *spec)
{
    for (size_t i = 0; i < COUNT(orders); i++)
        if (orders[i].sorted == spec->sorted && orders[i].tie_break == spec->tie_break &&
            orders[i].deterministic == spec->deterministic)
            return (int)i;
    fail_msg("the order options of a line are none of those that are combined");
    return 0;
}

static topk_jit_spec parsed(const char *text)
{
    topk_jit_spec spec;
    if (tkj_spec_parse(text, &spec) != TOPK_JIT_OK)
        fail_msg("%s: %s", text, topk_jit_last_error()->message);
    return spec;
}

static point point_of(const topk_jit_spec *spec)
{
    return (point){{
        [OPERATION] = (int)spec->operation,
        [LAYOUT] = (int)spec->layout,
        [DTYPE] = (int)spec->dtype,
        [INDEX] = spec->index_dtype == TOPK_JIT_INT64,
        [TOPK] = index_of(spec->topk, topks, COUNT(topks)),
        [PAGE_SIZE] = index_of(spec->page_size, page_sizes, COUNT(page_sizes)),
        [ORDER] = order_of(spec),
        [NAN_LAST] = spec->nan_last,
        [CHECK] = spec->check,
    }};
}

/** What a set of points covers; pairs apart for each operation, which has templates of its own. */
typedef struct coverage {
    bool pairs[2][FACTORS][VALUES_MAX][FACTORS][VALUES_MAX];
    bool triples[6][3][VALUES_MAX]; /* dtype, layout, order */
} coverage;

static coverage legal, covered;

static void cover(coverage *c, const point *p)
{
    const int *value = p->value;
    for (int a = 0; a < FACTORS; a++)
        for (int b = 0; b < a; b++)
            c->pairs[value[OPERATION]][a][value[a]][b][value[b]] = true;
    c->triples[value[DTYPE]][value[LAYOUT]][value[ORDER]] = true;
}

static void cover_specs(coverage *c, size_t first, size_t count)
{
    memset(c, 0, sizeof *c);
    for (size_t i = first; i < first + count; i++) {
        const topk_jit_spec spec = parsed(tkj_covering_specs[i]);
        const point p = point_of(&spec);
        cover(c, &p);
    }
}

static void cover_every_legal_point(coverage *c)
{
    point p = {{0}};
    memset(c, 0, sizeof *c);
    do {
        const topk_jit_spec spec = spec_of(&p);
        if (tkj_spec_validate(&spec) == TOPK_JIT_OK)
            cover(c, &p);
    } while (next_point(&p));
}

/** How many flags of a table of them are set in `all` and not in `some`. */
static size_t missing(const void *all, const void *some, size_t size)
{
    const bool *wanted = all, *there = some;
    size_t count = 0;
    for (size_t i = 0; i < size / sizeof *wanted; i++)
        count += wanted[i] && !there[i];
    return count;
}

static void each_spec_is_canonical_and_there_once(void **state)
{
    (void)state;
    assert_in_range(tkj_covering_spec_count, 1, TKJ_COVERING_MAX);
    for (size_t i = 0; i < tkj_covering_spec_count; i++) {
        char text[TKJ_SPEC_TEXT_SIZE];
        const topk_jit_spec spec = parsed(tkj_covering_specs[i]);
        tkj_spec_format(&spec, text);
        assert_string_equal(tkj_covering_specs[i], text);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(tkj_covering_specs[j], text);
    }
}

static void every_legal_pair_of_values_appears(void **state)
{
    (void)state;
    cover_every_legal_point(&legal);
    cover_specs(&covered, 0, tkj_covering_spec_count);
    assert_int_equal(missing(legal.pairs, covered.pairs, sizeof legal.pairs), 0);
    assert_int_equal(missing(covered.pairs, legal.pairs, sizeof legal.pairs), 0);
}

static void every_legal_triple_of_dtype_layout_and_order_appears(void **state)
{
    (void)state;
    cover_every_legal_point(&legal);
    cover_specs(&covered, 0, tkj_covering_spec_count);
    assert_int_equal(missing(legal.triples, covered.triples, sizeof legal.triples), 0);
}

/** The check above can fail: no half of the array covers what the whole does. */
static void half_of_the_array_is_not_enough(void **state)
{
    (void)state;
    size_t half = tkj_covering_spec_count / 2;
    cover_every_legal_point(&legal);
    for (size_t first = 0; first <= half; first += half) {
        cover_specs(&covered, first, half);
        assert_true(missing(legal.pairs, covered.pairs, sizeof legal.pairs) > 0);
        assert_true(missing(legal.triples, covered.triples, sizeof legal.triples) > 0);
    }
}

static bool has_spec_with_just(int order, int nan_last, int check)
{
    for (size_t i = 0; i < tkj_covering_spec_count; i++) {
        const topk_jit_spec spec = parsed(tkj_covering_specs[i]);
        const point p = point_of(&spec);
        if (p.value[OPERATION] == TOPK_JIT_OPERATION_SELECT && p.value[ORDER] == order &&
            p.value[NAN_LAST] == nan_last && p.value[CHECK] == check)
            return true;
    }
    return false;
}

static void every_option_stands_alone(void **state)
{
    (void)state;
    for (int order = 0; order < (int)COUNT(orders); order++)
        assert_true(has_spec_with_just(order, 0, 0));
    assert_true(has_spec_with_just(0, 1, 0));
    assert_true(has_spec_with_just(0, 0, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_spec_is_canonical_and_there_once),
        cmocka_unit_test(every_legal_pair_of_values_appears),
        cmocka_unit_test(every_legal_triple_of_dtype_layout_and_order_appears),
        cmocka_unit_test(half_of_the_array_is_not_enough),
        cmocka_unit_test(every_option_stands_alone),
    };
    return cmocka_run_group_tests_name("covering", tests, NULL, NULL);
}
