/* SPDX-License-Identifier: Apache-2.0 */
#include "every_target.h"

#include "command.h"
#include "complain.h"
#include "context.h"

int warm_every_target(topk_jit_context *context, warm_gpu out[WARM_EVERY_MAX], size_t *count)
{
    const tkj_nvrtc *nvrtc = NULL;
    *count = 0;
    if (tkj_context_nvrtc(context, &nvrtc) != TOPK_JIT_OK) {
        warm_complain("--arch all: %s", topk_jit_last_error()->message);
        return WARM_EXIT_FAILED;
    }
    for (size_t i = 0; i < tkj_architecture_count && *count < WARM_EVERY_MAX; i++) {
        const int number = tkj_architectures[i].number;
        if (tkj_nvrtc_knows(nvrtc, number))
            out[(*count)++] = warm_gpu_of((tkj_target){number, .ptx = false});
    }
    return WARM_EXIT_DONE;
}
