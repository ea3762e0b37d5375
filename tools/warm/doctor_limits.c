/* SPDX-License-Identifier: Apache-2.0 */
/* What this process may use. */
#include <inttypes.h>
#include <sys/resource.h>

#include "control_group.h"
#include "doctor.h"
#include "text.h"

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
        warm_problem(doctor, "%" PRIu64 " %s: entries may not be stored", limit,
                     tkj_plural(limit, "byte", "bytes"));
        warm_advise(doctor, "raise it: ulimit -f");
    }
}

void warm_check_cgroup(warm_doctor *doctor)
{
    const warm_control_limits limits = warm_control_group_limits("");
    if (limits.left == UINT64_MAX) {
        warm_ok(doctor, "no control group of version 2 limits it; version 1 is not read");
    } else if (limits.left >= COMFORTABLE) {
        warm_ok(doctor, "%" PRIu64 " of the %" PRIu64 " MiB of the control group are left",
                limits.left / MIB, limits.memory / MIB);
    } else {
        warm_note(doctor, "%" PRIu64 " of the %" PRIu64 " MiB of the control group are left",
                  limits.left / MIB, limits.memory / MIB);
        warm_advise(doctor, "raise the limit, or build with -j 1, if the process is killed");
    }
}
