/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_cache.h @brief topk-jit-bench --cache: what the cache costs, without a GPU. */
#ifndef TKJ_BENCH_CACHE_H
#define TKJ_BENCH_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/** Look-ups and stores. @param directory  empty, absolute; what is written there stays */
void bench_cache_disk(const char *directory, bench_costs *costs);

/** Processes that start cold at the same moment, beside one alone: needs NVRTC. If one of them
 *  fails, adds nothing and says what failed. */
void bench_cache_cold(const char *directory, bench_costs *costs);

/** All of it, in a new directory below TMPDIR or /tmp. @param json  a file; NULL = none
 *  @return an exit code */
int bench_cache(const char *json);

#endif /* TKJ_BENCH_CACHE_H */
