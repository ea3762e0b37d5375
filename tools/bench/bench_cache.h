/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_cache.h @brief topk-jit-bench --cache: what the cache costs, without a GPU. */
#ifndef TKJ_BENCH_CACHE_H
#define TKJ_BENCH_CACHE_H

#include <stdbool.h>

#include "bench_costs.h"

/** Look-ups and stores. @param directory  empty, absolute; what is written there stays */
void bench_cache_disk(const char *directory, bench_costs *costs);

/** Processes that start cold at the same moment, beside one alone: needs NVRTC. If one of them
 *  fails, adds nothing and says what failed. */
void bench_cache_cold(const char *directory, bench_costs *costs);

/** All of it, in a new directory below TMPDIR or /tmp. @param json  a file; NULL = none
 *  @return an exit code */
int bench_cache(const char *json);

#endif /* TKJ_BENCH_CACHE_H */
