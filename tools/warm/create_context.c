/* SPDX-License-Identifier: Apache-2.0 */
#include "create_context.h"

#include <stdlib.h>

#include "command.h"
#include "complain.h"
#include "context.h"

/** A warning says what the failure of a kernel says again; only the compiler's log is more. */
static topk_jit_log_level log_level(unsigned verbose)
{
    if (verbose > 0)
        return verbose == 1 ? TOPK_JIT_LOG_INFO : TOPK_JIT_LOG_DEBUG;
    return getenv("TOPK_JIT_LOG") == NULL ? TOPK_JIT_LOG_ERROR : 0; /* 0: as it says */
}

topk_jit_context *warm_context_create(const warm_common *common, const topk_jit_options *wanted)
{
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
