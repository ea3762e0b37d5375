/* SPDX-License-Identifier: Apache-2.0 */
/** @file create_context.h @brief The library, as the common options of a command want it. */
#ifndef TKJ_WARM_CREATE_CONTEXT_H
#define TKJ_WARM_CREATE_CONTEXT_H

#include <topk_jit/topk_jit.h>

#include "command.h"

/**
 * Creates a context with --cache-dir and --verbose applied.
 * @param wanted  the command's own wishes; cache_dir and log_level are replaced
 * @return NULL after one line on stderr
 */
topk_jit_context *warm_context_create(const warm_common *common, const topk_jit_options *wanted);

/** Says in one line on stderr that there is no cache directory, where a command needs one: none is
 * named, and there is no home. @return WARM_EXIT_NOT_THERE */
int warm_no_cache_directory(void);

#endif /* TKJ_WARM_CREATE_CONTEXT_H */
