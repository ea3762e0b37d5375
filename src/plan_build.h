/* SPDX-License-Identifier: Apache-2.0 */
/** @file plan_build.h @brief One kernel on its way from a spec to the bytes of an entry. */
#ifndef TKJ_PLAN_BUILD_H
#define TKJ_PLAN_BUILD_H

#include <stdbool.h>
#include <topk_jit/topk_jit.h>

#include "cache.h"
#include "context.h"
#include "key.h"
#include "prelude.h"
#include "target.h"
#include "template.h"
#include "variants.h"

/* The oldest CUDA major whose entries are looked for. */
#define TKJ_OLDEST_MAJOR 12

/* Majors of CUDA beyond the driver's of which entries are looked for, to say so. */
#define TKJ_NEWER_MAJORS 3

/** What is built, and what for. */
typedef struct tkj_build {
    topk_jit_context *context;
    const topk_jit_spec *spec; /* canonical */
    const tkj_variant *variant;
    const tkj_template_set *templates;
    char entry_name[TKJ_ENTRY_NAME_SIZE];
    char prelude[TKJ_PRELUDE_SIZE];
    tkj_target target;
    char target_name[TKJ_TARGET_NAME_SIZE];
    tkj_key key;
    bool anew;                        /* whatever is in the cache is compiled again */
    bool has_refused;                 /* the driver refused an entry of the cache: */
    uint8_t refused[TKJ_DIGEST_SIZE]; /* the digest at its end */
} tkj_build;

/** The bytes of an entry, and where they are from. */
typedef struct tkj_built {
    tkj_blob bytes; /* owned */
    tkj_entry entry;
    bool compiled; /* here; else it was in the cache */
} tkj_built;

/** Begins: reads the templates, makes the source. */
topk_jit_status tkj_build_start(tkj_build *build, topk_jit_context *context,
                                const topk_jit_spec *spec, const tkj_variant *variant);

/** Chooses the target, and with it the key. */
void tkj_build_aim(tkj_build *build, tkj_target target);

/** What must have compiled an entry that counts as there, if `nvrtc` is what would compile it anew:
 *  that under the policy `exact`, else NULL = anything. */
const char *tkj_build_toolchain(const tkj_build *build, const tkj_nvrtc *nvrtc);

/** Notes that the driver refused an entry, which then counts no more. */
void tkj_build_refuse(tkj_build *build, const tkj_blob *entry);

/** The query for the kernel that is aimed at. */
tkj_cache_query tkj_build_query(const tkj_build *build, int major, const char *toolchain);

/**
 * Compiles the kernel that is aimed at and stores it, once among all threads and processes that
 * want it: what another one compiled meanwhile is taken from the cache, unless the driver refused
 * that very entry or the kernel is built anew.
 * @param must_store a store that fails is a failure
 * @param[out] out   owned by the caller; empty after a failure
 * @return TOPK_JIT_OK, TOPK_JIT_CACHE_FAILED (must_store only), what compiling returns, also to
 *         another thread
 */
topk_jit_status tkj_build_once(const tkj_build *build, const tkj_nvrtc *nvrtc, bool must_store,
                               tkj_built *out);

void tkj_built_release(const topk_jit_allocator *allocator, tkj_built *built);

/** "NVRTC x cannot compile for y, which CUDA has since z". */
topk_jit_status tkj_build_reject_target(const tkj_nvrtc *nvrtc, tkj_target target);

#endif /* TKJ_PLAN_BUILD_H */
