/* SPDX-License-Identifier: Apache-2.0 */
#include "capacity.h"

#include <ctype.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/** The text of a small file. @return false if there is none */
static bool read_text(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    const size_t length = fread(text, 1, size - 1, file);
    text[length] = '\0';
    (void)fclose(file);
    return length > 0;
}

/** Reads a number of decimal digits after blanks. @return its end, NULL if there is none */
static const char *take_number(const char *text, uint64_t *out)
{
    char *end;
    text += strspn(text, " ");
    if (!isdigit((unsigned char)*text))
        return NULL;
    *out = strtoull(text, &end, 10);
    return end;
}

/** The number in a file of a directory, after a word at the start of a line if one is given.
 *  @return false if there is no such number, as "max" is none */
static bool read_number(const char *directory, const char *name, const char *word, uint64_t *out)
{
    char path[PATH_MAX];
    char text[8192];
    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path ||
        !read_text(path, text, sizeof text))
        return false;
    const char *at = text;
    while (at != NULL && strncmp(at, word, strlen(word)) != 0) {
        at = strchr(at, '\n');
        at = at != NULL ? at + 1 : NULL;
    }
    return at != NULL && take_number(at + strlen(word), out) != NULL;
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
    if (read_number(directory, "meminfo", "MemAvailable:", &kilobytes))
        lower(&most->bytes, kilobytes << 10);
}

static void limit_by_cores(const char *group, capacity *most)
{
    char path[PATH_MAX];
    char text[64];
    uint64_t quota;
    uint64_t period;
    if (snprintf(path, sizeof path, "%s/cpu.max", group) >= (int)sizeof path ||
        !read_text(path, text, sizeof text))
        return;
    const char *end = take_number(text, &quota); /* "max" = there is no limit */
    if (end != NULL && take_number(end, &period) != NULL && period > 0)
        lower(&most->cores, quota / period);
}

/** What is used counts without the part that the system gives back when it is asked: files that
 *  were read once, of which a container that unpacks an image is full. */
static void limit_by_memory(const char *group, capacity *most)
{
    uint64_t limit;
    uint64_t used;
    uint64_t spare = 0;
    if (!read_number(group, "memory.max", "", &limit) ||
        !read_number(group, "memory.current", "", &used))
        return;
    read_number(group, "memory.stat", "inactive_file ", &spare);
    used = used > spare ? used - spare : 0;
    lower(&most->bytes, limit > used ? limit - used : 0);
}

/** Where the process is in the tree of cgroups v2: "" at its root. @return false if it has none */
static bool find_group(const char *root, char path[PATH_MAX])
{
    char name[PATH_MAX];
    char text[8192];
    if (snprintf(name, sizeof name, "%s/proc/self/cgroup", root) >= (int)sizeof name ||
        !read_text(name, text, sizeof text))
        return false;
    const char *at = strncmp(text, "0::/", 4) == 0 ? text : strstr(text, "\n0::/");
    if (at == NULL)
        return false;
    at = strchr(at, '/');
    snprintf(path, PATH_MAX, "%.*s", (int)strcspn(at, "\n"), at);
    return true;
}

/** From its own group up to the root, which has no limits of its own except inside a container. */
static void limit_by_groups(const char *root, capacity *most)
{
    char path[PATH_MAX];
    char group[2 * PATH_MAX];
    if (!find_group(root, path))
        return;
    for (;;) {
        snprintf(group, sizeof group, "%s/sys/fs/cgroup%s", root, path);
        limit_by_cores(group, most);
        limit_by_memory(group, most);
        char *last = strrchr(path, '/');
        if (last == NULL)
            break;
        *last = '\0';
    }
}

size_t warm_capacity(const char *root)
{
    capacity most = {usable_cores(), UINT64_MAX};
    limit_by_machine(root, &most);
    limit_by_groups(root, &most);
    lower(&most.cores, most.bytes / BUILDER_BYTES);
    return most.cores > 0 ? (size_t)most.cores : 1;
}
