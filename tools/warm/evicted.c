/* SPDX-License-Identifier: Apache-2.0 */
#include "evicted.h"

#include "complain.h"
#include "context.h"
#include "plan.h"

static bool is_gone(topk_jit_context *context, const warm_kernel *kernel)
{
    tkj_warm_result result = {0};
    if (kernel->state != WARM_COMPILED && kernel->state != WARM_ALREADY_THERE)
        return false;
    return tkj_plan_warm(context, &kernel->spec, &kernel->variant, kernel->target, TKJ_WARM_LOOK,
                         &result) == TOPK_JIT_OK &&
           result.compiled; /* would be */
}

static void complain(const topk_jit_context *context, size_t gone, size_t count, uint64_t bytes)
{
    warm_complain("%zu of %zu kernels were removed again: they have %llu bytes, and %s may hold "
                  "%llu (TOPK_JIT_CACHE_MAX_BYTES); raise that, or prune what else is there, and "
                  "run the same command",
                  gone, count, (unsigned long long)bytes, tkj_cache_root(context->cache),
                  (unsigned long long)context->config.values.cache_max_bytes);
}

void warm_evicted_find(topk_jit_context *context, warm_kernels *kernels)
{
    size_t gone = 0;
    uint64_t bytes = 0; /* of all of them */
    if (tkj_cache_counts(context->cache)->evictions == 0)
        return;
    for (size_t i = 0; i < kernels->count; i++) {
        warm_kernel *kernel = &kernels->at[i];
        bytes += kernel->bytes;
        if (!is_gone(context, kernel))
            continue;
        kernel->state = WARM_EVICTED;
        kernel->bytes = 0;
        gone++;
    }
    if (gone > 0)
        complain(context, gone, kernels->count, bytes);
}
