/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_costs.h @brief What something costs on the host: figures, a table, JSON. */
#ifndef TKJ_BENCH_COSTS_H
#define TKJ_BENCH_COSTS_H

#include <stdbool.h>
#include <stddef.h>

#define BENCH_COSTS_MAX 64

/** One figure: of repeated measurements, or a count. */
typedef struct bench_cost {
    const char *name; /* stable, for programs: "hit", "hit.read" */
    const char *text; /* for people */
    const char *unit; /* "us", "ns", "s", "count", "ratio" */
    double median;
    double least;
    double most;
} bench_cost;

typedef struct bench_costs {
    bench_cost at[BENCH_COSTS_MAX];
    size_t count;
} bench_costs;

/** Adds the median, least and most of samples, which are sorted then. `scale`: units a nanosecond.
 */
void bench_costs_add(bench_costs *costs, const char *name, const char *text, const char *unit,
                     double *nanoseconds, size_t count, double scale);

/** Adds one number. */
void bench_costs_add_number(bench_costs *costs, const char *name, const char *text,
                            const char *unit, double number);

/** Prints a table. */
void bench_costs_print(const bench_costs *costs);

/** Writes {"version", "costs": [{"name", "text", "unit", "median", "least", "most"}]}.
 *  @return false, after a line on stderr, if the file cannot be written */
bool bench_costs_write_json(const char *path, const bench_costs *costs);

#endif /* TKJ_BENCH_COSTS_H */
