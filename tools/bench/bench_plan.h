/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_plan.h @brief What a run of topk-jit-bench measures, and what came out. */
#ifndef TKJ_BENCH_PLAN_H
#define TKJ_BENCH_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "bench_case.h"
#include "spread.h"

/** How a cell ended. */
typedef enum bench_outcome {
    BENCH_LEFT_OUT, /* there was no time */
    BENCH_MEASURED,
    BENCH_FAILED, /* it could not be run */
    BENCH_WRONG,  /* its result was judged wrong */
} bench_outcome;

#define BENCH_RUNS_MAX 25
#define BENCH_MESSAGE_SIZE sizeof(((topk_jit_error *)0)->message) /* more than a verdict's */

/** What was measured of a cell. Times are microseconds a call; 0 = not measured. */
typedef struct bench_result {
    bench_outcome outcome;
    char message[BENCH_MESSAGE_SIZE]; /* unless measured */
    bool verified;                    /* judged, and right */
    int rounds;
    double medians[BENCH_RUNS_MAX]; /* of each round */
    tkj_spread us;    /* median of the rounds' medians, least and most of all replays */
    double floor_us;  /* reading the scores once */
    double gather_us; /* and k random page-table entries a row: cells that may need them all */
    double write_us;  /* writing the output: cells whose rows are all of length <= k */
} bench_result;

/** One case and its figures in kernels.md; 0 = none. */
typedef struct bench_cell {
    bench_case what;
    double must;
    double aim;
    bench_result result;
} bench_cell;

/** What a rule compares with. */
typedef enum bench_base {
    BENCH_BASE_CELL,   /* the time of another cell */
    BENCH_BASE_GATHER, /* the subject's own gather_us */
    BENCH_BASE_WRITE,  /* the subject's own write_us */
    BENCH_BASE_FIGURE, /* nothing: slack_us is the limit */
} bench_base;

/** factor * base + slack_us. */
typedef struct bench_term {
    bench_base base;
    size_t cell;
    double factor;
    double slack_us;
} bench_term;

#define BENCH_TERMS_MAX 3

/** The subject costs at most the largest of the terms. */
typedef struct bench_rule {
    const char *name;
    size_t subject;
    bench_term terms[BENCH_TERMS_MAX];
    size_t term_count;
} bench_rule;

/** Cells, each case once, and rules on them. */
typedef struct bench_plan {
    bench_cell *cells;
    size_t cell_count;
    bench_rule *rules;
    size_t rule_count;
    size_t refused;     /* combinations that make no legal case */
    const char *reason; /* why, of the last one */
} bench_plan;

void bench_plan_release(bench_plan *plan);

/** Adds a cell, made canonical, unless its case is there or makes no sense. @return its index, or
 *  SIZE_MAX if it makes no sense */
size_t bench_plan_add(bench_plan *plan, const bench_cell *cell);

/** Adds a rule without terms on a case. @return borrowed until the next rule is added; NULL
 *  if the case makes no sense */
bench_rule *bench_plan_add_rule(bench_plan *plan, const char *name, const bench_case *subject);

/** Gives a rule another term. @param reference  for CELL, else NULL */
void bench_plan_add_term(bench_plan *plan, bench_rule *rule, bench_base base,
                         const bench_case *reference, double factor, double slack_us);

/** Drops rules whose name or subject does not have the text, then cells that do not or, if there
 *  are rules, that none of them needs. */
void bench_plan_filter(bench_plan *plan, const char *text);

/** What a measured figure may exceed its bound by: a smaller difference is noise. */
#define BENCH_TOLERANCE 1.03

/** Adds what one more round of replays showed. */
void bench_result_add(bench_result *result, tkj_spread round);

/** Whether a cell meets its must. */
bool bench_cell_met(const bench_cell *cell);

/** A rule's verdict. */
typedef struct bench_verdict {
    bool known;      /* everything it needs was measured */
    double limit_us; /* the largest of the terms */
    double base_us;  /* what that term compares with */
    bool kept;       /* at most BENCH_TOLERANCE times the limit */
} bench_verdict;

bench_verdict bench_rule_judge(const bench_plan *plan, const bench_rule *rule);

#endif /* TKJ_BENCH_PLAN_H */
