/* SPDX-License-Identifier: Apache-2.0 */
/** @file build_json.h @brief The result of topk-jit-warm for programs. */
#ifndef TKJ_WARM_BUILD_JSON_H
#define TKJ_WARM_BUILD_JSON_H

#include <stdbool.h>

#include "product.h"
#include "report.h"

/**
 * Writes one JSON object to stdout:
 *     {"version": "0.1.0",
 *      "summary": {"kernels", "compiled", "already_there", "failed", "seconds", "bytes"},
 *      "kernels": [{"spec", "target", "variant", "status", "bytes", "seconds", "error"}]}
 * status is "compiled", "already_there" or "failed"; error is null unless it failed.
 * @return false if there was no memory for it
 */
bool warm_json_print(const warm_kernels *kernels, const warm_summary *summary);

#endif /* TKJ_WARM_BUILD_JSON_H */
