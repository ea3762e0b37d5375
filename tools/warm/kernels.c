/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels.h"

#include <stdlib.h>

#include "command.h"
#include "complain.h"

/** Room for one more. @return NULL after a line on stderr */
static warm_kernel *append(warm_kernels *kernels)
{
    if (kernels->count == kernels->capacity) {
        const size_t capacity = kernels->capacity == 0 ? 64 : 2 * kernels->capacity;
        warm_kernel *at = reallocarray(kernels->at, capacity, sizeof *at);
        if (at == NULL) {
            warm_complain("out of memory");
            return NULL;
        }
        kernels->at = at;
        kernels->capacity = capacity;
    }
    return &kernels->at[kernels->count++];
}

static bool add_variants(const warm_pair *pair, warm_kernels *out)
{
    tkj_variant variants[TKJ_VARIANTS_MAX];
    const size_t count = tkj_variants_enumerate(&pair->spec, pair->gpu.architecture, variants);
    for (size_t i = 0; i < count; i++) {
        warm_kernel *kernel = append(out);
        if (kernel == NULL)
            return false;
        *kernel =
            (warm_kernel){.spec = pair->spec, .variant = variants[i], .target = pair->gpu.target};
    }
    return true;
}

int warm_kernels_of(const warm_pairs *pairs, warm_kernels *out)
{
    *out = (warm_kernels){0};
    for (size_t i = 0; i < pairs->count; i++)
        if (!add_variants(&pairs->at[i], out))
            return WARM_EXIT_FAILED;
    return WARM_EXIT_DONE;
}

const char *warm_state_words(warm_state state)
{
    static const char *const words[] = {
        [WARM_NOT_TRIED] = "not tried",         [WARM_FAILED] = "failed",
        [WARM_COMPILED] = "compiled",           [WARM_ALREADY_THERE] = "already there",
        [WARM_WOULD_COMPILE] = "would compile", [WARM_EVICTED] = "removed again",
    };
    return words[state];
}

void warm_kernels_release(warm_kernels *kernels)
{
    for (size_t i = 0; i < kernels->count; i++)
        free(kernels->at[i].error);
    free(kernels->at);
}
