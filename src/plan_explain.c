/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_explain.h"

#include "context.h"
#include "memory.h"
#include "plan_build.h"
#include "spec.h"
#include "status.h"
#include "text.h"
#include "variant_text.h"

/* Without a driver, entries of any of these CUDA majors are looked for, newest first. */
#define NEWEST_MAJOR 19

/** What is explained. */
typedef struct subject {
    const topk_jit_spec *spec;
    tkj_plan_aim aim;
} subject;

topk_jit_status tkj_plan_aim_name(const char *target, tkj_plan_aim *out)
{
    if (!tkj_target_parse(target, &out->order[0]))
        return tkj_fail(TOPK_JIT_INVALID_ARGUMENT,
                        "target is \"%s\", expected a name such as \"sm_90\"", target);
    out->order_count = 1;
    out->architecture = out->order[0].architecture;
    out->newest_major = NEWEST_MAJOR;
    out->ordinal = -1;
    return TOPK_JIT_OK;
}

topk_jit_status tkj_plan_aim_device(int ordinal, tkj_plan_aim *out)
{
    int version;
    tkj_device_facts facts;
    topk_jit_status status = tkj_driver_open(&version);
    if (status == TOPK_JIT_OK)
        status = tkj_driver_device_facts(ordinal, &facts);
    if (status != TOPK_JIT_OK)
        return status;
    out->architecture = tkj_target_known_below(facts.compute_major, facts.compute_minor);
    out->order_count = tkj_target_order(facts.compute_major, facts.compute_minor, out->order);
    out->newest_major = version / 1000;
    out->ordinal = ordinal;
    if (out->architecture == 0)
        return tkj_fail(TOPK_JIT_NOT_SUPPORTED,
                        "CUDA device %d is older than compute capability 7.5", ordinal);
    return TOPK_JIT_OK;
}

static topk_jit_status aim_stream(CUstream stream, tkj_plan_aim *out)
{
    int version, ordinal = 0;
    topk_jit_status status = tkj_driver_open(&version);
    if (status == TOPK_JIT_OK)
        status = tkj_driver_stream_device(stream, &ordinal);
    return status == TOPK_JIT_OK ? tkj_plan_aim_device(ordinal, out) : status;
}

/** The first entry that would serve. @return false if there is none */
static bool append_entry(tkj_text *out, tkj_build *build, const subject *about)
{
    tkj_cache *cache = build->context->cache;
    for (size_t i = 0; i < about->aim.order_count; i++)
        for (int major = about->aim.newest_major; major >= TKJ_OLDEST_MAJOR; major--) {
            tkj_blob bytes;
            tkj_entry entry;
            size_t layer = 0;
            tkj_build_aim(build, about->aim.order[i]);
            const tkj_cache_query query = tkj_build_query(build, major, NULL);
            if (tkj_cache_peek(cache, &query, &layer, &bytes, &entry) != TKJ_CACHE_HIT)
                continue;
            tkj_text_append(
                out, "    %s, %zu bytes in %s, by %s: %u registers, %u bytes of shared memory\n",
                entry.target, bytes.size, tkj_cache_layer_name(cache, layer), entry.toolchain,
                entry.resources.registers, entry.resources.dynamic_shared);
            tkj_free(&build->context->config.allocator, bytes.bytes);
            return true;
        }
    return false;
}

static void append_places(tkj_text *out, tkj_build *build, const subject *about)
{
    tkj_build_aim(build, about->aim.order[0]);
    const tkj_cache_query query = tkj_build_query(build, about->aim.newest_major, NULL);
    tkj_text_append(out, "    not in the cache; searched: ");
    if (!tkj_cache_explain_miss(build->context->cache, &query, out))
        tkj_text_append(out, "nowhere");
    tkj_text_append(out, "\n");
}

static topk_jit_status append_kernel(tkj_text *out, topk_jit_context *context, const subject *about,
                                     const tkj_variant *variant)
{
    tkj_build build;
    char purpose[TKJ_VARIANT_TEXT_SIZE];
    char key[2 * TKJ_DIGEST_SIZE + 1];
    topk_jit_status status = tkj_build_start(&build, context, about->spec, variant);
    if (status != TOPK_JIT_OK)
        return status;
    tkj_variant_text(variant, purpose);
    tkj_build_aim(&build, about->aim.order[0]);
    tkj_digest_format(build.key.digest, key);
    tkj_text_append(out, "  kernel %s: %s\n    key %s, of %s\n", build.entry_name, purpose, key,
                    variant->template_name);
    if (!append_entry(out, &build, about))
        append_places(out, &build, about);
    return TOPK_JIT_OK;
}

static void append_subject(tkj_text *out, const topk_jit_context *context, const subject *about)
{
    char spec[TKJ_SPEC_TEXT_SIZE];
    char target[TKJ_TARGET_NAME_SIZE];
    tkj_spec_format(about->spec, spec);
    tkj_target_format(about->aim.order[0], target);
    tkj_text_append(out, "spec %s\ntarget %s", spec, target);
    if (about->aim.ordinal >= 0)
        tkj_text_append(out, ", CUDA device %d, driver for CUDA %d, %s", about->aim.ordinal,
                        about->aim.newest_major,
                        tkj_kernel_map_find(&context->kernels, about->spec, about->aim.ordinal) !=
                                NULL
                            ? "prepared"
                            : "not prepared");
    tkj_text_append(out, "\n");
}

topk_jit_status tkj_plan_explain(topk_jit_context *context, const topk_jit_spec *spec,
                                 const char *target, CUstream stream, char *text, size_t capacity,
                                 size_t *length)
{
    const topk_jit_error earlier = *topk_jit_last_error();
    subject about = {.spec = spec};
    tkj_variant variants[TKJ_VARIANTS_MAX];
    topk_jit_status status =
        target != NULL ? tkj_plan_aim_name(target, &about.aim) : aim_stream(stream, &about.aim);
    if (status != TOPK_JIT_OK)
        return status;
    tkj_text out = tkj_text_start(text, capacity);
    append_subject(&out, context, &about);
    size_t count = tkj_variants_enumerate(spec, about.aim.architecture, variants);
    for (size_t v = 0; status == TOPK_JIT_OK && v < count; v++)
        status = append_kernel(&out, context, &about, &variants[v]);
    *length = out.used;
    if (status == TOPK_JIT_OK)
        tkj_error_restore(&earlier);
    return status;
}
