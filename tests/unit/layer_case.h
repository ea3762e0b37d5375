/* SPDX-License-Identifier: Apache-2.0 */
/** @file layer_case.h @brief A cache of several layers: which one answers is told by the toolchain
 * that its entry names. */
#ifndef TKJ_LAYER_CASE_H
#define TKJ_LAYER_CASE_H

#include "cache_case.h"

/** As cache_case_set_up, with the key that the preimage has: packs take no other. */
int layer_case_set_up(void **state);

/** Writes the entry into a directory laid out like a root. */
void layer_case_fill(cache_case *it, const char *directory, const char *toolchain);

/** Writes a pack of the entry alone. */
void layer_case_pack(cache_case *it, const char *path, const char *toolchain);

/** The path of the entry in a directory. */
const char *layer_case_file(const cache_case *it, const char *directory);

/** Flips a bit of a file. @param from_end  bytes before its end */
void layer_case_flip(const char *path, long from_end);

/** Opens a cache that searches these places before the root, in the mode auto. */
void layer_case_open(cache_case *it, const char *ro_dirs);

/** Who answers a query from a layer on: the toolchain, or "nobody". Static.
 *  @param[in,out] layer  as tkj_cache_get */
const char *layer_case_ask(cache_case *it, const tkj_cache_query *query, size_t *layer);

/** Asserts who answers first. */
void layer_case_assert_answer(cache_case *it, const char *toolchain);

/** Asserts so many warnings, of which the first has a part. */
void layer_case_assert_warned(cache_case *it, int count, const char *part);

#endif /* TKJ_LAYER_CASE_H */
