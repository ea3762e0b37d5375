/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file topk_jit_bench.c
 * @brief topk-jit-bench: times the kernels against what the chip can do. `--help` is its manual.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_cache.h"
#include "bench_complain.h"
#include "bench_explain.h"
#include "bench_host.h"
#include "bench_measure.h"
#include "bench_options.h"
#include "bench_report.h"
#include "device_facts.h"

/** One GPU of the list, or all that are known. */
static bool explain_named(const bench_plan *plan, const char *name)
{
    bool found = false;
    for (size_t i = 0; i < tkj_known_device_count; i++) {
        const tkj_named_facts *known = &tkj_known_devices[i];
        if (strcmp(name, "all") != 0 && tkj_known_device(name) != known)
            continue;
        bench_explain_print(plan, known->name, &known->facts);
        found = true;
    }
    if (!found)
        bench_complain("--device-facts: unknown GPU '%s'; --help lists them", name);
    return found;
}

static int explain_list(const bench_plan *plan, const char *names)
{
    char *copy = strdup(names);
    bench_require(copy != NULL, "no memory");
    char *rest = copy;
    bool ok = true;
    for (char *name = strsep(&rest, ","); ok && name != NULL; name = strsep(&rest, ","))
        ok = explain_named(plan, name);
    free(copy);
    return ok ? BENCH_EXIT_DONE : BENCH_EXIT_USAGE;
}

static int explain(const bench_options *options, const bench_plan *plan)
{
    tkj_device_facts facts;
    if (options->device_facts != NULL)
        return explain_list(plan, options->device_facts);
    if (!bench_gpu_facts(&facts)) {
        bench_complain("%s; name a GPU with --device-facts", topk_jit_last_error()->message);
        return BENCH_EXIT_NO_GPU;
    }
    bench_explain_print(plan, "the GPU present", &facts);
    return BENCH_EXIT_DONE;
}

static int measure(const bench_options *options, bench_plan *plan)
{
    bench_gpu gpu;
    if (!bench_gpu_open(&gpu)) {
        bench_complain("nothing to measure on: %s", topk_jit_last_error()->message);
        return BENCH_EXIT_NO_GPU;
    }
    bench_report_begin(&gpu);
    const double empty_us = bench_measure(&gpu, options, plan, bench_report_cell);
    bench_report_end(plan, empty_us);
    const bool written =
        options->json == NULL || bench_json_write(options->json, &gpu, plan, empty_us);
    bench_gpu_close(&gpu);
    return written && !bench_report_has_failures(plan) ? BENCH_EXIT_DONE : BENCH_EXIT_WRONG;
}

int main(int argc, char **argv)
{
    bench_options options;
    bench_plan plan = {0};
    int code = BENCH_EXIT_USAGE;
    if (!bench_options_parse(argc, argv, &options))
        return BENCH_EXIT_USAGE;
    if (options.help || options.version) {
        if (options.help)
            bench_help();
        else
            printf("topk-jit-bench %s\n", topk_jit_version());
        return BENCH_EXIT_DONE;
    }
    if (options.cache)
        return bench_cache(options.json);
    if (options.host)
        return bench_host(options.json);
    if (bench_options_plan(&options, &plan))
        code = options.explain ? explain(&options, &plan) : measure(&options, &plan);
    bench_plan_release(&plan);
    return code;
}
