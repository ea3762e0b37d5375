/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_report.h @brief What was measured, as tables for people and JSON for programs. */
#ifndef TKJ_BENCH_REPORT_H
#define TKJ_BENCH_REPORT_H

#include "bench_gpu.h"
#include "bench_plan.h"

/** Prints the names of the columns, and the GPU. */
void bench_report_begin(const bench_gpu *gpu);

/** Prints a cell's line. */
void bench_report_cell(const bench_cell *cell);

/** Prints the rules' verdicts and what it comes to. */
void bench_report_end(const bench_plan *plan, double empty_us);

/** True if a result was wrong or could not be had. */
bool bench_report_has_failures(const bench_plan *plan);

/**
 * Writes one JSON object: {"version", "gpu", "cuda", "date", "empty_us", "cells": [{"case", "rows",
 * "length", ..., "outcome", "us", "least_us", "most_us", "medians", "floor_us", "ratio", "must",
 * "aim", "met", "variant", "grid"}], "rules": [{"name", "case", "us", "limit_us", "kept"}]}; what
 * was not measured is null.
 * @return false if the file cannot be written
 */
bool bench_json_write(const char *path, const bench_gpu *gpu, const bench_plan *plan,
                      double empty_us);

#endif /* TKJ_BENCH_REPORT_H */
