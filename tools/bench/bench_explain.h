/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_explain.h @brief Which kernel a case launches. */
#ifndef TKJ_BENCH_EXPLAIN_H
#define TKJ_BENCH_EXPLAIN_H

#include "bench_plan.h"
#include "device.h"
#include "variant_choice.h"

/** What a call launches. */
typedef struct bench_launch {
    tkj_variant variant;
    size_t variant_count; /* of the spec on this GPU */
    uint32_t cluster;
    uint32_t first_grid; /* of the first of two launches; 0 = there is one */
    uint32_t grid;
} bench_launch;

/** The launch of a case on a GPU of these facts, with the workspace that it asks for. @return false
 * if nothing runs there */
bool bench_explain(const bench_case *what, const tkj_device_facts *facts, bench_launch *out);

/** Prints a table of every cell's launch. @param name  the GPU's */
void bench_explain_print(const bench_plan *plan, const char *name, const tkj_device_facts *facts);

#endif /* TKJ_BENCH_EXPLAIN_H */
