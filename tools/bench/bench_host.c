/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_host.h"

#include "bench_complain.h"
#include "gpu.h"

int bench_host(const char *json)
{
    bench_costs costs = {.count = 0};
    topk_jit_context *context;
    if (!tkj_gpu_open(0)) {
        bench_complain("nothing to measure on: there is no GPU");
        return BENCH_EXIT_NO_GPU;
    }
    CUstream stream = tkj_gpu_stream_create();
    bench_require(topk_jit_context_create(&context, NULL) == TOPK_JIT_OK, "no context");
    bench_host_hot(context, stream, &costs);
    topk_jit_context_destroy(context);
    bench_host_cold(stream, &costs);
    tkj_gpu_stream_destroy(stream);
    bench_costs_print(&costs);
    return json == NULL || bench_costs_write_json(json, &costs) ? BENCH_EXIT_DONE
                                                                : BENCH_EXIT_WRONG;
}
