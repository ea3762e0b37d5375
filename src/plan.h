/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file plan.h
 * @brief The cold path in order: spec -> variants -> source -> key -> cache, or NVRTC -> driver.
 */
#ifndef TKJ_PLAN_H
#define TKJ_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <topk_jit/topk_jit.h>

#include "kernel_map.h"
#include "nvrtc.h"
#include "target.h"
#include "variants.h"

/** Flags of tkj_plan_warm. */
enum {
    TKJ_WARM_REFRESH = 1 << 0, /* compile also what is there, and replace it */
    TKJ_WARM_LOOK = 1 << 1,    /* only say what would be compiled: nothing is written or touched */
};

/** How a kernel came to be in the cache. */
typedef struct tkj_warm_result {
    bool compiled;        /* or would be; false: it was already there */
    uint64_t bytes;       /* of the entry; 0 = there is none yet */
    uint64_t nanoseconds; /* spent on it */
} tkj_warm_result;

/**
 * Puts one kernel of a spec into the cache, without a driver or a GPU. Here a store that fails is
 * a failure, and so is a context without a cache. Thread-safe: several builders may run at once.
 * @param spec         valid
 * @param variant      of tkj_variants_enumerate(spec, target.architecture)
 * @param flags        TKJ_WARM_ set
 * @param[out] result  set on success
 * @return TOPK_JIT_OK, TOPK_JIT_NVRTC_TARGET (naming the version that has it),
 * TOPK_JIT_CACHE_FAILED, whatever compiling returns
 */
topk_jit_status tkj_plan_warm(topk_jit_context *context, const topk_jit_spec *spec,
                              const tkj_variant *variant, tkj_target target, unsigned flags,
                              tkj_warm_result *result);

/**
 * Makes one spec ready on the device of the stream's context and enters it into the map.
 * @param spec      valid and canonical
 * @param[out] out  borrowed from the context; NULL after a failure
 */
topk_jit_status tkj_plan_prepare(topk_jit_context *context, const topk_jit_spec *spec,
                                 CUstream stream, const tkj_prepared **out);

/** The first target of an order that this NVRTC compiles for: what a miss takes. @return false if
 *  there is none */
bool tkj_plan_choose_target(const tkj_nvrtc *nvrtc, const tkj_target *order, size_t count,
                            size_t *index);

/** A newer toolkit's code is refused by the driver late and darkly (vllm#47397): told before.
 *  @param driver_version  as tkj_driver_open has it
 *  @return TOPK_JIT_OK, TOPK_JIT_LOAD_FAILED naming both versions */
topk_jit_status tkj_plan_check_toolkit(const tkj_nvrtc *nvrtc, int driver_version);

#endif /* TKJ_PLAN_H */
