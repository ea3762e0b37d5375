/* SPDX-License-Identifier: Apache-2.0 */
/** @file context.h @brief What a context holds; parts that cost time are made on first use. */
#ifndef TKJ_CONTEXT_H
#define TKJ_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <topk_jit/topk_jit.h>

#include "cache.h"
#include "config.h"
#include "flight.h"
#include "kernel_map.h"
#include "nvrtc.h"
#include "status.h"
#include "template.h"
#include "worker.h"

/** Counters behind topk_jit_statistics, beside those of the cache. */
typedef struct tkj_counters {
    atomic_uint_fast64_t memory_hits, misses, waits, compiles, wait_ns, compile_ns, load_ns;
} tkj_counters;

struct topk_jit_context {
    tkj_config config;
    tkj_cache *cache;
    const char *root_rule; /* what named its root; NULL = it has none */
    tkj_kernel_map kernels;
    tkj_flights flights;     /* preparations and compilations under way */
    tkj_worker worker;       /* what topk_jit_prepare_async asked for */
    pthread_mutex_t builder; /* held while the map is added to, and kernels to another context */
    tkj_fork_mark *alive;    /* 0 in a child after fork that has not noticed; 1 else */
    pthread_mutex_t lazy;    /* guards all below */
    bool templates_loaded;
    tkj_template_set templates;
    tkj_nvrtc *nvrtc; /* NULL until the first miss */
    tkj_counters counters;
    atomic_bool record_failed; /* and that was logged */
};

/** What tkj_context_enter does in a child after fork. */
void tkj_context_after_fork(topk_jit_context *context);

/** Comes first in every call: in a child after fork, what belongs to the parent (loaded kernels,
 *  locks, the work of threads that are not there) is dropped once. */
static inline void tkj_context_enter(topk_jit_context *context)
{
    if (context->alive != NULL && atomic_load_explicit(context->alive, memory_order_acquire) != 1)
        tkj_context_after_fork(context);
}

/** Enters a caller's context. @return TOPK_JIT_OK, TOPK_JIT_INVALID_ARGUMENT if it is NULL */
static inline topk_jit_status tkj_context_check(topk_jit_context *context)
{
    if (context == NULL)
        return tkj_fail(TOPK_JIT_INVALID_ARGUMENT, "context is NULL, expected a context");
    tkj_context_enter(context);
    return TOPK_JIT_OK;
}

/** tkj_flights_board on the context's pieces of work; waits are counted. */
bool tkj_context_board(topk_jit_context *context, const uint8_t id[TKJ_DIGEST_SIZE],
                       tkj_flight **flight, topk_jit_status *status);

/** The template set, read on first use: borrowed. */
topk_jit_status tkj_context_templates(topk_jit_context *context, const tkj_template_set **out);

/** NVRTC, loaded on first use: borrowed. A failure is tried again at the next call. */
topk_jit_status tkj_context_nvrtc(topk_jit_context *context, const tkj_nvrtc **out);

/** What must have compiled an entry that counts: under the policy `exact` the NVRTC found here, by
 *  its identity, which is "" if there is none; else NULL = anything. Borrowed. */
const char *tkj_context_toolchain(topk_jit_context *context);

#endif /* TKJ_CONTEXT_H */
