/* SPDX-License-Identifier: Apache-2.0 */
#include "context.h"
#include "memory.h"
#include "plan.h"
#include "plan_build.h"
#include "spec.h"
#include "status.h"

/** In the user's directory, which is what is warmed: a layer that is only read is not where the
 *  kernel is wanted. */
static bool is_there(const tkj_build *build, const tkj_nvrtc *nvrtc, unsigned flags, tkj_built *out)
{
    if ((flags & TKJ_WARM_REFRESH) != 0)
        return false;
    tkj_cache *cache = build->context->cache;
    size_t layer = tkj_cache_user_layer(cache);
    const tkj_cache_query query =
        tkj_build_query(build, tkj_nvrtc_major(nvrtc), tkj_build_toolchain(build, nvrtc));
    const tkj_cache_outcome outcome =
        (flags & TKJ_WARM_LOOK) != 0
            ? tkj_cache_peek(cache, &query, &layer, &out->bytes, &out->entry)
            : tkj_cache_get(cache, &query, &layer, &out->bytes, &out->entry);
    return outcome == TKJ_CACHE_HIT;
}

static topk_jit_status warm(tkj_build *build, const tkj_nvrtc *nvrtc, tkj_target target,
                            unsigned flags, tkj_built *out)
{
    if (!tkj_nvrtc_knows(nvrtc, target.architecture))
        return tkj_build_reject_target(nvrtc, target);
    tkj_build_aim(build, target);
    if (is_there(build, nvrtc, flags, out))
        return TOPK_JIT_OK;
    out->compiled = (flags & TKJ_WARM_LOOK) != 0;
    if (out->compiled)
        return TOPK_JIT_OK;
    build->anew = (flags & TKJ_WARM_REFRESH) != 0;
    build->context->counters.misses++;
    return tkj_build_once(build, nvrtc, true, out);
}

topk_jit_status tkj_plan_warm(topk_jit_context *context, const topk_jit_spec *spec,
                              const tkj_variant *variant, tkj_target target, unsigned flags,
                              tkj_warm_result *result)
{
    const topk_jit_spec canonical = tkj_spec_canonical(spec);
    const tkj_nvrtc *nvrtc;
    tkj_built built = {0};
    tkj_build build;
    uint64_t start = tkj_os_now_ns();
    if (!tkj_cache_writes(context->cache))
        return tkj_fail(TOPK_JIT_CACHE_FAILED,
                        "there is no cache directory to write to: neither a cache directory nor a "
                        "home is set, or the mode is not auto");
    topk_jit_status status = tkj_build_start(&build, context, &canonical, variant);
    if (status == TOPK_JIT_OK)
        status = tkj_context_nvrtc(context, &nvrtc);
    if (status == TOPK_JIT_OK)
        status = warm(&build, nvrtc, target, flags, &built);
    *result = (tkj_warm_result){built.compiled, built.bytes.size, tkj_os_now_ns() - start};
    tkj_built_release(&context->config.allocator, &built);
    return status;
}
