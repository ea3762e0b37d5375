/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi.h"
#include "memory.h"
#include "os.h"
#include "status.h"

/* An empty string says as much as an absent one. */
static const char *text_or_null(const char *text)
{
    return text != NULL && text[0] != '\0' ? text : NULL;
}

/* secure_getenv knows how the program was started, the ids what it has become since. */
const char *tkj_config_environment(const char *name)
{
    if (getuid() != geteuid() || getgid() != getegid())
        return NULL;
    return text_or_null(secure_getenv(name));
}

static topk_jit_status refuse_relative(const char *what, const char *path, size_t length)
{
    char shown[PATH_MAX];
    snprintf(shown, sizeof shown, "%.*s", length < sizeof shown ? (int)length : PATH_MAX, path);
    return tkj_fail(TOPK_JIT_INVALID_ARGUMENT, "%s has \"%s\", expected absolute paths", what,
                    shown);
}

/* "/one:/two", of which each must be absolute: a relative one would mean another place after the
   next chdir. */
static topk_jit_status check_paths(const char *what, const char *paths)
{
    while (*paths != '\0') {
        size_t length = strcspn(paths, ":");
        if (length > 0 && !tkj_os_is_absolute(paths))
            return refuse_relative(what, paths, length);
        paths += length;
        paths += *paths == ':';
    }
    return TOPK_JIT_OK;
}

static topk_jit_status check_options(const topk_jit_options *options)
{
    if ((options->allocator.allocate == NULL) != (options->allocator.release == NULL))
        return tkj_fail(TOPK_JIT_INVALID_ARGUMENT,
                        "options.allocator.%s is NULL, expected both functions or neither",
                        options->allocator.allocate == NULL ? "allocate" : "release");
    const char *cache_dir = text_or_null(options->cache_dir);
    if (cache_dir != NULL && !tkj_os_is_absolute(cache_dir))
        return tkj_fail(TOPK_JIT_INVALID_ARGUMENT,
                        "options.cache_dir is \"%s\", expected an absolute path", cache_dir);
    const char *record_file = text_or_null(options->record_file);
    if (record_file != NULL && !tkj_os_is_absolute(record_file))
        return tkj_fail(TOPK_JIT_INVALID_ARGUMENT,
                        "options.record_file is \"%s\", expected an absolute path", record_file);
    return options->ro_dirs != NULL ? check_paths("options.ro_dirs", options->ro_dirs)
                                    : TOPK_JIT_OK;
}

static tkj_logger choose_logger(const topk_jit_options *options)
{
    const char *variable = tkj_config_environment("TOPK_JIT_LOG");
    tkj_logger logger = {options->log_callback, options->log_user, options->log_level};
    if (logger.callback == NULL && variable != NULL)
        logger.callback = tkj_log_to_stderr;
    if (logger.level == 0)
        logger.level = variable != NULL ? tkj_log_level_parse(variable) : TOPK_JIT_LOG_WARNING;
    return logger;
}

static topk_jit_status copy_strings(const topk_jit_options *options, tkj_config *out)
{
    const struct {
        char **to;
        const char *from;
    } strings[] = {
        {&out->cache_dir, text_or_null(options->cache_dir)},
        {&out->template_dir, text_or_null(options->template_dir)},
        {&out->nvrtc_path, text_or_null(options->nvrtc_path)},
        {&out->nvrtc_hint, text_or_null(options->nvrtc_hint)},
        {&out->ro_dirs, text_or_null(options->ro_dirs)},
        {&out->record_file, text_or_null(options->record_file)},
        {&out->env_cache_dir, tkj_config_environment("TOPK_JIT_CACHE_DIR")},
        {&out->env_template_dir, tkj_config_environment("TOPK_JIT_TEMPLATE_DIR")},
        {&out->env_nvrtc, tkj_config_environment("TOPK_JIT_NVRTC")},
        {&out->env_xdg_cache_home, tkj_config_environment("XDG_CACHE_HOME")},
        {&out->env_xdg_runtime_dir, tkj_config_environment("XDG_RUNTIME_DIR")},
        {&out->env_home, tkj_config_environment("HOME")},
        {&out->env_cuda_home, tkj_config_environment("CUDA_HOME")},
    };
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++) {
        if (strings[i].from == NULL)
            continue;
        *strings[i].to = tkj_strdup(&out->allocator, strings[i].from);
        if (*strings[i].to == NULL)
            return TOPK_JIT_OUT_OF_MEMORY;
    }
    return TOPK_JIT_OK;
}

/* What the option does not say, its variable may, which is checked as the option is. */
static topk_jit_status choose_paths(const tkj_config *config, const char *variable, char **path)
{
    const char *given = tkj_config_environment(variable);
    if (*path != NULL || given == NULL)
        return TOPK_JIT_OK;
    topk_jit_status status = check_paths(variable, given);
    if (status != TOPK_JIT_OK)
        return status;
    *path = tkj_strdup(&config->allocator, given);
    return *path != NULL ? TOPK_JIT_OK : TOPK_JIT_OUT_OF_MEMORY;
}

topk_jit_status tkj_config_resolve(const topk_jit_options *options, tkj_config *out)
{
    memset(out, 0, sizeof *out);
    out->allocator = tkj_default_allocator;
    topk_jit_options known = TOPK_JIT_OPTIONS_INIT;
    topk_jit_status status = TOPK_JIT_OK;
    if (options != NULL)
        status = tkj_abi_read("topk_jit_options", options, &known, sizeof known);
    if (status == TOPK_JIT_OK)
        status = check_options(&known);
    if (status == TOPK_JIT_OK)
        status = tkj_config_values_resolve(&known, &out->values);
    if (status != TOPK_JIT_OK)
        return status;
    if (known.allocator.allocate != NULL)
        out->allocator = known.allocator;
    out->logger = choose_logger(&known);
    status = copy_strings(&known, out);
    if (status == TOPK_JIT_OK)
        status = choose_paths(out, "TOPK_JIT_RO_DIRS", &out->ro_dirs);
    if (status == TOPK_JIT_OK)
        status = choose_paths(out, "TOPK_JIT_RECORD", &out->record_file);
    if (status == TOPK_JIT_OK)
        status = tkj_os_own_directory(&out->allocator, &out->own_directory);
    return status;
}

void tkj_config_release(tkj_config *config)
{
    char *strings[] = {
        config->cache_dir,
        config->template_dir,
        config->nvrtc_path,
        config->nvrtc_hint,
        config->ro_dirs,
        config->env_cache_dir,
        config->env_template_dir,
        config->env_nvrtc,
        config->env_home,
        config->env_xdg_cache_home,
        config->env_xdg_runtime_dir,
        config->env_cuda_home,
        config->own_directory,
        config->record_file,
    };
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
        tkj_free(&config->allocator, strings[i]);
    memset(config, 0, sizeof *config);
}
