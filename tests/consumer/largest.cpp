// SPDX-License-Identifier: Apache-2.0
// The public header from C++11: the two largest of five scores, on the host.
#include <topk_jit/topk_jit.h>

#include <cstdio>
#include <memory>

int main()
{
    topk_jit_context *created = nullptr;
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    options.mode = TOPK_JIT_MODE_OFF;
    if (topk_jit_context_create(&created, &options) != TOPK_JIT_OK)
        return 1;
    std::unique_ptr<topk_jit_context, void (*)(topk_jit_context *)> context(
        created, topk_jit_context_destroy);

    float values[] = {1.0f, 5.0f, 2.0f, 7.0f, 3.0f}, largest[2];
    int64_t positions[2], shape[] = {5}, out_shape[] = {2};
    DLDevice cpu = {kDLCPU, 0};
    DLDataType float32 = {kDLFloat, 32, 1}, int64 = {kDLInt, 64, 1};
    DLTensor in = {values, cpu, 1, float32, shape, nullptr, 0};
    DLTensor out_values = {largest, cpu, 1, float32, out_shape, nullptr, 0};
    DLTensor out_indices = {positions, cpu, 1, int64, out_shape, nullptr, 0};
    if (topk_jit_fast_topk(context.get(), &in, 2, 0, &out_values, &out_indices, nullptr) !=
        TOPK_JIT_OK) {
        std::fprintf(stderr, "%s\n", topk_jit_last_error()->message);
        return 1;
    }
    std::printf("%d %d\n", static_cast<int>(positions[0]), static_cast<int>(positions[1]));
    return positions[0] == 3 && positions[1] == 1 ? 0 : 1;
}
