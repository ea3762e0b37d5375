/* SPDX-License-Identifier: Apache-2.0 */
/** @file cache_case.h @brief One cache in a directory of its own, one entry, and what was logged.
 */
#ifndef TKJ_CACHE_CASE_H
#define TKJ_CACHE_CASE_H

#include "testing.h"

#include "cache.h"

#define CACHE_CASE_MAJOR 13
#define CACHE_CASE_PREIMAGE "operation=select,topk=2048"
#define CACHE_CASE_TARGET "sm_90"
/** File of the entry below the root. */
#define CACHE_CASE_NAME "v1/00/0102030405060708090a0b0c0d0e0f.cu13.tkc"

typedef struct cache_case {
    char *directory; /* holds the root and nothing else */
    char *root;      /* "directory/root", not yet created */
    tkj_test_allocator test;
    tkj_cache *cache;
    tkj_cache_key key;
    tkj_blob bytes; /* the entry, encoded */
    atomic_int warnings;
    char warning[2048]; /* the last one */
} cache_case;

/** cmocka's set-up and tear-down; the latter asserts that no memory is left. */
int cache_case_set_up(void **state);
int cache_case_tear_down(void **state);

/** The options of the case's cache: this root, everything else at its default, locks in the root's
 *  directory. */
tkj_cache_options cache_case_options(const cache_case *it);

/** Puts a cache of other options in the place of the case's. */
void cache_case_open(cache_case *it, const tkj_cache_options *options);

/** What the entry answers. */
tkj_cache_query cache_case_query(const cache_case *it);

/** Puts the entry. */
topk_jit_status cache_case_put(cache_case *it);

/** Looks a query up in all layers. @return the outcome; a hit's bytes are released */
tkj_cache_outcome cache_case_ask(cache_case *it, const tkj_cache_query *query);

/** Looks the entry up; asserts that a hit has its bytes and that anything else has none. */
tkj_cache_outcome cache_case_get(cache_case *it);

/** Asserts that the last failure's message has a part. */
void cache_case_assert_message(const char *part);

/** As tkj_test_path, below the root. */
const char *cache_case_path(const cache_case *it, const char *name);

#endif /* TKJ_CACHE_CASE_H */
