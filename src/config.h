/* SPDX-License-Identifier: Apache-2.0 */
/** @file config.h @brief Options and environment of a context, resolved once at its creation. */
#ifndef TKJ_CONFIG_H
#define TKJ_CONFIG_H

#include <topk_jit/topk_jit.h>

#include "log.h"

/** What a context was told. Strings are owned; NULL = not given. */
typedef struct tkj_config {
    topk_jit_allocator allocator;
    tkj_logger logger;
    char *cache_dir;        /* option */
    char *template_dir;     /* option */
    char *nvrtc_path;       /* option */
    char *nvrtc_hint;       /* option */
    char *env_cache_dir;    /* TOPK_JIT_CACHE_DIR */
    char *env_template_dir; /* TOPK_JIT_TEMPLATE_DIR */
    char *env_nvrtc;        /* TOPK_JIT_NVRTC */
    char *env_xdg_cache_home;
    char *env_home;
    char *env_cuda_home;
    char *own_directory; /* where libtopk_jit is */
} tkj_config;

/**
 * Reads options (NULL = defaults) and the environment. The environment is ignored where real and
 * effective ids differ.
 * @param[out] out  released with tkj_config_release, also after a failure
 * @return TOPK_JIT_OK, TOPK_JIT_INVALID_ARGUMENT, TOPK_JIT_ABI_MISMATCH, TOPK_JIT_OUT_OF_MEMORY
 */
topk_jit_status tkj_config_resolve(const topk_jit_options *options, tkj_config *out);

void tkj_config_release(tkj_config *config);

#endif /* TKJ_CONFIG_H */
