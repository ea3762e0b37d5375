/* SPDX-License-Identifier: Apache-2.0 */
/** @file spec_sweep.h @brief Every valid spec: the full product of its fields, with telling numbers
 *  for topk and page_size. */
#ifndef TKJ_SPEC_SWEEP_H
#define TKJ_SPEC_SWEEP_H

#include <stdbool.h>
#include <topk_jit/topk_jit.h>

/** Number of specs in the sweep. */
size_t spec_sweep_count(void);

/** Spec i of the sweep, canonical. No two are equal. */
topk_jit_spec spec_sweep_at(size_t i);

/** The spec whose text, names and prelude are longest. */
topk_jit_spec spec_sweep_longest(void);

#endif /* TKJ_SPEC_SWEEP_H */
