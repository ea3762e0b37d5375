/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <time.h>

#include "bench_complain.h"
#include "bench_explain.h"
#include "bench_report.h"
#include "spec.h"

/** A figure, or null if it was not measured. */
static json_t *figure(double value)
{
    return value > 0.0 ? json_real(value) : json_null();
}

static json_t *describe_case(const bench_case *what)
{
    char text[BENCH_CASE_TEXT_SIZE];
    bench_case_format(what, text);
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:b, s:I, s:s, s:s, s:b, s:b, s:s, s:b, s:b, s:I, "
        "s:I, s:b, s:i, s:b}",
        "case", text, "operation", tkj_operation_name(what->operation), "layout",
        tkj_layout_name(what->layout), "dtype", tkj_dtype_name(what->dtype), "rows",
        (json_int_t)what->rows, "width", (json_int_t)what->width, "length",
        (json_int_t)what->length, "mixed", what->mixed, "topk", (json_int_t)what->topk,
        "distribution", tkj_scores_name(what->distribution), "mode",
        what->mode == BENCH_COLD ? "cold" : "hot", "sorted", what->sorted, "deterministic",
        what->deterministic, "tie_break", tkj_tie_break_name(what->tie_break), "raw_indices",
        what->raw_indices, "values", what->values, "page_size", (json_int_t)what->page_size,
        "sharing", (json_int_t)what->sharing, "row_starts", what->row_starts, "max_sms",
        what->max_sms, "held_sm", what->held_sm);
}

static json_t *describe_medians(const bench_result *result)
{
    json_t *list = json_array();
    for (int i = 0; i < result->rounds; i++)
        json_array_append_new(list, json_real(result->medians[i]));
    return list;
}

static json_t *describe_result(const bench_cell *cell)
{
    static const char *const outcomes[] = {"left_out", "measured", "failed", "wrong"};
    const bench_result *result = &cell->result;
    const bool measured = result->outcome == BENCH_MEASURED;
    const double ratio = measured ? result->us.median / result->floor_us : 0.0;
    return json_pack("{s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                     "outcome", outcomes[result->outcome], "message", result->message, "verified",
                     result->verified, "us", figure(result->us.median), "least_us",
                     figure(result->us.least), "most_us", figure(result->us.most), "medians",
                     describe_medians(result), "floor_us", figure(result->floor_us), "gather_us",
                     figure(result->gather_us), "write_us", figure(result->write_us), "ratio",
                     figure(ratio), "must", figure(cell->must), "aim", figure(cell->aim), "met",
                     measured && cell->must > 0.0 ? json_boolean(bench_cell_met(cell))
                                                  : json_null());
}

static json_t *describe_launch(const bench_case *what, const tkj_device_facts *facts)
{
    bench_launch launch;
    if (!bench_explain(what, facts, &launch))
        return json_object();
    return json_pack("{s:s, s:I, s:I, s:I}", "variant", launch.variant.name, "first_grid",
                     (json_int_t)launch.first_grid, "grid", (json_int_t)launch.grid, "threads",
                     (json_int_t)launch.variant.threads);
}

static json_t *describe_cells(const bench_plan *plan, const tkj_device_facts *facts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < plan->cell_count; i++) {
        json_t *cell = describe_case(&plan->cells[i].what);
        json_object_update_new(cell, describe_result(&plan->cells[i]));
        json_object_update_new(cell, describe_launch(&plan->cells[i].what, facts));
        json_array_append_new(list, cell);
    }
    return list;
}

static json_t *describe_rules(const bench_plan *plan)
{
    json_t *list = json_array();
    for (size_t i = 0; i < plan->rule_count; i++) {
        const bench_rule *rule = &plan->rules[i];
        const bench_cell *subject = &plan->cells[rule->subject];
        const bench_verdict verdict = bench_rule_judge(plan, rule);
        char text[BENCH_CASE_TEXT_SIZE];
        bench_case_format(&subject->what, text);
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "name", rule->name, "case", text,
                            "us", figure(subject->result.us.median), "reference_us",
                            figure(verdict.base_us), "limit_us", figure(verdict.limit_us), "kept",
                            verdict.known ? json_boolean(verdict.kept) : json_null()));
    }
    return list;
}

bool bench_json_write(const char *path, const bench_gpu *gpu, const bench_plan *plan,
                      double empty_us)
{
    char date[32] = "";
    const time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc) != NULL)
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    json_t *object =
        json_pack("{s:s, s:s, s:i, s:i, s:s, s:o, s:o, s:o}", "version", topk_jit_version(), "gpu",
                  gpu->name, "sm_count", gpu->facts.sm_count, "cuda", gpu->driver_version, "date",
                  date, "empty_us", figure(empty_us), "cells", describe_cells(plan, &gpu->facts),
                  "rules", describe_rules(plan));
    const bool ok = object != NULL && json_dump_file(object, path, JSON_INDENT(1)) == 0;
    if (!ok)
        bench_complain("cannot write %s", path);
    json_decref(object);
    return ok;
}
