/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_axes.h @brief Flags of topk-jit-bench whose value is a list, and their product. */
#ifndef TKJ_BENCH_AXES_H
#define TKJ_BENCH_AXES_H

#include "bench_plan.h"

/** One field of a case each. Those up to MODE make a cell of the table. */
typedef enum bench_axis {
    BENCH_AXIS_ROWS,
    BENCH_AXIS_WIDTH,
    BENCH_AXIS_LENGTH,
    BENCH_AXIS_MODE,
    BENCH_AXIS_OPERATION,
    BENCH_AXIS_LAYOUT,
    BENCH_AXIS_DTYPE,
    BENCH_AXIS_TOPK,
    BENCH_AXIS_DISTRIBUTION,
    BENCH_AXIS_SORTED,
    BENCH_AXIS_DETERMINISTIC,
    BENCH_AXIS_TIE_BREAK,
    BENCH_AXIS_RAW_INDICES,
    BENCH_AXIS_VALUES,
    BENCH_AXIS_PAGE_SIZE,
    BENCH_AXIS_SHARING,
    BENCH_AXIS_ROW_STARTS,
    BENCH_AXIS_MAX_SMS,
    BENCH_AXIS_HELD_SM,
    BENCH_AXIS_COUNT,
} bench_axis;

/** The list of each axis, borrowed from the command line; NULL = it was not given. */
typedef struct bench_lists {
    const char *words[BENCH_AXIS_COUNT];
} bench_lists;

/** Name of an axis' flag: "page-size". */
const char *bench_axis_name(bench_axis axis);

/**
 * Adds a cell for every combination of the lists that makes a legal case. What is not given is as
 * in `base`.
 * @return false, after a line on stderr that names the word, if one is unknown
 */
bool bench_axes_expand(const bench_lists *lists, const bench_cell *base, bench_plan *plan);

#endif /* TKJ_BENCH_AXES_H */
