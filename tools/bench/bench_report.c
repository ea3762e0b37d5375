/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_report.h"

#include <inttypes.h>
#include <stdio.h>

void bench_report_begin(const bench_gpu *gpu)
{
    printf("%s, %d SMs, driver for CUDA %d.%d; microseconds a call\n", gpu->name,
           gpu->facts.sm_count, gpu->driver_version / 1000, gpu->driver_version % 1000 / 10);
    printf("%5s %7s %-4s %9s %8s %6s %7s %7s %-4s %7s  %s\n", "B", "L", "mode", "us", "floor",
           "ratio", "must", "aim", "met", "spread", "apart from float32, k = 2048, plain, normal");
    fflush(stdout);
}

static void print_figure(double figure)
{
    if (figure > 0.0)
        printf(" %7.1f", figure);
    else
        printf(" %7s", "-");
}

static void print_measured(const bench_cell *cell)
{
    const bench_result *result = &cell->result;
    const tkj_spread *us = &result->us;
    const char *met = "-";
    if (cell->must > 0.0)
        met = bench_cell_met(cell) ? "yes" : "NO";
    printf(" %9.2f %8.2f %6.2f", us->median, result->floor_us, us->median / result->floor_us);
    print_figure(cell->must);
    print_figure(cell->aim);
    printf(" %-4s %6.1f%%  ", met, (us->most - us->least) / us->median * 100.0);
}

void bench_report_cell(const bench_cell *cell)
{
    static const char *const outcomes[] = {"left out", "", "FAILED", "WRONG"};
    const bench_case *what = &cell->what;
    char text[BENCH_CASE_TEXT_SIZE];
    bench_case_format_options(what, text);
    printf("%5" PRId64 " %7" PRId64 " %-4s", what->rows, what->length,
           what->mode == BENCH_COLD ? "cold" : "hot");
    if (cell->result.outcome == BENCH_MEASURED)
        print_measured(cell);
    else
        printf(" %9s  ", outcomes[cell->result.outcome]);
    printf("%s%s%s\n", text, cell->result.message[0] != '\0' ? ": " : "", cell->result.message);
    fflush(stdout);
}

/* ---- verdicts ---- */

static void print_rule(const bench_plan *plan, const bench_rule *rule)
{
    const bench_cell *subject = &plan->cells[rule->subject];
    const bench_verdict verdict = bench_rule_judge(plan, rule);
    const double us = subject->result.us.median;
    char text[BENCH_CASE_TEXT_SIZE];
    bench_case_format(&subject->what, text);
    if (verdict.known)
        printf("%-8s %9.2f %9.2f %7.2f %7.2f  %-4s  %s\n", rule->name, us, verdict.base_us,
               us / verdict.base_us, verdict.limit_us / verdict.base_us,
               verdict.kept ? "kept" : "NOT", text);
    else
        printf("%-8s %9s %9s %7s %7s  %-4s  %s\n", rule->name, "-", "-", "-", "-", "-", text);
}

static void print_rules(const bench_plan *plan)
{
    size_t known = 0, kept = 0;
    printf("\n%-8s %9s %9s %7s %7s  %-4s  %s\n", "rule", "us", "reference", "ratio", "allowed",
           "kept", "case");
    for (size_t i = 0; i < plan->rule_count; i++) {
        const bench_verdict verdict = bench_rule_judge(plan, &plan->rules[i]);
        print_rule(plan, &plan->rules[i]);
        known += verdict.known;
        kept += verdict.known && verdict.kept;
    }
    printf("%zu of %zu rules kept, %zu not measured\n", kept, known, plan->rule_count - known);
}

void bench_report_end(const bench_plan *plan, double empty_us)
{
    size_t counts[4] = {0}, verified = 0, bound = 0, met = 0;
    for (size_t i = 0; i < plan->cell_count; i++) {
        const bench_cell *cell = &plan->cells[i];
        counts[cell->result.outcome]++;
        verified += cell->result.verified;
        if (cell->result.outcome != BENCH_MEASURED || cell->must <= 0.0)
            continue;
        bound++;
        met += bench_cell_met(cell);
    }
    if (plan->rule_count > 0)
        print_rules(plan);
    printf("an empty kernel %.2f us; %zu of %zu cells with a must meet it; %zu measured, %zu "
           "verified, %zu wrong, %zu failed, %zu left out\n",
           empty_us, met, bound, counts[BENCH_MEASURED], verified, counts[BENCH_WRONG],
           counts[BENCH_FAILED], counts[BENCH_LEFT_OUT]);
}

bool bench_report_has_failures(const bench_plan *plan)
{
    for (size_t i = 0; i < plan->cell_count; i++)
        if (plan->cells[i].result.outcome == BENCH_WRONG ||
            plan->cells[i].result.outcome == BENCH_FAILED)
            return true;
    return false;
}
