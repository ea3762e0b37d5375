/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_cache.h"
#include "bench_complain.h"
#include "context.h"
#include "plan.h"

#define PROCESSES 16
#define ARCHITECTURE 90

/** What a process says at its end. */
typedef struct cold_report {
    uint64_t compiles;
    uint64_t waits;
    bool ok;
} cold_report;

/** Every kernel of the usual spec. */
static bool warm_all(topk_jit_context *context)
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    tkj_variant variants[TKJ_VARIANTS_MAX];
    spec.topk = 2048;
    const size_t count = tkj_variants_enumerate(&spec, ARCHITECTURE, variants);
    bool ok = true;
    for (size_t v = 0; ok && v < count; v++) {
        const tkj_target target = {ARCHITECTURE, false};
        tkj_warm_result result;
        ok = tkj_plan_warm(context, &spec, &variants[v], target, &result) == TOPK_JIT_OK;
    }
    return ok;
}

/** A process that begins when `start` is closed. Never returns. */
static void run_cold(const char *root, int start, int reports)
{
    char end;
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    topk_jit_context *context = NULL;
    cold_report report = {0};
    options.cache_dir = root;
    options.mode = TOPK_JIT_MODE_AUTO;
    if (read(start, &end, 1) == 0 && topk_jit_context_create(&context, &options) == TOPK_JIT_OK) {
        topk_jit_statistics statistics = TOPK_JIT_STATISTICS_INIT;
        report.ok = warm_all(context);
        topk_jit_get_statistics(context, &statistics);
        report.compiles = statistics.compiles;
        report.waits = statistics.waits;
    }
    _exit(write(reports, &report, sizeof report) == (ssize_t)sizeof report ? 0 : 1);
}

/** Starts so many at once. @return seconds until the last one has ended, or -1 */
static double run_all(const char *root, size_t processes, cold_report *sum)
{
    int start[2] = {-1, -1}, reports[2] = {-1, -1};
    cold_report one;
    *sum = (cold_report){.ok = true};
    fflush(stdout);
    bench_require(pipe(start) == 0 && pipe(reports) == 0, "no pipe");
    for (size_t i = 0; i < processes; i++) {
        const pid_t child = fork();
        bench_require(child >= 0, "no process");
        if (child == 0) {
            close(start[1]);
            run_cold(root, start[0], reports[1]);
        }
    }
    const uint64_t began = tkj_os_now_ns();
    close(start[1]);
    for (size_t i = 0; i < processes; i++)
        wait(NULL);
    const double seconds = (double)(tkj_os_now_ns() - began) * 1e-9;
    for (size_t i = 0; i < processes; i++) {
        const bool read_all = read(reports[0], &one, sizeof one) == (ssize_t)sizeof one;
        sum->ok = sum->ok && read_all && one.ok;
        sum->compiles += read_all ? one.compiles : 0;
        sum->waits += read_all ? one.waits : 0;
    }
    close(start[0]), close(reports[0]), close(reports[1]);
    return sum->ok ? seconds : -1;
}

bool bench_cache_cold(const char *directory, bench_costs *costs)
{
    char root[4096];
    cold_report alone = {0}, together = {0};
    snprintf(root, sizeof root, "%s/alone", directory);
    const double one = run_all(root, 1, &alone);
    snprintf(root, sizeof root, "%s/together", directory);
    const double all = one > 0 ? run_all(root, PROCESSES, &together) : -1;
    if (all < 0)
        return false;
    bench_costs_add_number(costs, "cold.one", "a cold process that compiles a spec, alone", "s",
                           one);
    bench_costs_add_number(costs, "cold.one.compiles", "  compilations", "count",
                           (double)alone.compiles);
    bench_costs_add_number(costs, "cold.sixteen", "16 of them at once, until the last is done", "s",
                           all);
    bench_costs_add_number(costs, "cold.sixteen.compiles", "  compilations of all together",
                           "count", (double)together.compiles);
    bench_costs_add_number(costs, "cold.sixteen.waits", "  waits for another process", "count",
                           (double)together.waits);
    bench_costs_add_number(costs, "cold.ratio", "  16 beside one", "ratio", all / one);
    return true;
}
