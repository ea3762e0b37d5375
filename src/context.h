/* SPDX-License-Identifier: Apache-2.0 */
/** @file context.h @brief What a context holds; parts that cost time are made on first use. */
#ifndef TKJ_CONTEXT_H
#define TKJ_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <topk_jit/topk_jit.h>

#include "cache.h"
#include "config.h"
#include "kernel_map.h"
#include "nvrtc.h"
#include "template.h"

/** Counters behind topk_jit_statistics. */
typedef struct tkj_counters {
    atomic_uint_fast64_t memory_hits, disk_hits, misses, compiles, stores, failed_stores,
        corrupt_entries, bytes_read, bytes_written, lookup_ns, compile_ns, load_ns;
} tkj_counters;

struct topk_jit_context {
    tkj_config config;
    tkj_cache *cache;
    tkj_kernel_map kernels;
    pthread_mutex_t builder; /* one preparation at a time */
    pthread_mutex_t lazy;    /* guards the two below */
    bool templates_loaded;
    tkj_template_set templates;
    tkj_nvrtc *nvrtc; /* NULL until the first miss */
    tkj_counters counters;
};

/** The template set, read on first use: borrowed. */
topk_jit_status tkj_context_templates(topk_jit_context *context, const tkj_template_set **out);

/** NVRTC, loaded on first use: borrowed. A failure is tried again at the next call. */
topk_jit_status tkj_context_nvrtc(topk_jit_context *context, const tkj_nvrtc **out);

#endif /* TKJ_CONTEXT_H */
