/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_measure.h @brief Runs a plan on the GPU. */
#ifndef TKJ_BENCH_MEASURE_H
#define TKJ_BENCH_MEASURE_H

#include "bench_gpu.h"
#include "bench_options.h"

/**
 * Measures every cell in options->runs rounds, judging in the first one.
 * @param done  called when all rounds of a cell are over
 * @return microseconds of a kernel that does nothing
 */
double bench_measure(const bench_gpu *gpu, const bench_options *options, bench_plan *plan,
                     void (*done)(const bench_cell *cell));

#endif /* TKJ_BENCH_MEASURE_H */
