/* SPDX-License-Identifier: Apache-2.0 */
#include "control_group.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number_file.h"

/** "0::/a/b" is the line of version 2. @return whether it is one, with the path: "" at the root */
static bool take_line(const char *line, char path[PATH_MAX])
{
    if (strncmp(line, "0::/", 4) != 0)
        return false;
    const int length = (int)strcspn(line + 3, "\n");
    return snprintf(path, PATH_MAX, "%.*s", length > 1 ? length : 0, line + 3) < PATH_MAX;
}

/** Where the process is in the tree. @return false if it is in none */
static bool find_group(const char *root, char path[PATH_MAX])
{
    char name[PATH_MAX];
    char *line = NULL;
    size_t size = 0;
    bool found = false;
    const bool fits = snprintf(name, sizeof name, "%s/proc/self/cgroup", root) < (int)sizeof name;
    FILE *file = fits ? fopen(name, "re") : NULL;
    while (file != NULL && !found && getline(&line, &size, file) > 0)
        found = take_line(line, path);
    free(line);
    if (file != NULL)
        (void)fclose(file);
    return found;
}

static void limit_cores(const char *group, warm_control_limits *limits)
{
    uint64_t quota_and_period[2];
    if (!warm_numbers_in_file(group, "cpu.max", "", quota_and_period, 2) ||
        quota_and_period[1] == 0)
        return;
    const uint64_t cores = quota_and_period[0] / quota_and_period[1];
    if (cores < limits->cores)
        limits->cores = cores;
}

/** What is used counts without the part that the system gives back when it is asked: files that
 *  were read once, of which a container that unpacks an image is full. */
static void limit_memory(const char *group, warm_control_limits *limits)
{
    uint64_t most;
    uint64_t used;
    uint64_t spare = 0;
    if (!warm_numbers_in_file(group, "memory.max", "", &most, 1) ||
        !warm_numbers_in_file(group, "memory.current", "", &used, 1))
        return;
    (void)warm_numbers_in_file(group, "memory.stat", "inactive_file ", &spare, 1);
    used = used > spare ? used - spare : 0;
    const uint64_t left = most > used ? most - used : 0;
    if (left < limits->left) {
        limits->memory = most;
        limits->left = left;
    }
}

warm_control_limits warm_control_group_limits(const char *root)
{
    warm_control_limits limits = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
    char path[PATH_MAX];
    char group[2 * PATH_MAX];
    if (!find_group(root, path))
        return limits;
    for (;;) {
        snprintf(group, sizeof group, "%s/sys/fs/cgroup%s", root, path);
        limit_cores(group, &limits);
        limit_memory(group, &limits);
        char *last = strrchr(path, '/');
        if (last == NULL)
            return limits;
        *last = '\0';
    }
}
