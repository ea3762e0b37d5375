/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_cache.h"
#include "bench_complain.h"
#include "context.h"
#include "plan.h"

#define PROCESSES 16
#define ARCHITECTURE 90

/** What a process says at its end: less than a pipe takes in one piece. */
typedef struct cold_report {
    uint64_t compiles;
    uint64_t waits;
    topk_jit_error error; /* status OK = it has all */
} cold_report;

_Static_assert(sizeof(cold_report) <= PIPE_BUF, "reports must not mix");

#define LEFT_OUT "cold processes are left out: "

/** Every kernel of the usual spec. */
static topk_jit_status warm_all(topk_jit_context *context)
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    tkj_variant variants[TKJ_VARIANTS_MAX];
    spec.topk = 2048;
    const size_t count = tkj_variants_enumerate(&spec, ARCHITECTURE, variants);
    topk_jit_status status = TOPK_JIT_OK;
    for (size_t v = 0; status == TOPK_JIT_OK && v < count; v++) {
        const tkj_target target = {ARCHITECTURE, false};
        tkj_warm_result result;
        status = tkj_plan_warm(context, &spec, &variants[v], target, 0, &result);
    }
    return status;
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
    if (read(start, &end, 1) != 0)
        _exit(1);
    topk_jit_status status = topk_jit_context_create(&context, &options);
    if (status == TOPK_JIT_OK) {
        topk_jit_statistics statistics = TOPK_JIT_STATISTICS_INIT;
        status = warm_all(context);
        topk_jit_get_statistics(context, &statistics);
        report.compiles = statistics.compiles;
        report.waits = statistics.waits;
    }
    if (status != TOPK_JIT_OK)
        report.error = *topk_jit_last_error();
    _exit(write(reports, &report, sizeof report) == (ssize_t)sizeof report ? 0 : 1);
}

/** Reads until none is left that could write: a process that died says nothing. */
static void add_reports(int from, cold_report *sum)
{
    cold_report one;
    while (read(from, &one, sizeof one) == (ssize_t)sizeof one) {
        sum->compiles += one.compiles;
        sum->waits += one.waits;
        if (sum->error.status == TOPK_JIT_OK)
            sum->error = one.error;
    }
}

/** Waits for a process. @return its status, as of waitpid */
static int await_end(pid_t child)
{
    int status = -1;
    bench_require(waitpid(child, &status, 0) == child, "a process is lost");
    return status;
}

/** Says what went wrong, if anything did. @param end  status of the first process that failed */
static bool all_is_well(const cold_report *sum, int end)
{
    if (sum->error.status != TOPK_JIT_OK)
        bench_complain(LEFT_OUT "%s", sum->error.message);
    else if (WIFSIGNALED(end))
        bench_complain(LEFT_OUT "one died of signal %d (%s)", WTERMSIG(end),
                       strsignal(WTERMSIG(end)));
    else if (end != 0)
        bench_complain(LEFT_OUT "one ended with exit status %d", WEXITSTATUS(end));
    return sum->error.status == TOPK_JIT_OK && end == 0;
}

/** Starts so many at once. @return seconds until the last one has ended; -1, and says why, if one
 *  failed */
static double run_all(const char *root, size_t processes, cold_report *sum)
{
    int start[2] = {-1, -1}, reports[2] = {-1, -1}, failed = 0;
    pid_t children[PROCESSES];
    *sum = (cold_report){.compiles = 0};
    fflush(stdout);
    bench_require(pipe(start) == 0 && pipe(reports) == 0, "no pipe");
    for (size_t i = 0; i < processes; i++) {
        children[i] = fork();
        bench_require(children[i] >= 0, "no process");
        if (children[i] == 0) {
            close(start[1]);
            run_cold(root, start[0], reports[1]);
        }
    }
    close(reports[1]); /* else the reading below would wait for this very process */
    const uint64_t began = tkj_os_now_ns();
    close(start[1]);
    add_reports(reports[0], sum);
    for (size_t i = 0; i < processes; i++) {
        const int end = await_end(children[i]);
        failed = failed != 0 ? failed : end;
    }
    const double seconds = (double)(tkj_os_now_ns() - began) * 1e-9;
    close(start[0]), close(reports[0]);
    return all_is_well(sum, failed) ? seconds : -1;
}

void bench_cache_cold(const char *directory, bench_costs *costs)
{
    char root[4096];
    cold_report alone, together = {0};
    snprintf(root, sizeof root, "%s/alone", directory);
    const double one = run_all(root, 1, &alone);
    snprintf(root, sizeof root, "%s/together", directory);
    const double all = one > 0 ? run_all(root, PROCESSES, &together) : -1;
    if (all < 0)
        return;
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
}
