/* SPDX-License-Identifier: Apache-2.0 */
#include "spread.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

tkj_spread tkj_spread_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return (tkj_spread){
        .median = (values[(count - 1) / 2] + values[count / 2]) / 2.0,
        .least = values[0],
        .most = values[count - 1],
    };
}
