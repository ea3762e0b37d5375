/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_sets.h @brief What the project has promised, as cells and rules. Pure. */
#ifndef TKJ_BENCH_SETS_H
#define TKJ_BENCH_SETS_H

#include "bench_plan.h"

/** A cell of the project's table of figures: float32, k = 2048, plain layout, normal scores. */
typedef struct bench_figure {
    int64_t rows;
    int64_t width;
    int64_t length;
    double must;
    double aim; /* 0 = none */
    bench_mode mode;
    bool within_floor; /* a kernel within 1.25 x the floor has been seen: 16-bit scores can gain */
} bench_figure;

/** Those whose rows are full come first. */
extern const bench_figure bench_figures[];
extern const size_t bench_figure_count;
extern const size_t bench_full_figure_count;

/** The case of a figure. */
bench_case bench_figure_case(const bench_figure *figure);

/** Adds a cell for each figure. */
void bench_add_figures(bench_plan *plan);

/** A named set. */
typedef struct bench_set {
    const char *name;
    void (*add)(bench_plan *plan);
} bench_set;

/** must: every figure. standard: also windows off a 16-byte boundary, forced +inf and short rows.
 *  rules: the figures, and every bound that is relative to another case. */
extern const bench_set bench_sets[];
extern const size_t bench_set_count;

/** @return borrowed; NULL if no set has this name */
const bench_set *bench_set_find(const char *name);

/** Adds the rules and what they need: bench_rules.c. */
void bench_add_rules(bench_plan *plan);

#endif /* TKJ_BENCH_SETS_H */
