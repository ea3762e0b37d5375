/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_case.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "spec.h"

/* Scores that are made for one case at most: 64 MiB of float32, in well under a second. */
#define DISTINCT_SCORES ((int64_t)1 << 24)

bench_case bench_case_canonical(const bench_case *given)
{
    bench_case c = *given;
    if (c.operation == TOPK_JIT_OPERATION_FAST_TOPK) {
        c.layout = TOPK_JIT_LAYOUT_PLAIN;
        c.tie_break = TOPK_JIT_TIE_BREAK_NONE;
        c.sorted = c.deterministic = c.raw_indices = c.values = false;
        c.row_starts = c.mixed = false;
        c.length = c.width;
        c.max_sms = 0;
    }
    if (c.layout != TOPK_JIT_LAYOUT_PAGED) {
        c.page_size = 0;
        c.sharing = 1;
    }
    if (c.length == 0)
        c.length = c.width;
    return c;
}

const char *bench_case_fault(const bench_case *c)
{
    if (c->rows < 1 || c->width < 1)
        return "it has no scores";
    if (c->length < 1 || c->length > c->width)
        return "its length is not in [1, width]";
    if (c->width > INT32_MAX - 1 || c->rows > INT32_MAX)
        return "a size is beyond int32";
    if (c->operation == TOPK_JIT_OPERATION_FAST_TOPK && c->topk > c->width)
        return "fast_topk needs topk <= width";
    if (c->layout == TOPK_JIT_LAYOUT_RAGGED && c->rows > INT32_MAX / c->width)
        return "its ragged offsets are beyond int32";
    if (c->row_starts && c->width < 16)
        return "row_starts need a width of 16 or more";
    return NULL;
}

bool bench_case_equal(const bench_case *a, const bench_case *b)
{
    return a->operation == b->operation && a->layout == b->layout && a->dtype == b->dtype &&
           a->rows == b->rows && a->width == b->width && a->length == b->length &&
           a->mixed == b->mixed && a->topk == b->topk && a->distribution == b->distribution &&
           a->mode == b->mode && a->sorted == b->sorted && a->deterministic == b->deterministic &&
           a->raw_indices == b->raw_indices && a->values == b->values &&
           a->tie_break == b->tie_break && a->page_size == b->page_size &&
           a->sharing == b->sharing && a->row_starts == b->row_starts && a->max_sms == b->max_sms &&
           a->held_sm == b->held_sm;
}

/* ---- as text ---- */

static void append(char *text, bool condition, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void append(char *text, bool condition, const char *format, ...)
{
    size_t used = strlen(text);
    if (!condition)
        return;
    if (used > 0 && used + 1 < BENCH_CASE_TEXT_SIZE)
        text[used++] = ' ';
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, BENCH_CASE_TEXT_SIZE - used, format, arguments);
    va_end(arguments);
}

static void append_options(const bench_case *c, char *text)
{
    const bool paged = c->layout == TOPK_JIT_LAYOUT_PAGED;
    append(text, c->operation != TOPK_JIT_OPERATION_SELECT, "%s", tkj_operation_name(c->operation));
    append(text, c->width != c->length, "W=%" PRId64, c->width);
    append(text, c->mixed, "mixed");
    append(text, c->topk != 2048, "k=%" PRId64, c->topk);
    append(text, c->dtype != TOPK_JIT_FLOAT32, "%s", tkj_dtype_name(c->dtype));
    append(text, c->distribution != TKJ_SCORES_NORMAL, "%s", tkj_scores_name(c->distribution));
    append(text, c->layout == TOPK_JIT_LAYOUT_RAGGED, "ragged");
    append(text, paged, "paged%" PRId64 " sharing=%" PRId64, c->page_size, c->sharing);
    append(text, c->row_starts, "row_starts");
    append(text, c->sorted, "sorted");
    append(text, c->deterministic, "deterministic");
    append(text, c->tie_break != TOPK_JIT_TIE_BREAK_NONE, "tie_break=%s",
           tkj_tie_break_name(c->tie_break));
    append(text, c->raw_indices, "raw_indices");
    append(text, c->values, "values");
    append(text, c->max_sms != 0, "max_sms=%" PRId32, c->max_sms);
    append(text, c->held_sm, "held_sm");
}

void bench_case_format_options(const bench_case *what, char text[BENCH_CASE_TEXT_SIZE])
{
    text[0] = '\0';
    append_options(what, text);
}

void bench_case_format(const bench_case *what, char text[BENCH_CASE_TEXT_SIZE])
{
    text[0] = '\0';
    append(text, true, "B=%" PRId64 " L=%" PRId64 " %s", what->rows, what->length,
           what->mode == BENCH_COLD ? "cold" : "hot");
    append_options(what, text);
}

/* ---- as a call ---- */

topk_jit_spec bench_case_spec(const bench_case *what)
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    const bool select = what->operation == TOPK_JIT_OPERATION_SELECT;
    spec.operation = what->operation;
    spec.layout = what->layout;
    spec.topk = what->topk;
    spec.dtype = what->dtype;
    spec.index_dtype = select ? TOPK_JIT_INT32 : TOPK_JIT_INT64;
    spec.page_size = what->page_size;
    spec.tie_break = what->tie_break;
    spec.sorted = what->sorted;
    spec.deterministic = what->deterministic;
    return spec;
}

size_t bench_case_score_size(const bench_case *what)
{
    return what->dtype == TOPK_JIT_FLOAT32 ? 4 : 2;
}

/* ---- rows ---- */

int64_t bench_case_distinct_rows(const bench_case *what)
{
    const int64_t most = DISTINCT_SCORES / what->width;
    if (what->rows <= most)
        return what->rows;
    return most > 1 ? most : 1;
}

int64_t bench_case_start(const bench_case *what, int64_t row)
{
    const int64_t in_16_bytes = (int64_t)(16 / bench_case_score_size(what));
    if (!what->row_starts)
        return 0;
    return 1 + row % bench_case_distinct_rows(what) % (in_16_bytes - 1);
}

/** Log-uniform in [1, length]: a function of the row alone. */
static int64_t draw_length(const bench_case *what, int64_t row)
{
    uint64_t state = 0x6C656E67u + (uint64_t)(row % bench_case_distinct_rows(what));
    const double uniform = (double)(tkj_scores_random(&state) >> 11) * 0x1p-53;
    return (int64_t)exp(uniform * log((double)what->length + 1.0));
}

int64_t bench_case_length(const bench_case *what, int64_t row)
{
    const int64_t room = what->width - bench_case_start(what, row);
    const int64_t length = what->mixed ? draw_length(what, row) : what->length;
    return length < room ? length : room;
}

int64_t bench_case_scores(const bench_case *what)
{
    int64_t sum = 0;
    for (int64_t row = 0; row < what->rows; row++)
        sum += bench_case_length(what, row);
    return sum;
}

int64_t bench_case_longest(const bench_case *what)
{
    int64_t longest = 0;
    for (int64_t row = 0; row < what->rows; row++)
        if (bench_case_length(what, row) > longest)
            longest = bench_case_length(what, row);
    return longest;
}
