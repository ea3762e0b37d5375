/* SPDX-License-Identifier: Apache-2.0 */
/** @file random_specs.h @brief Selection specs for random calls. */
#ifndef TKJ_RANDOM_SPECS_H
#define TKJ_RANDOM_SPECS_H

#include <topk_jit/topk_jit.h>

/** Any valid selection spec with a k of at most a few thousand, canonical. */
topk_jit_spec tkj_random_spec(uint64_t seed);

#endif /* TKJ_RANDOM_SPECS_H */
