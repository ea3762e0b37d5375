/* SPDX-License-Identifier: Apache-2.0 */
#include "bar.h"

#include <stdio.h>
#include <string.h>

#define CELLS 20
#define COLUMNS_FOR_A_BAR 60
#define DURATION_SIZE 32

/** "0:07", "1:02:03". */
static void format_duration(uint64_t nanoseconds, char out[DURATION_SIZE])
{
    const unsigned long long seconds = nanoseconds / 1000000000u;
    const unsigned minutes = (unsigned)(seconds / 60 % 60);
    if (seconds >= 3600)
        snprintf(out, DURATION_SIZE, "%llu:%02u:%02u", seconds / 3600, minutes,
                 (unsigned)(seconds % 60));
    else
        snprintf(out, DURATION_SIZE, "%u:%02u", minutes, (unsigned)(seconds % 60));
}

static void format_cells(const warm_bar *bar, char out[CELLS + 4])
{
    const size_t full = bar->total > 0 ? bar->done * CELLS / bar->total : CELLS;
    memset(out, ' ', CELLS + 3);
    memset(out + 1, '=', full);
    if (full < CELLS)
        out[1 + full] = '>';
    out[0] = '[';
    out[CELLS + 1] = ']';
    out[CELLS + 3] = '\0';
}

/** " 0:31 left", or "" as long as nothing is known. */
static void format_left(const warm_bar *bar, char out[DURATION_SIZE + 8])
{
    char duration[DURATION_SIZE];
    const size_t compiled = bar->done - bar->found;
    out[0] = '\0';
    if (compiled == 0 || bar->done == bar->total)
        return;
    const double left =
        (double)bar->elapsed_ns * (double)(bar->total - bar->done) / (double)compiled;
    format_duration((uint64_t)left, duration);
    snprintf(out, DURATION_SIZE + 8, " %s left", duration);
}

void warm_bar_format(const warm_bar *bar, size_t columns, char out[WARM_BAR_SIZE])
{
    char cells[CELLS + 4] = "";
    char elapsed[DURATION_SIZE];
    char left[DURATION_SIZE + 8];
    if (columns >= COLUMNS_FOR_A_BAR)
        format_cells(bar, cells);
    format_duration(bar->elapsed_ns, elapsed);
    format_left(bar, left);
    snprintf(out, WARM_BAR_SIZE, "%s%zu/%zu %s%s%s%s", cells, bar->done, bar->total, elapsed, left,
             bar->current[0] != '\0' ? " " : "", bar->current);
    if (columns < WARM_BAR_SIZE)
        out[columns] = '\0';
}
