/* SPDX-License-Identifier: Apache-2.0 */
#include "context.h"

#include <sched.h>
#include <string.h>

#include "abi.h"
#include "installed.h"
#include "memory.h"
#include "status.h"

/* The read-only layer of the installation, seen from the library: the prefix may move. */
static topk_jit_status find_installed(const tkj_config *config, char **out)
{
    *out = NULL;
    if (config->own_directory == NULL)
        return TOPK_JIT_OK;
    *out = tkj_format(&config->allocator, "%s/%s/topk_jit/cache", config->own_directory,
                      tkj_installed_data);
    return *out != NULL ? TOPK_JIT_OK : TOPK_JIT_OUT_OF_MEMORY;
}

/* What makes every start of a server compile anew, and is not told by anything else. */
static void log_root(const tkj_config *config, const char *root)
{
    if (config->cache_dir == NULL && config->env_cache_dir != NULL &&
        !tkj_os_is_absolute(config->env_cache_dir))
        tkj_log(&config->logger, TOPK_JIT_LOG_WARNING,
                "TOPK_JIT_CACHE_DIR is \"%s\", which is ignored: expected an absolute path",
                config->env_cache_dir);
    if (root == NULL && config->values.mode == TOPK_JIT_MODE_AUTO)
        tkj_log(
            &config->logger, TOPK_JIT_LOG_INFO,
            "there is neither a cache directory nor a home: kernels are compiled at each start");
}

static topk_jit_status open_cache(topk_jit_context *context)
{
    const tkj_config *config = &context->config;
    const tkj_cache_places places = {
        .option = config->cache_dir,
        .environment = config->env_cache_dir,
        .xdg_cache_home = config->env_xdg_cache_home,
        .home = config->env_home,
    };
    char *root = NULL, *installed = NULL;
    topk_jit_status status =
        tkj_cache_root_choose(&config->allocator, &places, &root, &context->root_rule);
    if (status == TOPK_JIT_OK)
        status = find_installed(config, &installed);
    const tkj_cache_options options = {
        .root = root,
        .ro_dirs = config->ro_dirs,
        .installed = installed,
        .runtime_dir = config->env_xdg_runtime_dir,
        .mode = config->values.mode,
        .trust = config->values.trust,
        .max_bytes = config->values.cache_max_bytes,
        .lock_timeout_ns = config->values.lock_timeout_ns,
    };
    if (status == TOPK_JIT_OK)
        log_root(config, root);
    if (status == TOPK_JIT_OK)
        status = tkj_cache_create(&config->allocator, &config->logger, &options, &context->cache);
    tkj_free(&config->allocator, installed);
    tkj_free(&config->allocator, root);
    return status;
}

static void init_locks(topk_jit_context *context)
{
    pthread_mutex_init(&context->builder, NULL);
    pthread_mutex_init(&context->lazy, NULL);
    tkj_flights_init(&context->flights);
    tkj_worker_init(&context->worker);
}

/* Whoever held the locks is not in this process, and CUDA cannot be used in it: not even to unload.
   (pytorch#184643, vllm#32611) */
void tkj_context_after_fork(topk_jit_context *context)
{
    uint8_t unnoticed = 0;
    if (!atomic_compare_exchange_strong(context->alive, &unnoticed, 2)) {
        while (atomic_load(context->alive) != 1) /* another thread of the child is at it */
            sched_yield();
        return;
    }
    init_locks(context);
    tkj_cache_after_fork(context->cache);
    tkj_kernel_map_forget(&context->config.allocator, &context->kernels);
    atomic_store(context->alive, 1);
}

topk_jit_status topk_jit_context_create(topk_jit_context **out, const topk_jit_options *options)
{
    if (out == NULL)
        return tkj_fail(TOPK_JIT_INVALID_ARGUMENT, "out is NULL, expected a place for the context");
    *out = NULL;
    tkj_config config;
    topk_jit_status status = tkj_config_resolve(options, &config);
    topk_jit_context *context = NULL;
    if (status == TOPK_JIT_OK)
        context = tkj_alloc_zeroed(&config.allocator, 1, sizeof *context);
    if (context == NULL) {
        tkj_config_release(&config);
        return status != TOPK_JIT_OK ? status : TOPK_JIT_OUT_OF_MEMORY;
    }
    context->config = config;
    context->alive = tkj_os_fork_mark_create();
    init_locks(context);
    status = open_cache(context);
    if (status != TOPK_JIT_OK) {
        topk_jit_context_destroy(context);
        return status;
    }
    *out = context;
    return TOPK_JIT_OK;
}

void topk_jit_context_destroy(topk_jit_context *context)
{
    if (context == NULL)
        return;
    tkj_context_enter(context);
    tkj_worker_stop(&context->worker);
    tkj_config config = context->config; /* its allocator frees the context itself */
    tkj_kernel_map_release(&config.allocator, &context->kernels);
    tkj_templates_free(&config.allocator, &context->templates);
    tkj_nvrtc_free(context->nvrtc);
    tkj_cache_destroy(context->cache);
    tkj_flights_destroy(&context->flights);
    pthread_mutex_destroy(&context->builder);
    pthread_mutex_destroy(&context->lazy);
    tkj_os_fork_mark_destroy(context->alive);
    tkj_free(&config.allocator, context);
    tkj_config_release(&config);
}

bool tkj_context_board(topk_jit_context *context, const uint8_t id[TKJ_DIGEST_SIZE],
                       tkj_flight **flight, topk_jit_status *status)
{
    uint64_t waited_ns;
    bool own = tkj_flights_board(&context->flights, &context->config.allocator, id, flight, status,
                                 &waited_ns);
    context->counters.waits += !own;
    context->counters.wait_ns += waited_ns;
    return own;
}

topk_jit_status tkj_context_templates(topk_jit_context *context, const tkj_template_set **out)
{
    const tkj_config *config = &context->config;
    const tkj_template_search search = {
        .option_dir = config->template_dir,
        .environment_dir = config->env_template_dir,
        .own_directory = config->own_directory,
    };
    topk_jit_status status = TOPK_JIT_OK;
    pthread_mutex_lock(&context->lazy);
    if (!context->templates_loaded) {
        tkj_template_set set;
        status = tkj_templates_load(&config->allocator, &config->logger, &search, &set);
        if (status == TOPK_JIT_OK)
            context->templates = set;
        else
            tkj_templates_free(&config->allocator, &set);
        context->templates_loaded = status == TOPK_JIT_OK;
    }
    pthread_mutex_unlock(&context->lazy);
    *out = &context->templates;
    return status;
}

topk_jit_status tkj_context_nvrtc(topk_jit_context *context, const tkj_nvrtc **out)
{
    const tkj_config *config = &context->config;
    const tkj_nvrtc_search search = {
        .option_path = config->nvrtc_path,
        .option_name = config->nvrtc_name,
        .environment_path = config->env_nvrtc,
        .own_directory = config->own_directory,
        .hint_directory = config->nvrtc_hint,
        .cuda_home = config->env_cuda_home,
    };
    topk_jit_status status = TOPK_JIT_OK;
    pthread_mutex_lock(&context->lazy);
    if (context->nvrtc == NULL)
        status = tkj_nvrtc_load(&config->allocator, &config->logger, &search, &context->nvrtc);
    *out = context->nvrtc;
    pthread_mutex_unlock(&context->lazy);
    return status;
}

const char *tkj_context_toolchain(topk_jit_context *context)
{
    const tkj_nvrtc *nvrtc;
    if (context->config.values.toolchain != TOPK_JIT_TOOLCHAIN_EXACT)
        return NULL;
    return tkj_context_nvrtc(context, &nvrtc) == TOPK_JIT_OK ? tkj_nvrtc_identity(nvrtc) : "";
}

topk_jit_status topk_jit_get_statistics(const topk_jit_context *context, topk_jit_statistics *out)
{
    if (context == NULL)
        return tkj_fail(TOPK_JIT_INVALID_ARGUMENT, "context is NULL, expected a context");
    const tkj_counters *counters = &context->counters;
    const tkj_cache_counters *cache = tkj_cache_counts(context->cache);
    const topk_jit_statistics known = {
        .struct_size = sizeof known,
        .memory_hits = counters->memory_hits + cache->hits[TKJ_LAYER_MEMORY],
        .pack_hits = cache->hits[TKJ_LAYER_PACK],
        .read_only_hits = cache->hits[TKJ_LAYER_READ_ONLY],
        .user_hits = cache->hits[TKJ_LAYER_USER],
        .misses = counters->misses,
        .waits = counters->waits + cache->waits,
        .lock_timeouts = cache->lock_timeouts,
        .compiles = counters->compiles,
        .stores = cache->stores,
        .failed_stores = cache->failed_stores,
        .corrupt_entries = cache->corrupt,
        .evictions = cache->evictions,
        .bytes_read = cache->bytes_read,
        .bytes_written = cache->bytes_written,
        .bytes_evicted = cache->bytes_evicted,
        .lookup_ns = cache->lookup_ns,
        .wait_ns = counters->wait_ns + cache->wait_ns,
        .compile_ns = counters->compile_ns,
        .store_ns = cache->store_ns,
        .load_ns = counters->load_ns,
    };
    return tkj_abi_write("topk_jit_statistics", &known, sizeof known, out);
}

const char *topk_jit_version(void)
{
    return TOPK_JIT_VERSION_STRING;
}
