/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file nvrtc_library.h
 * @brief Finds libnvrtc as a shared library: where to look, its builtins, its build-id.
 *
 * Part of nvrtc.c, kept apart because it needs nothing of NVRTC but the names of its files.
 */
#ifndef TKJ_NVRTC_LIBRARY_H
#define TKJ_NVRTC_LIBRARY_H

#include <topk_jit/topk_jit.h>

#include "log.h"
#include "nvrtc.h"

/** Why a library that was found cannot be used. */
typedef struct tkj_nvrtc_refusal {
    topk_jit_status status; /* TOPK_JIT_OK = it can be used */
    int native_code;
    char reason[256];
} tkj_nvrtc_refusal;

/** Looks at a loaded library and takes it, or says why not. Records no failure: a later place may
 *  have a better one. */
typedef void (*tkj_nvrtc_judge)(void *user, void *handle, tkj_nvrtc_refusal *refusal);

/**
 * Loads the first libnvrtc in the order of tkj_nvrtc_search that the judge takes. What was loaded
 * and not taken stays loaded.
 * @param[out] rule  what led to it; static, set on success
 * @return TOPK_JIT_OK, TOPK_JIT_NVRTC_NOT_FOUND, or the status of the last refusal
 */
topk_jit_status tkj_nvrtc_library_find(const tkj_logger *logger, const tkj_nvrtc_search *search,
                                       tkj_nvrtc_judge judge, void *user, const char **rule);

/** Loads libnvrtc-builtins of the version from the library's own directory, so that NVRTC finds it
 *  already loaded (cudawrappers PR#354, numba-cuda PR#196). Its absence is only logged.
 *  @param[out] origin  the files are set, the rule stays */
void tkj_nvrtc_library_preload_builtins(const tkj_logger *logger, void *handle, int major,
                                        int minor, tkj_nvrtc_origin *origin);

#define TKJ_NVRTC_BUILD_ID_SIZE 65

/** Writes the library's GNU build-id in hexadecimal; "" if it has none. */
void tkj_nvrtc_library_build_id(void *handle, char text[TKJ_NVRTC_BUILD_ID_SIZE]);

#endif /* TKJ_NVRTC_LIBRARY_H */
