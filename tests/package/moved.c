/* SPDX-License-Identifier: Apache-2.0 */
/* Prepares one spec for the fake GPU of sm_90 and says where its kernel came from. */
#include <stdio.h>
#include <topk_jit/topk_jit.h>

#include "fake_cuda.h"

int main(void)
{
    const fake_cuda *fake = fake_cuda_connect();
    if (fake == NULL)
        return 2;
    fake->reset();
    fake->set_current(fake->context_create(1));

    topk_jit_context *context = NULL;
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.topk = 9001; /* one kernel */
    topk_jit_status status = topk_jit_context_create(&context, NULL);
    if (status == TOPK_JIT_OK)
        status = topk_jit_prepare(context, &spec, 1, NULL);
    topk_jit_statistics statistics = TOPK_JIT_STATISTICS_INIT;
    if (context != NULL)
        topk_jit_get_statistics(context, &statistics);
    printf("%s, %d read from the installation\n", topk_jit_status_name(status),
           (int)statistics.read_only_hits);
    topk_jit_context_destroy(context);
    return 0;
}
