/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_sets.h"

#include <string.h>

#define FULL(b, l, mode, must, aim, near_floor)                                                    \
    {                                                                                              \
        (b), (l), (l), (must), (aim), BENCH_##mode, (near_floor)                                   \
    }
#define WIDE(b, w, l, must)                                                                        \
    {                                                                                              \
        (b), (w), (l), (must), 0.0, BENCH_HOT, false                                               \
    }

/* Microseconds on an H200. */
const bench_figure bench_figures[] = {
    FULL(1, 8192, HOT, 3.5, 2.9, false),
    FULL(1, 32768, HOT, 4.6, 3.7, false),
    FULL(1, 65536, HOT, 5.4, 4.2, false),
    FULL(1, 131072, HOT, 6.2, 4.6, false),
    FULL(1, 262144, HOT, 7.5, 5.5, false),
    FULL(8, 8192, HOT, 3.9, 3.2, false),
    FULL(8, 32768, HOT, 5.1, 4.0, false),
    FULL(8, 131072, HOT, 7.2, 5.3, false),
    FULL(32, 32768, HOT, 7.0, 5.5, false),
    FULL(32, 131072, HOT, 14.0, 10.0, false),
    FULL(64, 8192, HOT, 4.1, 3.3, false),
    FULL(64, 32768, HOT, 7.8, 6.5, false),
    FULL(64, 131072, HOT, 16.6, 12.0, false),
    FULL(64, 131072, COLD, 18.0, 14.0, false),
    FULL(128, 65536, HOT, 14.5, 10.0, false),
    FULL(128, 65536, COLD, 15.0, 12.5, false),
    FULL(256, 32768, HOT, 13.0, 10.0, false),
    FULL(256, 32768, COLD, 16.7, 13.0, false),
    FULL(256, 131072, COLD, 42.0, 36.0, true),
    FULL(1024, 8192, HOT, 16.6, 12.0, false),
    FULL(1024, 8192, COLD, 19.0, 14.0, false),
    FULL(1024, 32768, COLD, 50.0, 40.0, false),
    FULL(1024, 131072, COLD, 147.0, 130.0, true),
    FULL(4096, 16384, COLD, 111.0, 85.0, false),
    FULL(4096, 65536, COLD, 312.0, 270.0, true),
    WIDE(1, 131072, 4096, 4.2),
    WIDE(8, 131072, 8192, 4.6),
    WIDE(64, 131072, 8192, 4.8),
};
const size_t bench_figure_count = sizeof bench_figures / sizeof bench_figures[0];
const size_t bench_full_figure_count = sizeof bench_figures / sizeof bench_figures[0] - 3;

bench_case bench_figure_case(const bench_figure *figure)
{
    bench_case what = BENCH_CASE_INIT;
    what.rows = figure->rows;
    what.width = figure->width;
    what.length = figure->length;
    what.mode = figure->mode;
    return what;
}

void bench_add_figures(bench_plan *plan)
{
    for (size_t i = 0; i < bench_figure_count; i++) {
        const bench_figure *figure = &bench_figures[i];
        const bench_cell cell = {
            .what = bench_figure_case(figure), .must = figure->must, .aim = figure->aim};
        bench_plan_add(plan, &cell);
    }
}

/** What servers do beside the table: a few shapes of each size class. */
static void add_standard(bench_plan *plan)
{
    static const int64_t shapes[][2] = {{1, 32768}, {8, 131072}, {64, 8192}, {256, 32768}};
    bench_add_figures(plan);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        bench_cell cell = {.what = BENCH_CASE_INIT};
        cell.what.rows = shapes[i][0];
        cell.what.width = shapes[i][1];
        cell.what.row_starts = true;
        bench_plan_add(plan, &cell);
        cell.what.row_starts = false;
        cell.what.distribution = TKJ_SCORES_FORCED;
        bench_plan_add(plan, &cell);
        cell.what.distribution = TKJ_SCORES_NORMAL;
        cell.what.width = 163840;
        cell.what.length = 4096;
        bench_plan_add(plan, &cell);
        cell.what.length = 1024;
        bench_plan_add(plan, &cell);
    }
}

const bench_set bench_sets[] = {
    {"must", bench_add_figures},
    {"standard", add_standard},
    {"rules", bench_add_rules},
};
const size_t bench_set_count = sizeof bench_sets / sizeof bench_sets[0];

const bench_set *bench_set_find(const char *name)
{
    for (size_t i = 0; i < bench_set_count; i++)
        if (strcmp(name, bench_sets[i].name) == 0)
            return &bench_sets[i];
    return NULL;
}
