/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_measure.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench_complain.h"
#include "bench_floor.h"
#include "bench_verify.h"
#include "gpu.h"
#include "os.h"

/* --quick begins nothing after so many seconds: what runs then ends well within a minute. */
#define QUICK_SECONDS 50.0

/* What is measured now, for a GPU that fails in the middle of it: gpu.h ends the program. */
static const bench_case *under_way;

static void tell_what_was_under_way(void)
{
    char text[BENCH_CASE_TEXT_SIZE];
    if (under_way == NULL)
        return;
    bench_case_format(under_way, text);
    bench_complain("it ended while measuring %s", text);
}

static void enqueue(void *argument, CUstream stream)
{
    bench_require(bench_input_enqueue(argument, false, stream) == TOPK_JIT_OK,
                  "a call that worked cannot be captured");
}

/** Everything that allocates comes before the SM is held or after it is free again. */
static tkj_spread time_calls(bench_input *input, const bench_options *options)
{
    const bench_gpu *gpu = input->gpu;
    const int calls = bench_graph_calls(options->calls, input->copies);
    tkj_gpu_graph *graph = tkj_gpu_capture(gpu->stream, calls, enqueue, input);
    tkj_gpu_graph_launch(graph, gpu->stream);
    tkj_gpu_synchronize(gpu->stream);
    if (input->call.what.held_sm)
        bench_gpu_hold(gpu);
    const tkj_spread spread = tkj_gpu_replay_us(graph, gpu->stream, options->replays, calls);
    if (input->call.what.held_sm)
        bench_gpu_release(gpu);
    tkj_gpu_graph_destroy(graph);
    return spread;
}

/** What the cell is compared with, beside other cells. */
static void measure_floors(bench_floors *floors, const bench_input *input, bench_result *result)
{
    const bench_case *what = &input->call.what;
    result->floor_us = bench_floor_read_us(floors, input, false);
    if (what->page_size == 1 && what->sharing == 1)
        result->gather_us = bench_floor_read_us(floors, input, true);
    if (bench_case_longest(what) <= what->topk)
        result->write_us = bench_floor_write_us(floors, input);
}

static void measure_cell(const bench_gpu *gpu, const bench_options *options, bench_floors *floors,
                         bench_cell *cell)
{
    bench_input input;
    bench_result *result = &cell->result;
    const bool first = result->rounds == 0;
    bench_input_create(&input, gpu, &cell->what);
    if (bench_verify_input(&input, first ? options->verify : BENCH_VERIFY_NONE, result)) {
        if (first)
            measure_floors(floors, &input, result);
        bench_result_add(result, time_calls(&input, options));
    }
    bench_input_destroy(&input);
}

static bool is_to_be_measured(const bench_options *options, const bench_cell *cell, int round,
                              uint64_t began)
{
    const double seconds = (double)(tkj_os_now_ns() - began) * 1e-9;
    if (options->quick && seconds > QUICK_SECONDS)
        return false;
    return round == 0 || cell->result.outcome == BENCH_MEASURED;
}

double bench_measure(const bench_gpu *gpu, const bench_options *options, bench_plan *plan,
                     void (*done)(const bench_cell *cell))
{
    const uint64_t began = tkj_os_now_ns();
    bench_floors *floors = bench_allocate(sizeof *floors);
    *floors = (bench_floors){.calls = options->calls, .replays = options->replays};
    const double empty_us = bench_floor_empty_us(floors, gpu);
    if (atexit(tell_what_was_under_way) != 0)
        bench_complain("a case that ends the program will not be named");
    for (int round = 0; round < options->runs; round++)
        for (size_t i = 0; i < plan->cell_count; i++) {
            bench_cell *cell = &plan->cells[i];
            under_way = &cell->what;
            if (is_to_be_measured(options, cell, round, began))
                measure_cell(gpu, options, floors, cell);
            if (round == options->runs - 1)
                done(cell);
        }
    under_way = NULL;
    free(floors);
    return empty_us;
}
