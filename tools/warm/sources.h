/* SPDX-License-Identifier: Apache-2.0 */
/** @file sources.h @brief What topk-jit-warm build builds, from all that says so. */
#ifndef TKJ_WARM_SOURCES_H
#define TKJ_WARM_SOURCES_H

#include <stdbool.h>

#include "build_options.h"
#include "pairs.h"

/** Whether options go together, before any file is read. What is wrong is said in one line on
 * stderr. */
bool warm_sources_allow(const warm_options *options);

/**
 * The union of all models, manifests, recordings and of the options' product, in the order of the
 * command line, each pair once. What is wrong is said in one line on stderr.
 * @param gpus  those of --arch
 * @param[out] out  released with warm_pairs_release, also after a failure
 * @return WARM_EXIT_DONE, WARM_EXIT_USAGE, WARM_EXIT_FAILED (out of memory)
 */
int warm_sources(const warm_options *options, warm_gpus gpus, warm_pairs *out);

#endif /* TKJ_WARM_SOURCES_H */
