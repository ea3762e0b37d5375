/* SPDX-License-Identifier: Apache-2.0 */
/** @file compile_set.h @brief Which kernels are compiled for which targets, and doing it on all
 * cores. */
#ifndef TKJ_COMPILE_SET_H
#define TKJ_COMPILE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "covering.h"
#include "nvrtc.h"
#include "resources.h"

#define TKJ_COMPILE_SET_MAX 1024

/** One kernel for one target. */
typedef struct tkj_compiled {
    tkj_covering_pair pair;
    int architecture;
    /* out */
    topk_jit_error failure; /* its status is TOPK_JIT_OK if there was none */
    tkj_resource_row row;
    uint64_t nanoseconds;
} tkj_compiled;

/**
 * Lists the covering set for sm_80, sm_90 and sm_120, and each template and variant
 * once for every other target from sm_75 on; of these, what the NVRTC can compile for.
 * @return how many
 */
size_t tkj_compile_set_list(const tkj_nvrtc *nvrtc, tkj_compiled out[TKJ_COMPILE_SET_MAX]);

/** Compiles them from the embedded templates, one thread a core that this process may use.
 *  @return false if templates could not be read or threads not be started */
bool tkj_compile_set_run(const tkj_nvrtc *nvrtc, tkj_compiled *kernels, size_t count);

#endif /* TKJ_COMPILE_SET_H */
