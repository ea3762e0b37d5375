/* SPDX-License-Identifier: Apache-2.0 */
#include "create_context.h"

#include <stdlib.h>

#include "command.h"
#include "complain.h"
#include "config.h"
#include "context.h"

/** A warning says what the failure of a kernel says again; only the compiler's log is more. */
static topk_jit_log_level log_level(unsigned verbose)
{
    if (verbose > 0)
        return verbose == 1 ? TOPK_JIT_LOG_INFO : TOPK_JIT_LOG_DEBUG;
    return getenv("TOPK_JIT_LOG") == NULL ? TOPK_JIT_LOG_ERROR : 0; /* 0: as it says */
}

/** The library ignores a relative one, which would be another place after each chdir: what is done
 *  to the directory of the home instead is not what was meant. @return false after one line on
 *  stderr */
static bool accepts_variable(const warm_common *common)
{
    const char *value = tkj_config_environment("TOPK_JIT_CACHE_DIR");
    if (common->cache_dir[0] != '\0' || value == NULL || tkj_os_is_absolute(value))
        return true;
    warm_complain("TOPK_JIT_CACHE_DIR is \"%s\", expected an absolute path: servers ignore it",
                  value);
    return false;
}

topk_jit_context *warm_context_create(const warm_common *common, const topk_jit_options *wanted)
{
    if (!accepts_variable(common))
        return NULL;
    topk_jit_options options = *wanted;
    options.log_level = log_level(common->verbose);
    options.cache_dir = common->cache_dir[0] != '\0' ? common->cache_dir : NULL;
    topk_jit_context *context = NULL;
    if (topk_jit_context_create(&context, &options) != TOPK_JIT_OK)
        warm_complain("%s", topk_jit_last_error()->message);
    else
        context->config.nvrtc_name = "--nvrtc";
    return context;
}

int warm_no_cache_directory(void)
{
    warm_complain("there is no cache directory: none is named, and there is no home (see "
                  "--cache-dir)");
    return WARM_EXIT_NOT_THERE;
}
