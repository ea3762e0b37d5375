/* SPDX-License-Identifier: Apache-2.0 */
/* What this process may use. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "doctor.h"

#define MIB (UINT64_C(1) << 20)

/* NVRTC and its builtins are mapped whole, and a compilation takes about 100 MB. */
#define COMFORTABLE (512 * MIB)

/* Far more than a kernel has, which is about 64 KiB. */
#define ENTRY_COMFORTABLE MIB

/** @return UINT64_MAX if there is none */
static uint64_t limit_of(__rlimit_resource_t resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX
                                                                               : limit.rlim_cur;
}

void warm_check_address_space(warm_doctor *doctor)
{
    const uint64_t limit = limit_of(RLIMIT_AS);
    if (limit == UINT64_MAX) {
        warm_ok(doctor, "unlimited");
    } else if (limit >= COMFORTABLE) {
        warm_ok(doctor, "%" PRIu64 " MiB", limit / MIB);
    } else {
        warm_problem(doctor, "%" PRIu64 " MiB: NVRTC may not fit, or fail amid a compilation",
                     limit / MIB);
        warm_advise(doctor, "raise it: ulimit -v");
    }
}

void warm_check_stack(warm_doctor *doctor)
{
    const uint64_t limit = limit_of(RLIMIT_STACK);
    if (limit == UINT64_MAX)
        warm_ok(doctor, "unlimited; a compilation has one of its own");
    else
        warm_ok(doctor, "%" PRIu64 " KiB; a compilation has one of its own", limit / 1024);
}

void warm_check_file_size(warm_doctor *doctor)
{
    const uint64_t limit = limit_of(RLIMIT_FSIZE);
    if (limit == UINT64_MAX) {
        warm_ok(doctor, "unlimited");
    } else if (limit >= ENTRY_COMFORTABLE) {
        warm_ok(doctor, "%" PRIu64 " MiB", limit / MIB);
    } else {
        warm_problem(doctor, "%" PRIu64 " bytes: entries may not be stored", limit);
        warm_advise(doctor, "raise it: ulimit -f");
    }
}

/* ---- the control group, version 2 ---- */

/** The number in a file of a control group. @return false if there is none, such as for "max" */
static bool read_number(const char *group, const char *name, uint64_t *out)
{
    char path[PATH_MAX];
    char text[64];
    const int length = snprintf(path, sizeof path, "/sys/fs/cgroup%s/%s", group, name);
    FILE *file = length > 0 && length < (int)sizeof path ? fopen(path, "re") : NULL;
    const bool has_text = file != NULL && fgets(text, sizeof text, file) != NULL;
    if (file != NULL)
        (void)fclose(file);
    char *end = text;
    if (has_text)
        *out = strtoull(text, &end, 10);
    return has_text && end != text;
}

/** The group of this process below the mount; in a container often "/". */
static bool find_group(char out[PATH_MAX])
{
    bool found = false;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file != NULL && !found && fgets(out, PATH_MAX, file) != NULL)
        found = strncmp(out, "0::", 3) == 0;
    if (file != NULL)
        (void)fclose(file);
    if (found) {
        memmove(out, out + 3, strlen(out + 3) + 1);
        out[strcspn(out, "\n")] = '\0';
    }
    return found;
}

/** What the group and those above it leave. @return false if none of them has a limit */
static bool memory_left(char group[PATH_MAX], uint64_t *limit, uint64_t *left)
{
    bool has_limit = false;
    for (;;) {
        uint64_t most, used;
        if (read_number(group, "memory.max", &most) &&
            read_number(group, "memory.current", &used)) {
            const uint64_t free_bytes = used < most ? most - used : 0;
            if (!has_limit || free_bytes < *left) {
                *limit = most;
                *left = free_bytes;
            }
            has_limit = true;
        }
        char *slash = strrchr(group, '/');
        if (slash == NULL)
            return has_limit;
        *slash = '\0';
    }
}

void warm_check_cgroup(warm_doctor *doctor)
{
    char group[PATH_MAX];
    uint64_t limit = 0, left = 0;
    if (!find_group(group) || !memory_left(group, &limit, &left)) {
        warm_ok(doctor, "no control group of version 2 limits it");
    } else if (left >= COMFORTABLE) {
        warm_ok(doctor, "%" PRIu64 " of the %" PRIu64 " MiB of the control group are left",
                left / MIB, limit / MIB);
    } else {
        /* what files are cached counts as used, and gives way */
        warm_note(doctor, "%" PRIu64 " of the %" PRIu64 " MiB of the control group are left",
                  left / MIB, limit / MIB);
        warm_advise(doctor, "raise the limit, or build with -j 1, if the process is killed");
    }
}
