// SPDX-License-Identifier: Apache-2.0
// The public header is the first and only include: what it needs, it includes itself.
#include <topk_jit/topk_jit.h>

#ifdef __cuda_cuda_h__
#error "the public header includes cuda.h"
#endif

extern "C" const size_t header_cxx17_sizes[];
extern "C" const unsigned header_cxx17_count;
extern "C" int header_cxx17_macros_are_defaults(void);

const size_t header_cxx17_sizes[] = {
    sizeof(topk_jit_error), sizeof(topk_jit_allocator),   sizeof(topk_jit_options),
    sizeof(topk_jit_spec),  sizeof(topk_jit_select_args), sizeof(topk_jit_statistics),
};
const unsigned header_cxx17_count = sizeof header_cxx17_sizes / sizeof header_cxx17_sizes[0];

int header_cxx17_macros_are_defaults(void)
{
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    topk_jit_select_args args = TOPK_JIT_SELECT_ARGS_INIT;
    topk_jit_statistics statistics = TOPK_JIT_STATISTICS_INIT;
    return options.struct_size == sizeof options && options.nvrtc_hint == nullptr &&
           spec.struct_size == sizeof spec && spec.topk == 2048 &&
           args.struct_size == sizeof args && args.workspace_size == 0 &&
           statistics.struct_size == sizeof statistics && statistics.load_ns == 0;
}
