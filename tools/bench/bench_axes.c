/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_axes.h"

#include <stdlib.h>
#include <string.h>

#include "bench_complain.h"
#include "parse_number.h"
#include "spec.h"

/* Each taker sets one field; false = the word is none that is known. */

static bool take_rows(bench_case *c, const char *word)
{
    return tkj_parse_number(word, 1, INT32_MAX, &c->rows);
}

static bool take_width(bench_case *c, const char *word)
{
    return tkj_parse_number(word, 1, INT32_MAX, &c->width);
}

static bool take_length(bench_case *c, const char *word)
{
    c->mixed = strncmp(word, "mixed", 5) == 0;
    c->length = 0; /* the width */
    if (strcmp(word, "mixed") == 0 || strcmp(word, "full") == 0)
        return true;
    const char *number = c->mixed && word[5] == ':' ? word + 6 : word;
    return tkj_parse_number(number, 1, INT32_MAX, &c->length);
}

static bool take_mode(bench_case *c, const char *word)
{
    c->mode = strcmp(word, "cold") == 0 ? BENCH_COLD : BENCH_HOT;
    return c->mode == BENCH_COLD || strcmp(word, "hot") == 0;
}

static bool take_operation(bench_case *c, const char *word)
{
    return tkj_operation_parse(word, &c->operation);
}

static bool take_layout(bench_case *c, const char *word)
{
    return tkj_layout_parse(word, &c->layout);
}

static bool take_dtype(bench_case *c, const char *word)
{
    return tkj_dtype_parse(word, &c->dtype) &&
           (c->dtype == TOPK_JIT_FLOAT32 || c->dtype == TOPK_JIT_FLOAT16 ||
            c->dtype == TOPK_JIT_BFLOAT16);
}

static bool take_topk(bench_case *c, const char *word)
{
    return tkj_parse_number(word, 1, INT32_MAX, &c->topk);
}

static bool take_distribution(bench_case *c, const char *word)
{
    return tkj_scores_parse(word, &c->distribution);
}

static bool take_switch(bool *out, const char *word)
{
    *out = strcmp(word, "on") == 0;
    return *out || strcmp(word, "off") == 0;
}

static bool take_sorted(bench_case *c, const char *word)
{
    return take_switch(&c->sorted, word);
}

static bool take_deterministic(bench_case *c, const char *word)
{
    return take_switch(&c->deterministic, word);
}

static bool take_tie_break(bench_case *c, const char *word)
{
    return tkj_tie_break_parse(word, &c->tie_break);
}

static bool take_raw_indices(bench_case *c, const char *word)
{
    return take_switch(&c->raw_indices, word);
}

static bool take_values(bench_case *c, const char *word)
{
    return take_switch(&c->values, word);
}

static bool take_page_size(bench_case *c, const char *word)
{
    return tkj_parse_number(word, 1, INT64_C(1) << 30, &c->page_size) &&
           (c->page_size & (c->page_size - 1)) == 0;
}

static bool take_sharing(bench_case *c, const char *word)
{
    return tkj_parse_number(word, 1, INT32_MAX, &c->sharing);
}

static bool take_row_starts(bench_case *c, const char *word)
{
    return take_switch(&c->row_starts, word);
}

static bool take_max_sms(bench_case *c, const char *word)
{
    int64_t value = 0;
    const bool ok = tkj_parse_number(word, 0, INT32_MAX, &value);
    c->max_sms = (int32_t)value;
    return ok;
}

static bool take_held_sm(bench_case *c, const char *word)
{
    return take_switch(&c->held_sm, word);
}

/** One flag: how a word is taken, and what the words are. */
static const struct {
    const char *name;
    bool (*take)(bench_case *c, const char *word);
    const char *known;
} axes[BENCH_AXIS_COUNT] = {
    [BENCH_AXIS_ROWS] = {"rows", take_rows, "numbers from 1 on"},
    [BENCH_AXIS_WIDTH] = {"width", take_width, "numbers from 1 on"},
    [BENCH_AXIS_LENGTH] = {"length", take_length, "numbers from 1 on, full, mixed, mixed:NUMBER"},
    [BENCH_AXIS_MODE] = {"mode", take_mode, "hot, cold"},
    [BENCH_AXIS_OPERATION] = {"operation", take_operation, "select, fast_topk"},
    [BENCH_AXIS_LAYOUT] = {"layout", take_layout, "plain, paged, ragged"},
    [BENCH_AXIS_DTYPE] = {"dtype", take_dtype, "float32, float16, bfloat16"},
    [BENCH_AXIS_TOPK] = {"topk", take_topk, "numbers from 1 on"},
    [BENCH_AXIS_DISTRIBUTION] = {"distribution", take_distribution, "as --help lists them"},
    [BENCH_AXIS_SORTED] = {"sorted", take_sorted, "off, on"},
    [BENCH_AXIS_DETERMINISTIC] = {"deterministic", take_deterministic, "off, on"},
    [BENCH_AXIS_TIE_BREAK] = {"tie-break", take_tie_break, "none, smallest, largest"},
    [BENCH_AXIS_RAW_INDICES] = {"raw-indices", take_raw_indices, "off, on"},
    [BENCH_AXIS_VALUES] = {"values", take_values, "off, on"},
    [BENCH_AXIS_PAGE_SIZE] = {"page-size", take_page_size, "powers of two from 1 to 2^30"},
    [BENCH_AXIS_SHARING] = {"sharing", take_sharing, "numbers from 1 on"},
    [BENCH_AXIS_ROW_STARTS] = {"row-starts", take_row_starts, "off, on"},
    [BENCH_AXIS_MAX_SMS] = {"max-sms", take_max_sms, "numbers, 0 = all"},
    [BENCH_AXIS_HELD_SM] = {"held-sm", take_held_sm, "off, on"},
};

const char *bench_axis_name(bench_axis axis)
{
    return axes[axis].name;
}

static bool expand_from(const bench_lists *lists, int axis, const bench_cell *cell,
                        bench_plan *plan);

/** One word of a list; the axes behind it go on. */
static bool expand_word(const bench_lists *lists, int axis, const bench_cell *cell,
                        const char *word, bench_plan *plan)
{
    bench_cell next = *cell;
    if (axes[axis].take(&next.what, word))
        return expand_from(lists, axis + 1, &next, plan);
    bench_complain("--%s: '%s' is none of: %s", axes[axis].name, word, axes[axis].known);
    return false;
}

static bool expand_from(const bench_lists *lists, int axis, const bench_cell *cell,
                        bench_plan *plan)
{
    while (axis < BENCH_AXIS_COUNT && lists->words[axis] == NULL)
        axis++;
    if (axis == BENCH_AXIS_COUNT) {
        bench_plan_add(plan, cell);
        return true;
    }
    char *copy = strdup(lists->words[axis]);
    bench_require(copy != NULL, "no memory");
    char *rest = copy;
    bool ok = true;
    for (char *word = strsep(&rest, ","); ok && word != NULL; word = strsep(&rest, ","))
        ok = expand_word(lists, axis, cell, word, plan);
    free(copy);
    return ok;
}

bool bench_axes_expand(const bench_lists *lists, const bench_cell *base, bench_plan *plan)
{
    return expand_from(lists, 0, base, plan);
}
