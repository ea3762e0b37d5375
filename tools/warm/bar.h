/* SPDX-License-Identifier: Apache-2.0 */
/** @file bar.h @brief The line that a terminal shows of a run. */
#ifndef TKJ_WARM_BAR_H
#define TKJ_WARM_BAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** How far a run is. */
typedef struct warm_bar {
    size_t total;
    size_t done;
    size_t found;        /* of those done, already there: they cost no time */
    uint64_t elapsed_ns; /* since the run began */
    const char *current; /* what is worked at, or what is to be said instead; "" = nothing */
} warm_bar;

#define WARM_BAR_SIZE 256

/**
 * Writes "[====>     ] 12/48 0:12 0:31 left CURRENT" in ASCII, cut off at so many columns; where
 * they are few the bar is left out, so that the numbers are the last to go. What is left is said
 * once a kernel was compiled, as long as the others take if they take as long.
 */
void warm_bar_format(const warm_bar *bar, size_t columns, char out[WARM_BAR_SIZE]);

#endif /* TKJ_WARM_BAR_H */
