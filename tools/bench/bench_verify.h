/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_verify.h @brief Judges what a measured case wrote. */
#ifndef TKJ_BENCH_VERIFY_H
#define TKJ_BENCH_VERIFY_H

#include "bench_input.h"
#include "bench_options.h"

/**
 * Calls once on poisoned outputs and judges the first rows or all. Positions behind a transform
 * come from the same kernel with raw_indices.
 * @param[out] result  outcome WRONG or FAILED with a message, or verified
 * @return true if it may be measured
 */
bool bench_verify_input(bench_input *input, bench_verify rows, bench_result *result);

#endif /* TKJ_BENCH_VERIFY_H */
