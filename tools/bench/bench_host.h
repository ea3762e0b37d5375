/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_host.h @brief topk-jit-bench --host: what calls cost the thread that makes them. */
#ifndef TKJ_BENCH_HOST_H
#define TKJ_BENCH_HOST_H

#include <topk_jit/topk_jit.h>

#include "bench_costs.h"

/** Prepared calls beside the bare launch of the same kernel: see --help. */
void bench_host_hot(topk_jit_context *context, CUstream stream, bench_costs *costs);

/** From the creation of a context to the first launch, with every kernel in the cache. */
void bench_host_cold(CUstream stream, bench_costs *costs);

/** Both. @param json  a file; NULL = none @return an exit code */
int bench_host(const char *json);

#endif /* TKJ_BENCH_HOST_H */
