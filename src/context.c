/* SPDX-License-Identifier: Apache-2.0 */
#include "context.h"

#include <string.h>

#include "abi.h"
#include "memory.h"
#include "status.h"

static topk_jit_status open_cache(topk_jit_context *context)
{
    const tkj_config *config = &context->config;
    const tkj_cache_places places = {
        .option = config->cache_dir,
        .environment = config->env_cache_dir,
        .xdg_cache_home = config->env_xdg_cache_home,
        .home = config->env_home,
    };
    char *root = NULL;
    topk_jit_status status = tkj_cache_root_choose(&config->allocator, &places, &root);
    if (status == TOPK_JIT_OK)
        status = tkj_cache_create(&config->allocator, &config->logger, root, &context->cache);
    tkj_free(&config->allocator, root);
    return status;
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
    pthread_mutex_init(&context->builder, NULL);
    pthread_mutex_init(&context->lazy, NULL);
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
    tkj_config config = context->config; /* its allocator frees the context itself */
    tkj_kernel_map_release(&config.allocator, &context->kernels);
    tkj_templates_free(&config.allocator, &context->templates);
    tkj_nvrtc_free(context->nvrtc);
    tkj_cache_destroy(context->cache);
    pthread_mutex_destroy(&context->builder);
    pthread_mutex_destroy(&context->lazy);
    tkj_free(&config.allocator, context);
    tkj_config_release(&config);
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

topk_jit_status topk_jit_get_statistics(const topk_jit_context *context, topk_jit_statistics *out)
{
    if (context == NULL)
        return tkj_fail(TOPK_JIT_INVALID_ARGUMENT, "context is NULL, expected a context");
    const tkj_counters *counters = &context->counters;
    const topk_jit_statistics known = {
        .struct_size = sizeof known,
        .memory_hits = counters->memory_hits,
        .disk_hits = counters->disk_hits,
        .misses = counters->misses,
        .compiles = counters->compiles,
        .stores = counters->stores,
        .failed_stores = counters->failed_stores,
        .corrupt_entries = counters->corrupt_entries,
        .bytes_read = counters->bytes_read,
        .bytes_written = counters->bytes_written,
        .lookup_ns = counters->lookup_ns,
        .compile_ns = counters->compile_ns,
        .load_ns = counters->load_ns,
    };
    return tkj_abi_write("topk_jit_statistics", &known, sizeof known, out);
}

const char *topk_jit_version(void)
{
    return TOPK_JIT_VERSION_STRING;
}
