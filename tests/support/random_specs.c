/* SPDX-License-Identifier: Apache-2.0 */
#include "random_specs.h"

#include "scores.h"
#include "spec.h"

static int64_t pick(uint64_t *state, const int64_t *from, size_t count)
{
    return from[tkj_scores_random(state) % count];
}

topk_jit_spec tkj_random_spec(uint64_t seed)
{
    static const int64_t ks[] = {1, 2, 5, 31, 64, 100, 257, 512};
    static const int64_t page_sizes[] = {1, 2, 16, 64, 1024};
    uint64_t state = ~seed; /* apart from the call that is made from the same seed */
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.topk = pick(&state, ks, sizeof ks / sizeof ks[0]);
    spec.layout = (topk_jit_layout)(tkj_scores_random(&state) % 3);
    spec.dtype = (topk_jit_dtype)(tkj_scores_random(&state) % 3);
    spec.index_dtype = tkj_scores_random(&state) % 3 == 0 ? TOPK_JIT_INT64 : TOPK_JIT_INT32;
    if (spec.layout == TOPK_JIT_LAYOUT_PAGED)
        spec.page_size = pick(&state, page_sizes, sizeof page_sizes / sizeof page_sizes[0]);
    spec.tie_break = (topk_jit_tie_break)(tkj_scores_random(&state) % 3);
    spec.sorted = tkj_scores_random(&state) % 3 == 0;
    spec.deterministic = tkj_scores_random(&state) % 3 == 0;
    spec.nan_last = tkj_scores_random(&state) % 4 == 0;
    spec.check = tkj_scores_random(&state) % 4 == 0;
    return tkj_spec_canonical(&spec);
}
