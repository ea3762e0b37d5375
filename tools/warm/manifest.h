/* SPDX-License-Identifier: Apache-2.0 */
/** @file manifest.h @brief --manifest: a JSON file that lists specs and targets. */
#ifndef TKJ_WARM_MANIFEST_H
#define TKJ_WARM_MANIFEST_H

#include "pairs.h"

/**
 * Adds what a manifest lists. manifest.schema.json has its form; besides, no key is there twice. A
 * kernel is built for its own targets, else for those of the manifest, else for the GPUs of the
 * command line. What is wrong is said in one line on stderr.
 * @return WARM_EXIT_DONE, WARM_EXIT_USAGE, WARM_EXIT_FAILED (out of memory)
 */
int warm_manifest(const char *path, warm_gpus gpus, warm_pairs *out);

#endif /* TKJ_WARM_MANIFEST_H */
