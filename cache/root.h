/* SPDX-License-Identifier: Apache-2.0 */
/** @file root.h @brief Where the cache of this user is, by the XDG base directory rules. */
#ifndef TKJ_CACHE_ROOT_H
#define TKJ_CACHE_ROOT_H

#include <topk_jit/topk_jit.h>

/** What may name the root, in falling order; NULL or empty = not given. */
typedef struct tkj_cache_places {
    const char *option;         /* context option: absolute, as it is */
    const char *environment;    /* TOPK_JIT_CACHE_DIR: absolute, as it is; relative = ignored */
    const char *xdg_cache_home; /* + "/topk-jit" if absolute */
    const char *home;           /* + "/.cache/topk-jit" if absolute */
} tkj_cache_places;

/**
 * Chooses the root. Where no place is given, the password database's home serves as home. A home of
 * "/" (containers without a user) is no home.
 * @param[out] out   owned by the caller; NULL if there is none
 * @param[out] rule  which place named it, such as "TOPK_JIT_CACHE_DIR"; static; NULL if none did
 * @return TOPK_JIT_OK, TOPK_JIT_OUT_OF_MEMORY
 */
topk_jit_status tkj_cache_root_choose(const topk_jit_allocator *allocator,
                                      const tkj_cache_places *places, char **out,
                                      const char **rule);

#endif /* TKJ_CACHE_ROOT_H */
