/* SPDX-License-Identifier: Apache-2.0 */
/** @file small_launch.h @brief One launch of a small kernel on fresh memory (wrong.h). */
#ifndef TKJ_SIMT_SMALL_LAUNCH_H
#define TKJ_SIMT_SMALL_LAUNCH_H

#include "guarded.h"
#include "wrong.h"

/** Inputs and outputs of a launch; in(r, c) = 1000 * r + c. */
typedef struct small_memory {
    tkj_guarded in;
    tkj_guarded out;
    uint32_t counter;
} small_memory;

/** Runs on memory that it makes. @return as tkj_simt_run */
bool small_launch_run(small_memory *memory, const tkj_simt_kernel *kernel, uint32_t wrong,
                      uint32_t grid, uint32_t cluster, uint64_t seed, char *message);

/** Word of the output. */
uint32_t small_launch_out(const small_memory *memory, int row, int column);

void small_launch_release(small_memory *memory);

#endif /* TKJ_SIMT_SMALL_LAUNCH_H */
