/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file nvrtc_api.h
 * @brief The loaded NVRTC as nvrtc.c fills it in and nvrtc_compile.c uses it. Theirs alone: the
 * only header that needs the toolkit's nvrtc.h.
 */
#ifndef TKJ_NVRTC_API_H
#define TKJ_NVRTC_API_H

#include <nvrtc.h> /* the toolkit's: its directory is searched first for these two files */

#include "nvrtc.h"
#include "nvrtc_library.h"

/* Every function used; all of them exist since CUDA 11.2. */
#define TKJ_NVRTC_FUNCTIONS(X)                                                                     \
    X(GetErrorString)                                                                              \
    X(GetNumSupportedArchs)                                                                        \
    X(GetSupportedArchs)                                                                           \
    X(CreateProgram)                                                                               \
    X(DestroyProgram)                                                                              \
    X(CompileProgram)                                                                              \
    X(GetProgramLogSize)                                                                           \
    X(GetProgramLog)                                                                               \
    X(GetCUBINSize)                                                                                \
    X(GetCUBIN)                                                                                    \
    X(GetPTXSize)                                                                                  \
    X(GetPTX)

struct tkj_nvrtc {
    topk_jit_allocator allocator;
    tkj_logger logger;
    int major;
    int minor;
    char identity[48 + TKJ_NVRTC_BUILD_ID_SIZE];
    tkj_nvrtc_origin origin;
    int *architectures; /* ascending as NVRTC lists them */
    int architecture_count;
#define TKJ_NVRTC_MEMBER(name) __typeof__(nvrtc##name) *name;
    TKJ_NVRTC_FUNCTIONS(TKJ_NVRTC_MEMBER)
#undef TKJ_NVRTC_MEMBER
};

#endif /* TKJ_NVRTC_API_H */
