/* SPDX-License-Identifier: Apache-2.0 */
#include "out_human.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

void warm_human_bytes(uint64_t bytes, char out[WARM_HUMAN_SIZE])
{
    static const char units[] = "KMGTPE";
    if (bytes < 1024) {
        snprintf(out, WARM_HUMAN_SIZE, "%" PRIu64 " B", bytes);
        return;
    }
    double amount = (double)bytes / 1024;
    size_t unit = 0;
    for (; amount >= 1023.95; unit++) /* what would be printed as 1024.0 */
        amount /= 1024;
    snprintf(out, WARM_HUMAN_SIZE, "%.1f %ciB", amount, units[unit]);
}

void warm_human_age(time_t then, time_t now, char out[WARM_HUMAN_SIZE])
{
    static const struct {
        time_t seconds;
        char letter;
    } units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
    time_t age;
    if (__builtin_sub_overflow(now, then, &age) || age < 0) {
        snprintf(out, WARM_HUMAN_SIZE, "future");
        return;
    }
    size_t unit = 0;
    while (unit < 3 && age < units[unit].seconds)
        unit++;
    snprintf(out, WARM_HUMAN_SIZE, "%jd%c", (intmax_t)(age / units[unit].seconds),
             units[unit].letter);
}
