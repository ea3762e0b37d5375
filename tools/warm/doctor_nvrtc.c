/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "doctor.h"
#include "target.h"

const tkj_nvrtc *warm_doctor_nvrtc(warm_doctor *doctor)
{
    const tkj_nvrtc *nvrtc = NULL;
    return tkj_context_nvrtc(doctor->context, &nvrtc) == TOPK_JIT_OK ? nvrtc : NULL;
}

void warm_check_nvrtc(warm_doctor *doctor)
{
    const tkj_nvrtc *nvrtc = warm_doctor_nvrtc(doctor);
    if (nvrtc != NULL) {
        const tkj_nvrtc_origin *origin = tkj_nvrtc_where(nvrtc);
        warm_ok(doctor, "%s, found by %s: %s", tkj_nvrtc_identity(nvrtc), origin->rule,
                origin->file[0] != '\0' ? origin->file : "the loader does not say where");
        return;
    }
    const char *message = topk_jit_last_error()->message;
    if (doctor->context->config.values.mode == TOPK_JIT_MODE_OFFLINE) {
        warm_note(doctor, "%s; in the mode offline none is needed", message);
        return;
    }
    warm_problem(doctor, "%s", message);
    warm_advise(doctor, "install NVRTC 12.0 or newer, or correct TOPK_JIT_NVRTC; a server that "
                        "finds all its kernels in packs needs none with TOPK_JIT_MODE=offline");
}

/** The first libnvrtc-builtins beside a file, whatever its version. @return false if there is none
 */
static bool find_other(const char *file, char out[NAME_MAX + 1])
{
    char directory[PATH_MAX];
    const char *slash = strrchr(file, '/');
    bool found = false;
    if (slash == NULL)
        return false;
    snprintf(directory, sizeof directory, "%.*s", (int)(slash - file), file);
    DIR *list = opendir(directory);
    for (struct dirent *at = NULL; list != NULL && !found && (at = readdir(list)) != NULL;) {
        found = strncmp(at->d_name, "libnvrtc-builtins.so", strlen("libnvrtc-builtins.so")) == 0;
        if (found)
            snprintf(out, NAME_MAX + 1, "%s", at->d_name);
    }
    if (list != NULL)
        closedir(list);
    return found;
}

static bool loader_finds(const char *name)
{
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle != NULL)
        dlclose(handle);
    return handle != NULL;
}

void warm_check_builtins(warm_doctor *doctor)
{
    const tkj_nvrtc *nvrtc = warm_doctor_nvrtc(doctor);
    char other[NAME_MAX + 1];
    if (nvrtc == NULL)
        return;
    const tkj_nvrtc_origin *origin = tkj_nvrtc_where(nvrtc);
    if (origin->builtins_beside) {
        warm_ok(doctor, "%s is beside it", origin->builtins);
        return;
    }
    if (loader_finds(origin->builtins)) {
        warm_note(doctor, "%s is not beside it, but the loader finds one", origin->builtins);
        return;
    }
    if (find_other(origin->file, other))
        warm_problem(doctor, "%s is not beside it, but %s, which does not fit", origin->builtins,
                     other);
    else
        warm_problem(doctor, "%s is not beside it", origin->builtins);
    warm_advise(doctor, "install the builtins of the same version: nothing compiles without them");
}

void warm_check_targets(warm_doctor *doctor)
{
    const tkj_nvrtc *nvrtc = warm_doctor_nvrtc(doctor);
    size_t count = 0;
    int newest = 0;
    if (nvrtc == NULL)
        return;
    for (size_t i = 0; i < tkj_architecture_count; i++)
        if (tkj_nvrtc_knows(nvrtc, tkj_architectures[i].number)) {
            count++;
            newest = tkj_architectures[i].number;
        }
    if (count > 0)
        warm_ok(doctor, "%zu of %zu that this library has kernels for, the newest is sm_%d", count,
                tkj_architecture_count, newest);
    else
        warm_problem(doctor, "none that this library has kernels for");
}
