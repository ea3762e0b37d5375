/* SPDX-License-Identifier: Apache-2.0 */
/* offline CAPABILITY TOPK: a server of DeepSeek V3.2 on a fake GPU, which prepares its specs, says
   where their kernels came from, and what it is told if there is none. */
#include <stdio.h>
#include <stdlib.h>
#include <topk_jit/topk_jit.h>

#include "fake_cuda.h"

/* Pages of 64 and of 1, and ragged. */
static void prepare(topk_jit_context *context, int64_t topk)
{
    topk_jit_spec specs[3] = {TOPK_JIT_SPEC_INIT, TOPK_JIT_SPEC_INIT, TOPK_JIT_SPEC_INIT};
    for (int i = 0; i < 3; i++)
        specs[i].topk = topk;
    specs[0].layout = specs[1].layout = TOPK_JIT_LAYOUT_PAGED;
    specs[0].page_size = 64;
    specs[1].page_size = 1;
    specs[2].layout = TOPK_JIT_LAYOUT_RAGGED;
    topk_jit_status status = topk_jit_prepare(context, specs, 3, NULL);
    topk_jit_statistics statistics = TOPK_JIT_STATISTICS_INIT;
    topk_jit_get_statistics(context, &statistics);
    printf("%s, %d from packs, %d compiled\n", topk_jit_status_name(status),
           (int)statistics.pack_hits, (int)statistics.compiles);
    if (status != TOPK_JIT_OK)
        printf("%s\n", topk_jit_last_error()->message);
}

int main(int argc, char **argv)
{
    const fake_cuda *fake = fake_cuda_connect();
    if (fake == NULL || argc != 3)
        return 2;
    fake->reset();
    fake->set_capability((int)strtol(argv[1], NULL, 10));
    fake->set_current(fake->context_create(1));

    topk_jit_context *context = NULL;
    if (topk_jit_context_create(&context, NULL) != TOPK_JIT_OK)
        return 2;
    prepare(context, strtol(argv[2], NULL, 10));
    topk_jit_context_destroy(context);
    return 0;
}
