/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_plan.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bench_complain.h"

void bench_plan_release(bench_plan *plan)
{
    free(plan->cells);
    free(plan->rules);
    *plan = (bench_plan){0};
}

/** Room for one more in a list that doubles. */
static void *grow(void *list, size_t count, size_t size)
{
    const bool full = count == 0 || (count >= 16 && (count & (count - 1)) == 0);
    if (!full)
        return list;
    void *larger = realloc(list, (count < 16 ? 16 : 2 * count) * size);
    bench_require(larger != NULL, "no memory");
    return larger;
}

size_t bench_plan_add(bench_plan *plan, const bench_cell *cell)
{
    bench_cell added = *cell;
    added.what = bench_case_canonical(&cell->what);
    const char *fault = bench_case_fault(&added.what);
    if (fault != NULL) {
        plan->refused++;
        plan->reason = fault;
        return SIZE_MAX;
    }
    for (size_t i = 0; i < plan->cell_count; i++)
        if (bench_case_equal(&plan->cells[i].what, &added.what))
            return i;
    plan->cells = grow(plan->cells, plan->cell_count, sizeof *plan->cells);
    plan->cells[plan->cell_count] = added;
    return plan->cell_count++;
}

static size_t add_case(bench_plan *plan, const bench_case *what)
{
    const bench_cell cell = {.what = *what};
    return bench_plan_add(plan, &cell);
}

bench_rule *bench_plan_add_rule(bench_plan *plan, const char *name, const bench_case *subject)
{
    const size_t cell = add_case(plan, subject);
    if (cell == SIZE_MAX)
        return NULL;
    plan->rules = grow(plan->rules, plan->rule_count, sizeof *plan->rules);
    plan->rules[plan->rule_count] = (bench_rule){.name = name, .subject = cell};
    return &plan->rules[plan->rule_count++];
}

void bench_plan_add_term(bench_plan *plan, bench_rule *rule, bench_base base,
                         const bench_case *reference, double factor, double slack_us)
{
    const size_t cell = reference != NULL ? add_case(plan, reference) : 0;
    if (cell == SIZE_MAX)
        return;
    rule->terms[rule->term_count++] = (bench_term){base, cell, factor, slack_us};
}

/* ---- filter ---- */

static bool has_text(const char *name, const bench_case *what, const char *text)
{
    char formatted[BENCH_CASE_TEXT_SIZE];
    bench_case_format(what, formatted);
    return strstr(name, text) != NULL || strstr(formatted, text) != NULL;
}

static void filter_rules(bench_plan *plan, const char *text)
{
    size_t kept = 0;
    for (size_t i = 0; i < plan->rule_count; i++) {
        const bench_rule rule = plan->rules[i];
        if (has_text(rule.name, &plan->cells[rule.subject].what, text))
            plan->rules[kept++] = rule;
    }
    plan->rule_count = kept;
}

static bool needed_by_rules(const bench_plan *plan, size_t cell)
{
    for (size_t r = 0; r < plan->rule_count; r++) {
        const bench_rule *rule = &plan->rules[r];
        if (rule->subject == cell)
            return true;
        for (size_t t = 0; t < rule->term_count; t++)
            if (rule->terms[t].base == BENCH_BASE_CELL && rule->terms[t].cell == cell)
                return true;
    }
    return false;
}

/** Rules follow their cells to new places. */
static void renumber(bench_plan *plan, size_t from, size_t to)
{
    for (size_t r = 0; r < plan->rule_count; r++) {
        bench_rule *rule = &plan->rules[r];
        rule->subject = rule->subject == from ? to : rule->subject;
        for (size_t t = 0; t < rule->term_count; t++)
            if (rule->terms[t].cell == from)
                rule->terms[t].cell = to;
    }
}

void bench_plan_filter(bench_plan *plan, const char *text)
{
    const bool rules = plan->rule_count > 0;
    size_t kept = 0;
    filter_rules(plan, text);
    for (size_t i = 0; i < plan->cell_count; i++) {
        const bool wanted =
            rules ? needed_by_rules(plan, i) : has_text("", &plan->cells[i].what, text);
        if (!wanted)
            continue;
        plan->cells[kept] = plan->cells[i];
        renumber(plan, i, kept++);
    }
    plan->cell_count = kept;
}

/* ---- verdicts ---- */

void bench_result_add(bench_result *result, tkj_spread round)
{
    double medians[BENCH_RUNS_MAX];
    tkj_spread all = round;
    result->medians[result->rounds++] = round.median;
    for (int i = 0; i < result->rounds; i++)
        medians[i] = result->medians[i];
    if (result->rounds > 1) {
        all.least = round.least < result->us.least ? round.least : result->us.least;
        all.most = round.most > result->us.most ? round.most : result->us.most;
    }
    all.median = tkj_spread_of(medians, (size_t)result->rounds).median;
    result->us = all;
    result->outcome = BENCH_MEASURED;
}

bool bench_cell_met(const bench_cell *cell)
{
    return cell->result.us.median <= BENCH_TOLERANCE * cell->must;
}

static double base_us(const bench_plan *plan, const bench_rule *rule, const bench_term *term)
{
    const bench_result *subject = &plan->cells[rule->subject].result;
    switch (term->base) {
    case BENCH_BASE_GATHER:
        return subject->gather_us;
    case BENCH_BASE_WRITE:
        return subject->write_us;
    case BENCH_BASE_FIGURE:
        return term->slack_us;
    case BENCH_BASE_CELL:
    default:
        return plan->cells[term->cell].result.us.median;
    }
}

bench_verdict bench_rule_judge(const bench_plan *plan, const bench_rule *rule)
{
    const double us = plan->cells[rule->subject].result.us.median;
    bench_verdict verdict = {.known = us > 0.0 && rule->term_count > 0};
    for (size_t t = 0; t < rule->term_count; t++) {
        const bench_term *term = &rule->terms[t];
        const double base = base_us(plan, rule, term);
        const double limit = term->factor * base + term->slack_us;
        verdict.known = verdict.known && base > 0.0;
        if (limit > verdict.limit_us) {
            verdict.limit_us = limit;
            verdict.base_us = base;
        }
    }
    verdict.kept = us <= BENCH_TOLERANCE * verdict.limit_us;
    return verdict;
}
