/* SPDX-License-Identifier: Apache-2.0 */
/** @file build_json.h @brief The result of topk-jit-warm build for programs. */
#ifndef TKJ_WARM_BUILD_JSON_H
#define TKJ_WARM_BUILD_JSON_H

#include <jansson.h>

#include "kernels.h"
#include "report.h"

/**
 * The result as one object:
 *     {"version": "0.1.0",
 *      "summary": {"kernels", "compiled", "already_there", "would_compile", "failed",
 *                  "not_tried", "evicted", "seconds", "bytes"},
 *      "kernels": [{"spec", "target", "variant", "status", "bytes", "seconds", "error"}]}
 * status is "compiled", "already_there", "would_compile" (--dry-run), "failed", "not_tried" (the
 * run ended before it) or "evicted" (it was there, and the cache was full); error is null unless it
 * failed.
 * @return NULL if there was no memory for it
 */
json_t *warm_build_json(const warm_kernels *kernels, const warm_summary *summary);

#endif /* TKJ_WARM_BUILD_JSON_H */
