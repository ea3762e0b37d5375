/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_build.h"

#include <string.h>

#include "memory.h"
#include "status.h"

topk_jit_status tkj_build_start(tkj_build *build, topk_jit_context *context,
                                const topk_jit_spec *spec, const tkj_variant *variant)
{
    build->context = context;
    build->spec = spec;
    build->variant = variant;
    build->anew = false;
    build->has_refused = false;
    tkj_entry_name(spec, variant, build->entry_name);
    tkj_prelude(spec, variant, build->prelude);
    return tkj_context_templates(context, &build->templates);
}

void tkj_build_aim(tkj_build *build, tkj_target target)
{
    build->target = target;
    tkj_target_format(target, build->target_name);
    tkj_key_build(build->templates->digest, build->spec, build->prelude, target, &build->key);
}

static tkj_cache_key cache_key(const tkj_build *build)
{
    tkj_cache_key key;
    memcpy(key.digest, build->key.digest, sizeof key.digest);
    return key;
}

const char *tkj_build_toolchain(const tkj_build *build, const tkj_nvrtc *nvrtc)
{
    return build->context->config.values.toolchain == TOPK_JIT_TOOLCHAIN_EXACT
               ? tkj_nvrtc_identity(nvrtc)
               : NULL;
}

static tkj_payload_kind payload_kind(const tkj_build *build)
{
    return build->target.ptx ? TKJ_PAYLOAD_PTX : TKJ_PAYLOAD_CUBIN;
}

tkj_cache_query tkj_build_query(const tkj_build *build, int major, const char *toolchain)
{
    return (tkj_cache_query){
        .key = cache_key(build),
        .major = major,
        .preimage = build->key.preimage,
        .target = build->target_name,
        .kind = payload_kind(build),
        .toolchain = toolchain,
        .refused = build->has_refused ? build->refused : NULL,
    };
}

void tkj_build_refuse(tkj_build *build, const tkj_blob *entry)
{
    build->has_refused = true;
    memcpy(build->refused, entry->bytes + entry->size - TKJ_DIGEST_SIZE, TKJ_DIGEST_SIZE);
}

void tkj_built_release(const topk_jit_allocator *allocator, tkj_built *built)
{
    tkj_free(allocator, built->bytes.bytes);
    *built = (tkj_built){0};
}

topk_jit_status tkj_build_reject_target(const tkj_nvrtc *nvrtc, tkj_target target)
{
    char name[TKJ_TARGET_NAME_SIZE];
    const char *since = "unknown";
    tkj_target_format(target, name);
    for (size_t i = 0; i < tkj_architecture_count; i++)
        if (tkj_architectures[i].number == target.architecture)
            since = tkj_architectures[i].since;
    return tkj_fail(TOPK_JIT_NVRTC_TARGET, "%s cannot compile for %s, which CUDA has since %s",
                    tkj_nvrtc_identity(nvrtc), name, since);
}

/* ---- compiling ---- */

static topk_jit_status compile(const tkj_build *build, const tkj_nvrtc *nvrtc,
                               tkj_compile_result *result)
{
    tkj_counters *counters = &build->context->counters;
    const tkj_compile_job work = {
        .main = {build->entry_name, build->prelude},
        .includes = build->templates->files,
        .include_count = tkj_embedded_template_count,
        .architecture = build->target.architecture,
        .ptx = build->target.ptx,
    };
    uint64_t start = tkj_os_now_ns();
    topk_jit_status status = tkj_nvrtc_compile(nvrtc, &work, build->entry_name, result);
    counters->compiles++;
    counters->compile_ns += tkj_os_now_ns() - start;
    return status;
}

/** Compiles one kernel into an encoded entry. */
static topk_jit_status make_entry(const tkj_build *build, const tkj_nvrtc *nvrtc, tkj_blob *bytes)
{
    const topk_jit_allocator *allocator = &build->context->config.allocator;
    tkj_compile_result result = {0};
    topk_jit_status status = compile(build, nvrtc, &result);
    if (status != TOPK_JIT_OK)
        return status;
    const tkj_entry entry = {
        .kind = payload_kind(build),
        .target = build->target_name,
        .toolchain = tkj_nvrtc_identity(nvrtc),
        .library = TOPK_JIT_VERSION_STRING,
        .preimage = build->key.preimage,
        .entry_name = build->entry_name,
        .resources = {.registers = result.usage.registers,
                      .static_shared = result.usage.static_shared,
                      .dynamic_shared = build->variant->shared_bytes,
                      .stack = result.usage.stack,
                      .spill = result.usage.spill,
                      .other_spill = result.usage.other_spill},
        .payload = result.payload.bytes,
        .payload_size = result.payload.size,
    };
    status = tkj_entry_encode(allocator, &entry, bytes);
    tkj_free(allocator, result.payload.bytes);
    return status;
}

/* What is on no disk is held in memory, for the next device or the next stream's context. */
static topk_jit_status store(const tkj_build *build, const tkj_nvrtc *nvrtc, const tkj_blob *bytes)
{
    tkj_cache *cache = build->context->cache;
    const tkj_cache_key key = cache_key(build);
    topk_jit_status status = tkj_cache_put(cache, &key, tkj_nvrtc_major(nvrtc), bytes);
    if (status != TOPK_JIT_OK || !tkj_cache_writes(cache))
        tkj_cache_hold(cache, &key, bytes);
    return status;
}

static topk_jit_status compile_and_store(const tkj_build *build, const tkj_nvrtc *nvrtc,
                                         bool must_store, tkj_built *out)
{
    const topk_jit_allocator *allocator = &build->context->config.allocator;
    topk_jit_status status = make_entry(build, nvrtc, &out->bytes);
    if (status != TOPK_JIT_OK)
        return status;
    out->compiled = true;
    tkj_entry_decode(out->bytes.bytes, out->bytes.size, &out->entry);
    status = store(build, nvrtc, &out->bytes);
    if (status == TOPK_JIT_OK || !must_store) /* the cache has warned; it runs from memory */
        return TOPK_JIT_OK;
    tkj_built_release(allocator, out);
    return status;
}

/* ---- once ---- */

/** Among processes. */
static topk_jit_status build_in_turn(const tkj_build *build, const tkj_nvrtc *nvrtc,
                                     const tkj_cache_query *query, bool must_store, tkj_built *out)
{
    tkj_cache *cache = build->context->cache;
    tkj_cache_turn turn;
    topk_jit_status status = TOPK_JIT_OK;
    if (!tkj_cache_await_turn(cache, query, &turn, &out->bytes, &out->entry))
        status = compile_and_store(build, nvrtc, must_store, out);
    tkj_cache_end_turn(cache, &turn);
    return status;
}

topk_jit_status tkj_build_once(const tkj_build *build, const tkj_nvrtc *nvrtc, bool must_store,
                               tkj_built *out)
{
    topk_jit_context *context = build->context;
    const tkj_cache_query query =
        tkj_build_query(build, tkj_nvrtc_major(nvrtc), tkj_build_toolchain(build, nvrtc));
    tkj_flight *flight;
    topk_jit_status status;
    *out = (tkj_built){0};
    if (build->anew) /* what others compile meanwhile is not waited for: it would not be taken */
        return compile_and_store(build, nvrtc, must_store, out);
    if (!tkj_context_board(context, build->key.digest, &flight, &status) &&
        (status != TOPK_JIT_OK ||
         tkj_cache_get_new(context->cache, &query, &out->bytes, &out->entry)))
        return status;
    status = build_in_turn(build, nvrtc, &query, must_store, out);
    tkj_flights_land(&context->flights, &context->config.allocator, flight, status);
    return status;
}
