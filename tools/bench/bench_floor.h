/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_floor.h @brief What no kernel can beat: times of kernels that only read, only write
 *        or do nothing, each in the shape that is fastest here. */
#ifndef TKJ_BENCH_FLOOR_H
#define TKJ_BENCH_FLOOR_H

#include "bench_input.h"

#define BENCH_FLOORS_MAX 512

/** Floors that were measured already: each shape of scores once a run of the program. */
typedef struct bench_floors {
    int calls;
    int replays;
    size_t count;
    struct {
        bench_case key;
        double us;
    } known[BENCH_FLOORS_MAX];
} bench_floors;

/** Calls of a graph that goes through all copies equally often. */
int bench_graph_calls(int at_least, int copies);

/** Reading every score of every window once, in 16-byte loads.
 *  @param gather  and k entries of the page table for every row */
double bench_floor_read_us(bench_floors *floors, const bench_input *input, bool gather);

/** Writing -1 to every slot of the output. */
double bench_floor_write_us(bench_floors *floors, const bench_input *input);

/** A kernel that does nothing. */
double bench_floor_empty_us(const bench_floors *floors, const bench_gpu *gpu);

#endif /* TKJ_BENCH_FLOOR_H */
