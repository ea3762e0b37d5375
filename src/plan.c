/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"

#include "context.h"
#include "key.h"
#include "memory.h"
#include "prelude.h"
#include "spec.h"
#include "status.h"

/* The oldest CUDA major whose entries are looked for. */
#define OLDEST_MAJOR 12

/** One kernel on its way from a spec to bytes. */
typedef struct job {
    topk_jit_context *context;
    const topk_jit_spec *spec;
    const tkj_variant *variant;
    const tkj_template_set *templates;
    char entry_name[TKJ_ENTRY_NAME_SIZE];
    char prelude[TKJ_PRELUDE_SIZE];
    tkj_target target;
    char target_name[TKJ_TARGET_NAME_SIZE];
    tkj_key key;
} build_job;

static topk_jit_status start_job(build_job *job, topk_jit_context *context,
                                 const topk_jit_spec *spec, const tkj_variant *variant)
{
    job->context = context;
    job->spec = spec;
    job->variant = variant;
    tkj_entry_name(spec, variant, job->entry_name);
    tkj_prelude(spec, variant, job->prelude);
    return tkj_context_templates(context, &job->templates);
}

static void aim(build_job *job, tkj_target target)
{
    job->target = target;
    tkj_target_format(target, job->target_name);
    tkj_key_build(job->templates->digest, job->spec, job->prelude, target, &job->key);
}

static const tkj_cache_key *cache_key(const build_job *job, tkj_cache_key *key)
{
    for (size_t i = 0; i < TKJ_DIGEST_SIZE; i++)
        key->digest[i] = job->key.digest[i];
    return key;
}

static bool look_up(const build_job *job, int major, tkj_blob *bytes, tkj_entry *entry)
{
    tkj_counters *counters = &job->context->counters;
    tkj_cache_key key;
    uint64_t start = tkj_os_now_ns();
    tkj_cache_outcome outcome = tkj_cache_get(job->context->cache, cache_key(job, &key), major,
                                              job->key.preimage, job->target_name, bytes, entry);
    counters->lookup_ns += tkj_os_now_ns() - start;
    counters->corrupt_entries += outcome == TKJ_CACHE_CORRUPT;
    if (outcome != TKJ_CACHE_HIT)
        return false;
    counters->disk_hits++;
    counters->bytes_read += bytes->size;
    return true;
}

static topk_jit_status compile(const build_job *job, const tkj_nvrtc *nvrtc,
                               tkj_compile_result *result)
{
    tkj_counters *counters = &job->context->counters;
    const tkj_compile_job work = {
        .main = {job->entry_name, job->prelude},
        .includes = job->templates->files,
        .include_count = tkj_embedded_template_count,
        .architecture = job->target.architecture,
        .ptx = job->target.ptx,
    };
    uint64_t start = tkj_os_now_ns();
    topk_jit_status status = tkj_nvrtc_compile(nvrtc, &work, job->entry_name, result);
    counters->compiles++;
    counters->compile_ns += tkj_os_now_ns() - start;
    return status;
}

/** Compiles one kernel into an encoded entry. */
static topk_jit_status build(const build_job *job, const tkj_nvrtc *nvrtc, tkj_blob *bytes)
{
    const topk_jit_allocator *allocator = &job->context->config.allocator;
    tkj_compile_result result = {0};
    topk_jit_status status = compile(job, nvrtc, &result);
    if (status != TOPK_JIT_OK)
        return status;
    const tkj_entry entry = {
        .kind = job->target.ptx ? TKJ_PAYLOAD_PTX : TKJ_PAYLOAD_CUBIN,
        .target = job->target_name,
        .toolchain = tkj_nvrtc_identity(nvrtc),
        .library = TOPK_JIT_VERSION_STRING,
        .preimage = job->key.preimage,
        .entry_name = job->entry_name,
        .resources = {.registers = result.usage.registers,
                      .static_shared = result.usage.static_shared,
                      .dynamic_shared = job->variant->shared_bytes,
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

static topk_jit_status store(const build_job *job, const tkj_nvrtc *nvrtc, const tkj_blob *bytes)
{
    tkj_counters *counters = &job->context->counters;
    tkj_cache_key key;
    if (tkj_cache_root(job->context->cache) == NULL)
        return TOPK_JIT_OK;
    topk_jit_status status =
        tkj_cache_put(job->context->cache, cache_key(job, &key), tkj_nvrtc_major(nvrtc), bytes);
    if (status != TOPK_JIT_OK) {
        counters->failed_stores++;
        return status;
    }
    counters->stores++;
    counters->bytes_written += bytes->size;
    return TOPK_JIT_OK;
}

/** The first toolkit that has an architecture, for a message. */
static topk_jit_status reject_target(const tkj_nvrtc *nvrtc, tkj_target target)
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

topk_jit_status tkj_plan_warm(topk_jit_context *context, const topk_jit_spec *spec,
                              const tkj_variant *variant, tkj_target target,
                              tkj_warm_result *result)
{
    const topk_jit_allocator *allocator = &context->config.allocator;
    const topk_jit_spec canonical = tkj_spec_canonical(spec);
    const tkj_nvrtc *nvrtc;
    uint64_t start = tkj_os_now_ns();
    build_job job;
    if (tkj_cache_root(context->cache) == NULL)
        return tkj_fail(TOPK_JIT_CACHE_FAILED,
                        "there is no cache directory: neither a cache directory nor a home is set");
    topk_jit_status status = start_job(&job, context, &canonical, variant);
    if (status == TOPK_JIT_OK)
        status = tkj_context_nvrtc(context, &nvrtc);
    if (status != TOPK_JIT_OK)
        return status;
    if (!tkj_nvrtc_knows(nvrtc, target.architecture))
        return reject_target(nvrtc, target);

    tkj_blob bytes = {0};
    tkj_entry entry;
    aim(&job, target);
    bool present = look_up(&job, tkj_nvrtc_major(nvrtc), &bytes, &entry);
    if (!present) {
        context->counters.misses++;
        status = build(&job, nvrtc, &bytes);
        if (status == TOPK_JIT_OK)
            status = store(&job, nvrtc, &bytes);
    }
    *result = (tkj_warm_result){!present, bytes.size, tkj_os_now_ns() - start};
    tkj_free(allocator, bytes.bytes);
    return status;
}

static topk_jit_status load(const build_job *job, const tkj_entry *entry, int ordinal,
                            CUstream stream, tkj_kernel *out)
{
    uint64_t start = tkj_os_now_ns();
    topk_jit_status status = tkj_driver_load(entry->payload, entry->entry_name,
                                             entry->resources.dynamic_shared, ordinal, stream, out);
    job->context->counters.load_ns += tkj_os_now_ns() - start;
    return status;
}

/** Where one kernel is going. */
typedef struct destination {
    int driver_version;
    const tkj_device_facts *facts;
    CUstream stream;
    tkj_target order[TKJ_TARGET_ORDER_MAX]; /* what the device can run, best first */
    size_t order_count;
} destination;

/** Tries every entry that the device could run. An entry that does not load is passed over. */
static bool load_from_cache(build_job *job, const destination *to, tkj_kernel *out)
{
    const topk_jit_allocator *allocator = &job->context->config.allocator;
    for (size_t i = 0; i < to->order_count; i++) {
        aim(job, to->order[i]);
        for (int major = to->driver_version / 1000; major >= OLDEST_MAJOR; major--) {
            tkj_blob bytes = {0};
            tkj_entry entry;
            if (!look_up(job, major, &bytes, &entry))
                continue;
            topk_jit_status status = load(job, &entry, to->facts->ordinal, to->stream, out);
            tkj_free(allocator, bytes.bytes);
            if (status == TOPK_JIT_OK)
                return true;
            tkj_log(&job->context->config.logger, TOPK_JIT_LOG_WARNING,
                    "cached kernel %s for %s does not load: %s", job->entry_name, job->target_name,
                    topk_jit_last_error()->message);
        }
    }
    return false;
}

/** Aims at the best target that this NVRTC knows. */
static topk_jit_status aim_to_compile(build_job *job, const tkj_nvrtc *nvrtc, const destination *to)
{
    for (size_t i = 0; i < to->order_count; i++)
        if (tkj_nvrtc_knows(nvrtc, to->order[i].architecture)) {
            aim(job, to->order[i]);
            if (i > 0)
                tkj_log(&job->context->config.logger, TOPK_JIT_LOG_WARNING,
                        "%s does not know sm_%d: compiling %s for %s", tkj_nvrtc_identity(nvrtc),
                        to->order[0].architecture, job->entry_name, job->target_name);
            return TOPK_JIT_OK;
        }
    return reject_target(nvrtc, to->order[0]);
}

/** A newer toolkit's code is refused by the driver late and darkly (vllm#47397): told here. */
static topk_jit_status check_toolkit(const tkj_nvrtc *nvrtc, int driver_version)
{
    if (tkj_nvrtc_major(nvrtc) <= driver_version / 1000)
        return TOPK_JIT_OK;
    return tkj_fail(TOPK_JIT_LOAD_FAILED, "%s is newer than the driver, which runs CUDA %d.%d",
                    tkj_nvrtc_identity(nvrtc), driver_version / 1000, driver_version % 1000 / 10);
}

static topk_jit_status compile_and_load(build_job *job, const destination *to, tkj_kernel *out)
{
    const topk_jit_allocator *allocator = &job->context->config.allocator;
    const tkj_nvrtc *nvrtc;
    topk_jit_status status = tkj_context_nvrtc(job->context, &nvrtc);
    if (status == TOPK_JIT_OK)
        status = check_toolkit(nvrtc, to->driver_version);
    if (status == TOPK_JIT_OK)
        status = aim_to_compile(job, nvrtc, to);
    if (status != TOPK_JIT_OK)
        return status;
    tkj_blob bytes = {0};
    tkj_entry entry;
    status = build(job, nvrtc, &bytes);
    if (status != TOPK_JIT_OK)
        return status;
    (void)store(job, nvrtc, &bytes); /* the cache has warned; the kernel runs from memory */
    tkj_entry_decode(bytes.bytes, bytes.size, &entry);
    status = load(job, &entry, to->facts->ordinal, to->stream, out);
    tkj_free(allocator, bytes.bytes);
    return status;
}

static topk_jit_status prepare_kernel(topk_jit_context *context, const topk_jit_spec *spec,
                                      const tkj_variant *variant, const destination *to,
                                      tkj_kernel *out)
{
    build_job job;
    topk_jit_status status = start_job(&job, context, spec, variant);
    if (status != TOPK_JIT_OK || load_from_cache(&job, to, out))
        return status;
    context->counters.misses++;
    return compile_and_load(&job, to, out);
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

/** Builds and enters a spec that is not in the map. The caller holds the builder lock. */
static topk_jit_status add_prepared(topk_jit_context *context, const topk_jit_spec *spec,
                                    int driver_version, int ordinal, CUstream stream,
                                    const tkj_prepared **out)
{
    const topk_jit_allocator *allocator = &context->config.allocator;
    tkj_device_facts facts;
    topk_jit_status status = tkj_driver_device_facts(ordinal, &facts);
    if (status != TOPK_JIT_OK)
        return status;
    destination to = {.driver_version = driver_version, .facts = &facts, .stream = stream};
    to.order_count = tkj_target_order(facts.compute_major, facts.compute_minor, to.order);
    tkj_prepared *prepared = tkj_alloc_zeroed(allocator, 1, sizeof *prepared);
    if (prepared == NULL)
        return TOPK_JIT_OUT_OF_MEMORY;
    status = build_prepared(context, spec, &to, prepared);
    if (status == TOPK_JIT_OK)
        status = tkj_kernel_map_insert(allocator, &context->kernels, prepared);
    if (status != TOPK_JIT_OK) {
        tkj_prepared_free(allocator, prepared);
        return status;
    }
    *out = prepared;
    return TOPK_JIT_OK;
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
    pthread_mutex_lock(&context->builder);
    *out = tkj_kernel_map_find(&context->kernels, spec, ordinal);
    if (*out != NULL) {
        context->counters.memory_hits += (*out)->count;
        status = tkj_driver_load_into((*out)->kernels, (*out)->count, stream);
    } else {
        status = add_prepared(context, spec, driver_version, ordinal, stream, out);
    }
    pthread_mutex_unlock(&context->builder);
    return status;
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
