/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"

#include <string.h>

#include "context.h"
#include "memory.h"
#include "plan_build.h"
#include "plan_offline.h"
#include "plan_record.h"
#include "spec.h"
#include "status.h"
#include "text.h"
#include "variant_text.h"

static double milliseconds_since(uint64_t start)
{
    return (double)(tkj_os_now_ns() - start) * 1e-6;
}

/** One line for each kernel that is ready. @param source  where its bytes are from */
static void log_kernel(const tkj_build *build, const char *source, double load_ms)
{
    char purpose[TKJ_VARIANT_TEXT_SIZE];
    tkj_variant_text(build->variant, purpose);
    tkj_log(&build->context->config.logger, TOPK_JIT_LOG_DEBUG,
            "kernel %s for %s (%s): from %s, loaded in %.3f ms", build->entry_name,
            build->target_name, purpose, source, load_ms);
}

static topk_jit_status load(const tkj_build *build, const tkj_entry *entry, const char *source,
                            int ordinal, CUstream stream, tkj_kernel *out)
{
    uint64_t start = tkj_os_now_ns();
    topk_jit_status status = tkj_driver_load(entry->payload, entry->entry_name,
                                             entry->resources.dynamic_shared, ordinal, stream, out);
    build->context->counters.load_ns += tkj_os_now_ns() - start;
    if (status == TOPK_JIT_OK)
        log_kernel(build, source, milliseconds_since(start));
    return status;
}

/** Where one kernel is going. */
typedef struct destination {
    int driver_version;
    const tkj_device_facts *facts;
    CUstream stream;
    tkj_target order[TKJ_TARGET_ORDER_MAX]; /* what the device can run, best first */
    size_t order_count;
    const char *toolchain; /* the only one whose entries count; NULL = any */
} destination;

/** Tries the entries of one target and toolchain, layer by layer. One that the driver refuses is
 *  passed over; any other failure would meet what is compiled, too.
 *  @param[out] loaded  an entry was */
static topk_jit_status load_from_layers(tkj_build *build, const destination *to, int major,
                                        tkj_kernel *out, bool *loaded)
{
    const topk_jit_allocator *allocator = &build->context->config.allocator;
    const tkj_cache_query query = tkj_build_query(build, major, to->toolchain);
    topk_jit_status status = TOPK_JIT_OK;
    tkj_blob bytes;
    tkj_entry entry;
    for (size_t layer = 0;
         tkj_cache_get(build->context->cache, &query, &layer, &bytes, &entry) == TKJ_CACHE_HIT;
         layer++) {
        status = load(build, &entry, tkj_cache_layer_name(build->context->cache, layer),
                      to->facts->ordinal, to->stream, out);
        *loaded = status == TOPK_JIT_OK;
        if (status == TOPK_JIT_LOAD_FAILED) {
            tkj_build_refuse(build, &bytes);
            tkj_log(&build->context->config.logger, TOPK_JIT_LOG_WARNING,
                    "cached kernel %s for %s does not load: %s", build->entry_name,
                    build->target_name, topk_jit_last_error()->message);
            status = TOPK_JIT_OK;
        }
        tkj_free(allocator, bytes.bytes);
        if (*loaded || status != TOPK_JIT_OK)
            break;
    }
    return status;
}

/** Tries every entry that the device could run. */
static topk_jit_status load_from_cache(tkj_build *build, const destination *to, tkj_kernel *out,
                                       bool *loaded)
{
    topk_jit_status status = TOPK_JIT_OK;
    *loaded = false;
    for (size_t i = 0; i < to->order_count; i++) {
        tkj_build_aim(build, to->order[i]);
        for (int major = to->driver_version / 1000; major >= TKJ_OLDEST_MAJOR; major--) {
            status = load_from_layers(build, to, major, out, loaded);
            if (*loaded || status != TOPK_JIT_OK)
                return status;
        }
    }
    return status;
}

bool tkj_plan_choose_target(const tkj_nvrtc *nvrtc, const tkj_target *order, size_t count,
                            size_t *index)
{
    for (size_t i = 0; i < count; i++)
        if (tkj_nvrtc_knows(nvrtc, order[i].architecture)) {
            *index = i;
            return true;
        }
    return false;
}

/** Aims at the best target that this NVRTC knows. */
static topk_jit_status aim_to_compile(tkj_build *build, const tkj_nvrtc *nvrtc,
                                      const destination *to)
{
    size_t i;
    if (!tkj_plan_choose_target(nvrtc, to->order, to->order_count, &i))
        return tkj_build_reject_target(nvrtc, to->order[0]);
    tkj_build_aim(build, to->order[i]);
    if (i > 0)
        tkj_log(&build->context->config.logger, TOPK_JIT_LOG_WARNING,
                "%s does not know sm_%d: compiling %s for %s", tkj_nvrtc_identity(nvrtc),
                to->order[0].architecture, build->entry_name, build->target_name);
    return TOPK_JIT_OK;
}

topk_jit_status tkj_plan_check_toolkit(const tkj_nvrtc *nvrtc, int driver_version)
{
    if (tkj_nvrtc_major(nvrtc) <= driver_version / 1000)
        return TOPK_JIT_OK;
    return tkj_fail(TOPK_JIT_LOAD_FAILED, "%s is newer than the driver, which runs CUDA %d.%d",
                    tkj_nvrtc_identity(nvrtc), driver_version / 1000, driver_version % 1000 / 10);
}

static topk_jit_status compile_and_load(tkj_build *build, const destination *to, tkj_kernel *out)
{
    topk_jit_context *context = build->context;
    const tkj_nvrtc *nvrtc;
    topk_jit_status status = tkj_context_nvrtc(context, &nvrtc);
    if (status == TOPK_JIT_OK)
        status = tkj_plan_check_toolkit(nvrtc, to->driver_version);
    if (status == TOPK_JIT_OK)
        status = aim_to_compile(build, nvrtc, to);
    tkj_built built = {0};
    if (status == TOPK_JIT_OK)
        status = tkj_build_once(build, nvrtc, false, &built);
    if (status == TOPK_JIT_OK)
        status = load(build, &built.entry,
                      built.compiled ? "the compiler" : "the cache, where another one compiled it",
                      to->facts->ordinal, to->stream, out);
    tkj_built_release(&context->config.allocator, &built);
    return status;
}

static topk_jit_status prepare_kernel(topk_jit_context *context, const topk_jit_spec *spec,
                                      const tkj_variant *variant, const destination *to,
                                      tkj_kernel *out)
{
    tkj_build build;
    topk_jit_status status = tkj_build_start(&build, context, spec, variant);
    bool loaded = false;
    if (status == TOPK_JIT_OK)
        status = load_from_cache(&build, to, out, &loaded);
    if (status != TOPK_JIT_OK || loaded)
        return status;
    context->counters.misses++;
    if (context->config.values.mode == TOPK_JIT_MODE_OFFLINE)
        return tkj_plan_offline_miss(&build, tkj_target_best_known(to->order, to->order_count),
                                     to->driver_version / 1000, to->toolchain);
    return compile_and_load(&build, to, out);
}

/** Clusters no larger than the driver grants the kernel, now that it is loaded. */
static topk_jit_status bound_clusters(tkj_prepared *prepared, size_t v, CUstream stream)
{
    const tkj_variant *variant = &prepared->variants[v];
    const tkj_launch launch = {
        .kernel = prepared->kernels[v].kernel,
        .threads = variant->threads,
        .shared_bytes = variant->shared_bytes,
    };
    if (!variant->clusters || prepared->facts.cluster_max <= 1)
        return TOPK_JIT_OK;
    return tkj_driver_cluster_max(&launch, prepared->facts.cluster_max, stream,
                                  &prepared->facts.cluster_max);
}

/** All kernels of a spec, loaded. The caller holds the builder lock. */
static topk_jit_status build_prepared(topk_jit_context *context, const topk_jit_spec *spec,
                                      const destination *to, tkj_prepared *prepared)
{
    const tkj_device_facts *facts = to->facts;
    int architecture = tkj_target_known_below(facts->compute_major, facts->compute_minor);
    if (architecture == 0)
        return tkj_fail(TOPK_JIT_NOT_SUPPORTED,
                        "CUDA device %d has compute capability %d.%d, expected at least 7.5",
                        facts->ordinal, facts->compute_major, facts->compute_minor);
    prepared->spec = *spec;
    prepared->facts = *facts;
    size_t count = tkj_variants_enumerate(spec, architecture, prepared->variants);
    while (prepared->count < count) {
        size_t v = prepared->count;
        topk_jit_status status =
            prepare_kernel(context, spec, &prepared->variants[v], to, &prepared->kernels[v]);
        if (status != TOPK_JIT_OK)
            return status;
        prepared->count++;
        status = bound_clusters(prepared, v, to->stream);
        if (status != TOPK_JIT_OK)
            return status;
    }
    return TOPK_JIT_OK;
}

/** Enters a spec into the map, which then owns it. */
static topk_jit_status enter(topk_jit_context *context, tkj_prepared *prepared)
{
    pthread_mutex_lock(&context->builder);
    topk_jit_status status =
        tkj_kernel_map_insert(&context->config.allocator, &context->kernels, prepared);
    pthread_mutex_unlock(&context->builder);
    return status;
}

static void log_prepared(const topk_jit_context *context, const tkj_prepared *prepared,
                         uint64_t start)
{
    char text[TKJ_SPEC_TEXT_SIZE];
    tkj_spec_format(&prepared->spec, text);
    tkj_log(&context->config.logger, TOPK_JIT_LOG_INFO,
            "prepared %s on CUDA device %d: %zu %s in %.3f ms", text, prepared->facts.ordinal,
            prepared->count, tkj_plural(prepared->count, "kernel", "kernels"),
            milliseconds_since(start));
}

/** Builds and enters a spec that is not in the map. */
static topk_jit_status add_prepared(topk_jit_context *context, const topk_jit_spec *spec,
                                    int driver_version, int ordinal, CUstream stream)
{
    const topk_jit_allocator *allocator = &context->config.allocator;
    tkj_device_facts facts;
    const uint64_t start = tkj_os_now_ns();
    tkj_plan_record(context, spec);
    topk_jit_status status = tkj_driver_device_facts(ordinal, &facts);
    if (status != TOPK_JIT_OK)
        return status;
    destination to = {.driver_version = driver_version, .facts = &facts, .stream = stream};
    to.order_count = tkj_target_order(facts.compute_major, facts.compute_minor, to.order);
    to.toolchain = tkj_context_toolchain(context);
    tkj_prepared *prepared = tkj_alloc_zeroed(allocator, 1, sizeof *prepared);
    if (prepared == NULL)
        return TOPK_JIT_OUT_OF_MEMORY;
    status = build_prepared(context, spec, &to, prepared);
    if (status == TOPK_JIT_OK)
        status = enter(context, prepared);
    if (status == TOPK_JIT_OK)
        log_prepared(context, prepared, start);
    else
        tkj_prepared_free(allocator, prepared);
    return status;
}

/** A spec on a device, as a piece of work that others may wait for. */
static void identify(const topk_jit_spec *spec, int ordinal, uint8_t id[TKJ_DIGEST_SIZE])
{
    uint8_t bytes[sizeof *spec + sizeof ordinal];
    memcpy(bytes, spec, sizeof *spec);
    memcpy(bytes + sizeof *spec, &ordinal, sizeof ordinal);
    tkj_digest(bytes, sizeof bytes, id);
}

/** Builds a spec, or waits for the thread that is at it. @return its status, to either */
static topk_jit_status add_once(topk_jit_context *context, const topk_jit_spec *spec,
                                int driver_version, int ordinal, CUstream stream, bool *added)
{
    uint8_t id[TKJ_DIGEST_SIZE];
    tkj_flight *flight;
    topk_jit_status status;
    *added = false;
    identify(spec, ordinal, id);
    if (!tkj_context_board(context, id, &flight, &status))
        return status;
    if (tkj_kernel_map_find(&context->kernels, spec, ordinal) == NULL) { /* since we looked */
        status = add_prepared(context, spec, driver_version, ordinal, stream);
        *added = status == TOPK_JIT_OK;
    }
    tkj_flights_land(&context->flights, &context->config.allocator, flight, status);
    return status;
}

/** What the map has, for the stream's context, too. */
static topk_jit_status use(topk_jit_context *context, const tkj_prepared *prepared, CUstream stream)
{
    context->counters.memory_hits += prepared->count;
    pthread_mutex_lock(&context->builder);
    topk_jit_status status = tkj_driver_load_into(prepared->kernels, prepared->count, stream);
    pthread_mutex_unlock(&context->builder);
    return status;
}

/** tkj_plan_prepare, but for the last error. */
static topk_jit_status find_or_add(topk_jit_context *context, const topk_jit_spec *spec,
                                   CUstream stream, const tkj_prepared **out)
{
    int driver_version = 0;
    int ordinal = 0;
    topk_jit_status status = tkj_driver_open(&driver_version);
    if (status == TOPK_JIT_OK)
        status = tkj_driver_stream_device(stream, &ordinal);
    if (status != TOPK_JIT_OK)
        return status;
    bool added = false;
    *out = tkj_kernel_map_find(&context->kernels, spec, ordinal);
    if (*out == NULL)
        status = add_once(context, spec, driver_version, ordinal, stream, &added);
    if (status != TOPK_JIT_OK)
        return status;
    *out = tkj_kernel_map_find(&context->kernels, spec, ordinal);
    return added ? TOPK_JIT_OK : use(context, *out, stream);
}

topk_jit_status tkj_plan_prepare(topk_jit_context *context, const topk_jit_spec *spec,
                                 CUstream stream, const tkj_prepared **out)
{
    const topk_jit_error earlier = *topk_jit_last_error();
    *out = NULL;
    topk_jit_status status = find_or_add(context, spec, stream, out);
    if (status != TOPK_JIT_OK)
        *out = NULL;
    else
        tkj_error_restore(&earlier); /* a failed store or a bad entry is nobody's error */
    return status;
}
