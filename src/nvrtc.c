/* SPDX-License-Identifier: Apache-2.0 */
#include "nvrtc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "memory.h"
#include "nvrtc_api.h"
#include "nvrtc_library.h"
#include "status.h"

#define OLDEST_MAJOR 12

static void refuse(tkj_nvrtc_refusal *refusal, topk_jit_status status, int native_code,
                   const char *reason)
{
    refusal->status = status;
    refusal->native_code = native_code;
    snprintf(refusal->reason, sizeof refusal->reason, "%s", reason);
}

/** Looks a symbol up into a function pointer, which ISO C cannot cast to. */
static bool resolve(void *handle, const char *symbol, void *function, tkj_nvrtc_refusal *refusal)
{
    void *address = dlsym(handle, symbol);
    memcpy(function, &address, sizeof address);
    if (address != NULL)
        return true;
    char reason[128];
    snprintf(reason, sizeof reason, "it has no function %s", symbol);
    refuse(refusal, TOPK_JIT_NVRTC_NOT_FOUND, 0, reason);
    return false;
}

/** Before anything else: an old library lacks functions, and its age is the reason to name. */
static bool check_version(tkj_nvrtc *nvrtc, void *handle, tkj_nvrtc_refusal *refusal)
{
    __typeof__(nvrtcVersion) *version;
    if (!resolve(handle, "nvrtcVersion", &version, refusal))
        return false;
    nvrtcResult result = version(&nvrtc->major, &nvrtc->minor);
    if (result != NVRTC_SUCCESS) {
        refuse(refusal, TOPK_JIT_NVRTC_FAILED, (int)result, "nvrtcVersion failed");
        return false;
    }
    if (nvrtc->major >= OLDEST_MAJOR)
        return true;
    char reason[128];
    snprintf(reason, sizeof reason, "NVRTC %d.%d is older than %d.0", nvrtc->major, nvrtc->minor,
             OLDEST_MAJOR);
    refuse(refusal, TOPK_JIT_NVRTC_TOO_OLD, 0, reason);
    return false;
}

static bool resolve_functions(tkj_nvrtc *nvrtc, void *handle, tkj_nvrtc_refusal *refusal)
{
#define RESOLVE(name) resolve(handle, "nvrtc" #name, &nvrtc->name, refusal) &&
    return TKJ_NVRTC_FUNCTIONS(RESOLVE) true;
#undef RESOLVE
}

static void judge(void *user, void *handle, tkj_nvrtc_refusal *refusal)
{
    tkj_nvrtc *nvrtc = user;
    if (!check_version(nvrtc, handle, refusal) || !resolve_functions(nvrtc, handle, refusal))
        return;
    char build_id[TKJ_NVRTC_BUILD_ID_SIZE];
    tkj_nvrtc_library_build_id(handle, build_id);
    snprintf(nvrtc->identity, sizeof nvrtc->identity, "nvrtc %d.%d%s%s", nvrtc->major, nvrtc->minor,
             build_id[0] != '\0' ? " build-id " : "", build_id);
    tkj_nvrtc_library_preload_builtins(&nvrtc->logger, handle, nvrtc->major, nvrtc->minor,
                                       &nvrtc->origin);
}

static topk_jit_status call_failed(const tkj_nvrtc *nvrtc, const char *call, nvrtcResult result)
{
    return tkj_fail_native(TOPK_JIT_NVRTC_FAILED, (int)result, "%s of NVRTC %d.%d: %s", call,
                           nvrtc->major, nvrtc->minor, nvrtc->GetErrorString(result));
}

static topk_jit_status list_architectures(tkj_nvrtc *nvrtc)
{
    int count = 0;
    nvrtcResult result = nvrtc->GetNumSupportedArchs(&count);
    if (result != NVRTC_SUCCESS)
        return call_failed(nvrtc, "nvrtcGetNumSupportedArchs", result);
    if (count <= 0)
        return tkj_fail(TOPK_JIT_NVRTC_FAILED, "NVRTC %d.%d supports no architecture", nvrtc->major,
                        nvrtc->minor);
    nvrtc->architectures = tkj_alloc_zeroed(&nvrtc->allocator, (size_t)count, sizeof(int));
    if (nvrtc->architectures == NULL)
        return TOPK_JIT_OUT_OF_MEMORY;
    result = nvrtc->GetSupportedArchs(nvrtc->architectures);
    if (result != NVRTC_SUCCESS)
        return call_failed(nvrtc, "nvrtcGetSupportedArchs", result);
    nvrtc->architecture_count = count;
    return TOPK_JIT_OK;
}

topk_jit_status tkj_nvrtc_load(const topk_jit_allocator *allocator, const tkj_logger *logger,
                               const tkj_nvrtc_search *search, tkj_nvrtc **out)
{
    *out = NULL;
    tkj_nvrtc *nvrtc = tkj_alloc_zeroed(allocator, 1, sizeof *nvrtc);
    if (nvrtc == NULL)
        return TOPK_JIT_OUT_OF_MEMORY;
    nvrtc->allocator = *allocator;
    nvrtc->logger = *logger;
    topk_jit_status status =
        tkj_nvrtc_library_find(logger, search, judge, nvrtc, &nvrtc->origin.rule);
    if (status == TOPK_JIT_OK)
        status = list_architectures(nvrtc);
    if (status != TOPK_JIT_OK) {
        tkj_nvrtc_free(nvrtc);
        return status;
    }
    tkj_log(logger, TOPK_JIT_LOG_INFO, "compiling with %s", nvrtc->identity);
    *out = nvrtc;
    return TOPK_JIT_OK;
}

void tkj_nvrtc_free(tkj_nvrtc *nvrtc)
{
    if (nvrtc == NULL)
        return;
    const topk_jit_allocator allocator = nvrtc->allocator;
    tkj_free(&allocator, nvrtc->architectures);
    tkj_free(&allocator, nvrtc);
}

int tkj_nvrtc_major(const tkj_nvrtc *nvrtc)
{
    return nvrtc->major;
}

const char *tkj_nvrtc_identity(const tkj_nvrtc *nvrtc)
{
    return nvrtc->identity;
}

const tkj_nvrtc_origin *tkj_nvrtc_where(const tkj_nvrtc *nvrtc)
{
    return &nvrtc->origin;
}

bool tkj_nvrtc_knows(const tkj_nvrtc *nvrtc, int architecture)
{
    for (int i = 0; i < nvrtc->architecture_count; i++)
        if (nvrtc->architectures[i] == architecture)
            return true;
    return false;
}
