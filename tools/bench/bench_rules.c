/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds that are relative to another case, each as rules on every cell that it speaks of. */

#include "bench_sets.h"

/** subject <= factor * reference. */
static void add_factor(bench_plan *plan, const char *name, const bench_case *subject,
                       const bench_case *reference, double factor)
{
    bench_rule *rule = bench_plan_add_rule(plan, name, subject);
    if (rule != NULL)
        bench_plan_add_term(plan, rule, BENCH_BASE_CELL, reference, factor, 0.0);
}

/** subject <= factor * reference, or slack_us above it if that is more. */
static void add_either(bench_plan *plan, const char *name, const bench_case *subject,
                       const bench_case *reference, double factor, double slack_us)
{
    bench_rule *rule = bench_plan_add_rule(plan, name, subject);
    if (rule == NULL)
        return;
    bench_plan_add_term(plan, rule, BENCH_BASE_CELL, reference, factor, 0.0);
    bench_plan_add_term(plan, rule, BENCH_BASE_CELL, reference, 1.0, slack_us);
}

/* ---- width, lengths ---- */

static void add_width(bench_plan *plan)
{
    static const int64_t widths[] = {131072, 163840};
    static const int64_t lengths[] = {2049, 4096, 8192, 32768};
    static const int64_t rows[] = {1, 8, 64, 256};
    for (int i = 0; i < 2 * 4 * 4; i++) {
        bench_case wide = BENCH_CASE_INIT;
        wide.rows = rows[i / 8];
        wide.length = lengths[i / 2 % 4];
        wide.width = widths[i % 2];
        bench_case full = wide;
        full.width = full.length;
        add_factor(plan, "width", &wide, &full, 1.25);
    }
}

/** Mixed lengths, against as many scores in equal rows and against the longest everywhere. */
static void add_mixed(bench_plan *plan, const bench_case *cell)
{
    bench_case mixed = *cell, equal = *cell, longest = *cell;
    if (cell->rows < 8)
        return;
    mixed.mixed = true;
    equal.length = bench_case_scores(&mixed) / mixed.rows;
    longest.length = bench_case_longest(&mixed);
    bench_rule *rule = bench_plan_add_rule(plan, "mixed", &mixed);
    if (rule == NULL)
        return;
    bench_plan_add_term(plan, rule, BENCH_BASE_CELL, &equal, 1.25, 0.0);
    bench_plan_add_term(plan, rule, BENCH_BASE_CELL, &longest, 1.1, 0.0);
}

/** Rows that need no selection, against a kernel that only writes. */
static void add_short(bench_plan *plan)
{
    static const int64_t rows[] = {1, 8, 64, 256, 1024};
    static const int64_t widths[] = {2048, 8192, 131072};
    static const int64_t lengths[] = {100, 2048};
    for (int i = 0; i < 5 * 3 * 2; i++) {
        bench_case what = BENCH_CASE_INIT;
        what.rows = rows[i / 6];
        what.width = widths[i / 2 % 3];
        what.length = lengths[i % 2];
        bench_rule *rule = bench_plan_add_rule(plan, "short", &what);
        if (rule != NULL)
            bench_plan_add_term(plan, rule, BENCH_BASE_WRITE, NULL, 1.25, 0.0);
    }
}

/* ---- data and dtypes ---- */

static void add_data(bench_plan *plan, const bench_case *cell)
{
    for (int d = 0; d < TKJ_SCORES_COUNT; d++) {
        bench_case what = *cell;
        what.distribution = (tkj_scores_distribution)d;
        if (what.distribution != TKJ_SCORES_NORMAL)
            add_factor(plan, "data", &what, cell, 1.5);
    }
}

static void add_dtypes(bench_plan *plan, const bench_case *cell, bool within_floor)
{
    static const topk_jit_dtype dtypes[] = {TOPK_JIT_FLOAT16, TOPK_JIT_BFLOAT16};
    for (int i = 0; i < 2; i++) {
        bench_case what = *cell;
        what.dtype = dtypes[i];
        add_factor(plan, "dtype", &what, cell, within_floor ? 0.75 : 1.0);
    }
}

/* ---- layouts ---- */

/** A table row of its own for every row, all cold: the entries have to be fetched, too. */
static void add_single_pages(bench_plan *plan, const bench_case *cell)
{
    bench_case what = *cell;
    what.layout = TOPK_JIT_LAYOUT_PAGED;
    what.page_size = 1;
    what.sharing = 1;
    if (cell->mode != BENCH_COLD)
        return;
    bench_rule *rule = bench_plan_add_rule(plan, "layout", &what);
    if (rule == NULL)
        return;
    bench_plan_add_term(plan, rule, BENCH_BASE_CELL, cell, 1.1, 0.0);
    bench_plan_add_term(plan, rule, BENCH_BASE_GATHER, NULL, 1.1, 0.0);
}

static void add_layouts(bench_plan *plan, const bench_case *cell)
{
    static const int64_t pages[][2] = {{16, 1}, {64, 1}, {1, 16}}; /* size, sharing */
    bench_case what = *cell;
    what.layout = TOPK_JIT_LAYOUT_RAGGED;
    add_either(plan, "layout", &what, cell, 1.1, 0.5);
    what.row_starts = true;
    add_either(plan, "layout", &what, cell, 1.1, 0.5);
    what.row_starts = false;
    what.layout = TOPK_JIT_LAYOUT_PAGED;
    for (int i = 0; i < 3; i++) {
        what.page_size = pages[i][0];
        what.sharing = pages[i][1];
        if (what.sharing <= what.rows)
            add_either(plan, "layout", &what, cell, 1.1, 0.5);
    }
    add_single_pages(plan, cell);
}

/* ---- options and k ---- */

static void add_options(bench_plan *plan, const bench_case *cell)
{
    bench_case raw = *cell, sorted = *cell, deterministic = *cell, tie_break = *cell;
    raw.raw_indices = true;
    sorted.sorted = true;
    deterministic.deterministic = true;
    tie_break.tie_break = TOPK_JIT_TIE_BREAK_SMALLEST;
    add_either(plan, "options", &raw, cell, 1.1, 0.5);
    add_either(plan, "options", &sorted, cell, 1.5, 4.0);
    add_factor(plan, "options", &deterministic, cell, 1.5);
    add_factor(plan, "options", &tie_break, cell, 1.5);
}

/** 512 and 1024 against the figure, others against 2048. */
static void add_topk(bench_plan *plan, const bench_case *cell, double must)
{
    static const int64_t others[] = {1, 16, 64, 256, 4096};
    bench_case what = *cell;
    for (what.topk = 512; what.topk <= 1024; what.topk *= 2) {
        bench_rule *rule = bench_plan_add_rule(plan, "topk", &what);
        if (rule != NULL)
            bench_plan_add_term(plan, rule, BENCH_BASE_FIGURE, NULL, 0.0, must);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        what.topk = others[i];
        if (what.length == 32768 || what.length == 131072)
            add_factor(plan, "topk", &what, cell, what.topk > 2048 ? 2.5 : 1.0);
    }
}

static void add_shared_gpu(bench_plan *plan, const bench_case *cell)
{
    bench_case held = *cell;
    held.held_sm = true;
    add_factor(plan, "shared", &held, cell, 1.1);
}

void bench_add_rules(bench_plan *plan)
{
    bench_add_figures(plan);
    add_width(plan);
    add_short(plan);
    for (size_t i = 0; i < bench_full_figure_count; i++) {
        const bench_figure *figure = &bench_figures[i];
        const bench_case cell = bench_figure_case(figure);
        add_mixed(plan, &cell);
        add_data(plan, &cell);
        add_dtypes(plan, &cell, figure->within_floor);
        add_layouts(plan, &cell);
        add_options(plan, &cell);
        add_topk(plan, &cell, figure->must);
        add_shared_gpu(plan, &cell);
    }
}
