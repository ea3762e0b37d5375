/* SPDX-License-Identifier: Apache-2.0 */
/** @file config.h @brief Options and environment of a context, resolved once at its creation. */
#ifndef TKJ_CONFIG_H
#define TKJ_CONFIG_H

#include <topk_jit/topk_jit.h>

#include "log.h"
#include "os.h"

/** What a context was told in numbers; none is a default any more. */
typedef struct tkj_config_values {
    topk_jit_mode mode;
    topk_jit_toolchain toolchain;
    tkj_trust trust;
    uint64_t lock_timeout_ns; /* 0 = no locks */
    uint64_t cache_max_bytes; /* UINT64_MAX = no limit */
} tkj_config_values;

/** What a context was told. Strings are owned; NULL = not given. */
typedef struct tkj_config {
    topk_jit_allocator allocator;
    tkj_logger logger;
    char *cache_dir;        /* option */
    char *template_dir;     /* option */
    char *nvrtc_path;       /* option */
    const char *nvrtc_name; /* what messages call that option; static; NULL = by its own name */
    char *nvrtc_hint;       /* option */
    char *ro_dirs;          /* option, else TOPK_JIT_RO_DIRS */
    char *record_file;      /* option, else TOPK_JIT_RECORD */
    char *env_cache_dir;    /* TOPK_JIT_CACHE_DIR */
    char *env_template_dir; /* TOPK_JIT_TEMPLATE_DIR */
    char *env_nvrtc;        /* TOPK_JIT_NVRTC */
    char *env_xdg_cache_home;
    char *env_xdg_runtime_dir;
    char *env_home;
    char *env_cuda_home;
    char *own_directory; /* where libtopk_jit is */
    tkj_config_values values;
} tkj_config;

/**
 * Reads options (NULL = defaults) and the environment. The environment is ignored where real and
 * effective ids differ.
 * @param[out] out  released with tkj_config_release, also after a failure
 * @return TOPK_JIT_OK, TOPK_JIT_INVALID_ARGUMENT, TOPK_JIT_ABI_MISMATCH, TOPK_JIT_OUT_OF_MEMORY
 */
topk_jit_status tkj_config_resolve(const topk_jit_options *options, tkj_config *out);

void tkj_config_release(tkj_config *config);

/** An environment variable; NULL if it is not set, empty, or not to be believed: whoever starts a
 *  program with more rights than their own chooses its environment. */
const char *tkj_config_environment(const char *name);

/**
 * The values among options and environment.
 * @return TOPK_JIT_OK, TOPK_JIT_INVALID_ARGUMENT (the message names the field or the variable)
 */
topk_jit_status tkj_config_values_resolve(const topk_jit_options *options, tkj_config_values *out);

#endif /* TKJ_CONFIG_H */
