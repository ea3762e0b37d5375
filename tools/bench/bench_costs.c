/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_costs.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <topk_jit/topk_jit.h>

#include "bench_complain.h"

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void append(bench_costs *costs, const bench_cost *cost)
{
    bench_require(costs->count < BENCH_COSTS_MAX, "too many figures");
    costs->at[costs->count++] = *cost;
}

void bench_costs_add(bench_costs *costs, const char *name, const char *text, const char *unit,
                     double *nanoseconds, size_t count, double scale)
{
    qsort(nanoseconds, count, sizeof *nanoseconds, compare);
    append(costs, &(bench_cost){name, text, unit, nanoseconds[count / 2] * scale,
                                nanoseconds[0] * scale, nanoseconds[count - 1] * scale});
}

void bench_costs_add_number(bench_costs *costs, const char *name, const char *text,
                            const char *unit, double number)
{
    append(costs, &(bench_cost){name, text, unit, number, number, number});
}

void bench_costs_print(const bench_costs *costs)
{
    printf("%10s %10s %10s  %-5s\n", "median", "least", "most", "unit");
    for (size_t i = 0; i < costs->count; i++) {
        const bench_cost *cost = &costs->at[i];
        printf("%10.2f %10.2f %10.2f  %-5s  %s\n", cost->median, cost->least, cost->most,
               cost->unit, cost->text);
    }
}

bool bench_costs_write_json(const char *path, const bench_costs *costs)
{
    json_t *list = json_array();
    for (size_t i = 0; i < costs->count; i++) {
        const bench_cost *cost = &costs->at[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s, s:f, s:f, s:f}", "name", cost->name,
                                        "text", cost->text, "unit", cost->unit, "median",
                                        cost->median, "least", cost->least, "most", cost->most));
    }
    json_t *object = json_pack("{s:s, s:o}", "version", topk_jit_version(), "costs", list);
    const bool ok = object != NULL && json_dump_file(object, path, JSON_INDENT(1)) == 0;
    if (!ok)
        bench_complain("cannot write %s", path);
    json_decref(object);
    return ok;
}
