/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file covering.h
 * @brief The covering array: the kernels that stand for the product of all specs and variants.
 *
 * Its specs are the checked-in table covering_specs.inc, made by covering.py, which says what they
 * cover. Its variants are combined with them here, so that each meets each value of each factor.
 */
#ifndef TKJ_COVERING_H
#define TKJ_COVERING_H

#include <stdbool.h>
#include <stddef.h>
#include <topk_jit/topk_jit.h>

#include "variants.h"

/** Canonical texts of the specs, each once. */
extern const char *const tkj_covering_specs[];
extern const size_t tkj_covering_spec_count;

/** A kernel of the covering array. */
typedef struct tkj_covering_pair {
    topk_jit_spec spec; /* canonical */
    tkj_variant variant;
} tkj_covering_pair;

/* Tests take the array whole, so it must stay small. */
#define TKJ_COVERING_MAX 150

/**
 * The covering array of an architecture: each spec at least once, each variant with every value of
 * every factor that it is made for, no pair twice. Ends the program if that takes more than
 * TKJ_COVERING_MAX pairs.
 * @return how many
 */
size_t tkj_covering_set(int architecture, tkj_covering_pair out[TKJ_COVERING_MAX]);

/** True if two variants are of one template and have one name. */
bool tkj_covering_same_variant(const tkj_variant *a, const tkj_variant *b);

#endif /* TKJ_COVERING_H */
