/* SPDX-License-Identifier: Apache-2.0 */
#include "capacity.h"

#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "control_group.h"
#include "number_file.h"

/* Measured with NVRTC 13.0: a run has 155 MB at its peak with one builder, of which NVRTC itself is
   the most, and 25 to 55 MB more with each further one. A later NVRTC may want more. */
#define BUILDER_BYTES (UINT64_C(100) << 20)

/** What is there, as far as it is known; it only becomes less. */
typedef struct capacity {
    uint64_t cores;
    uint64_t bytes;
} capacity;

static void lower(uint64_t *most, uint64_t to)
{
    if (*most > to)
        *most = to;
}

static uint64_t usable_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (uint64_t)CPU_COUNT(&set);
    const long cores = sysconf(_SC_NPROCESSORS_ONLN); /* there are more than a cpu_set_t holds */
    return cores > 0 ? (uint64_t)cores : 1;
}

static void limit_by_machine(const char *root, capacity *most)
{
    uint64_t kilobytes;
    char directory[PATH_MAX];
    snprintf(directory, sizeof directory, "%s/proc", root);
    if (warm_numbers_in_file(directory, "meminfo", "MemAvailable:", &kilobytes, 1))
        lower(&most->bytes, kilobytes << 10);
}

static void limit_by_groups(const char *root, capacity *most)
{
    const warm_control_limits limits = warm_control_group_limits(root);
    lower(&most->cores, limits.cores);
    lower(&most->bytes, limits.left);
}

size_t warm_capacity(const char *root)
{
    capacity most = {usable_cores(), UINT64_MAX};
    limit_by_machine(root, &most);
    limit_by_groups(root, &most);
    lower(&most.cores, most.bytes / BUILDER_BYTES);
    return most.cores > 0 ? (size_t)most.cores : 1;
}
