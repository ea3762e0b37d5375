/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file nvrtc.h
 * @brief NVRTC as a guest: found and loaded on the first miss, compiled with on a thread of its
 * own.
 *
 * Knows sources, targets and options; knows nothing of specs, keys or the cache. Only nvrtc_api.h
 * includes nvrtc.h of the toolkit.
 */
#ifndef TKJ_NVRTC_H
#define TKJ_NVRTC_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <topk_jit/topk_jit.h>

#include "log.h"
#include "os.h"
#include "ptxas_log.h"
#include "source.h"

/** Where to look for libnvrtc, in this order; NULL = skip. Strings are borrowed. */
typedef struct tkj_nvrtc_search {
    const char *option_path;      /* context option: this library and no other */
    const char *option_name;      /* what messages call that option; NULL = by its own name */
    const char *environment_path; /* TOPK_JIT_NVRTC: likewise */
    const char *own_directory;    /* beside libtopk_jit */
    const char *hint_directory;   /* context option nvrtc_hint */
    const char *cuda_home;        /* CUDA_HOME; its lib64 and lib, then those of /usr/local/cuda */
} tkj_nvrtc_search;

/** A loaded NVRTC. Never unloaded: libraries that it brought may have threads or atexit handlers.
 */
typedef struct tkj_nvrtc tkj_nvrtc;

/**
 * Finds, loads and checks NVRTC.
 * @param[out] out  owned by the caller, released with tkj_nvrtc_free
 * @return TOPK_JIT_OK, TOPK_JIT_NVRTC_NOT_FOUND (names the path set, or every place searched),
 *         TOPK_JIT_NVRTC_TOO_OLD, TOPK_JIT_NVRTC_FAILED, TOPK_JIT_OUT_OF_MEMORY
 */
topk_jit_status tkj_nvrtc_load(const topk_jit_allocator *allocator, const tkj_logger *logger,
                               const tkj_nvrtc_search *search, tkj_nvrtc **out);

/** Releases the handle's memory; the library stays loaded. NULL is ignored. */
void tkj_nvrtc_free(tkj_nvrtc *nvrtc);

/** Major of its CUDA version: 12, 13, ... */
int tkj_nvrtc_major(const tkj_nvrtc *nvrtc);

/** Version and build-id, such as "nvrtc 13.0 build-id 3f2a...": borrowed. */
const char *tkj_nvrtc_identity(const tkj_nvrtc *nvrtc);

/** Where a loaded NVRTC was found, for people. */
typedef struct tkj_nvrtc_origin {
    const char *rule;     /* what led to it, such as "TOPK_JIT_NVRTC" or "CUDA_HOME": static */
    char file[PATH_MAX];  /* without symbolic links; "" = the loader does not say */
    char builtins[64];    /* file name of the libnvrtc-builtins that it needs */
    bool builtins_beside; /* which was loaded from its own directory */
} tkj_nvrtc_origin;

/** Borrowed. */
const tkj_nvrtc_origin *tkj_nvrtc_where(const tkj_nvrtc *nvrtc);

/** True if it can compile for the architecture, such as 90 for sm_90. */
bool tkj_nvrtc_knows(const tkj_nvrtc *nvrtc, int architecture);

/** What to compile. */
typedef struct tkj_compile_job {
    tkj_source main;
    const tkj_source *includes; /* every file that #include may name */
    size_t include_count;
    int architecture; /* 90 = sm_90 or compute_90 */
    bool ptx;         /* payload is PTX for compute_XY instead of a cubin for sm_XY */
} tkj_compile_job;

/** What came out. */
typedef struct tkj_compile_result {
    tkj_blob payload;
    tkj_ptxas_usage usage; /* of the main source's entry; zero for PTX */
} tkj_compile_result;

/**
 * Compiles on a thread of 16 MiB stack with signals blocked, and joins it.
 *
 * The full compiler log goes to the logger (ERROR if the compile failed, DEBUG otherwise), its
 * first error line into the message.
 * @param entry     name of the extern "C" kernel whose usage is wanted
 * @param[out] out  payload owned by the caller (allocator of tkj_nvrtc_load)
 * @return TOPK_JIT_OK, TOPK_JIT_COMPILE_FAILED, TOPK_JIT_NVRTC_TARGET, TOPK_JIT_NVRTC_FAILED (in a
 *         process that was forked during a compilation: always), TOPK_JIT_OUT_OF_MEMORY,
 *         TOPK_JIT_OS_FAILED
 */
topk_jit_status tkj_nvrtc_compile(const tkj_nvrtc *nvrtc, const tkj_compile_job *job,
                                  const char *entry, tkj_compile_result *out);

#endif /* TKJ_NVRTC_H */
