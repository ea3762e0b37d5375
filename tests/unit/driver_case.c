/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_case.h"

#include <string.h>

const fake_cuda *fake;
void *contexts[FAKE_CUDA_DEVICES];
CUstream streams[FAKE_CUDA_DEVICES];

bool driver_case_connect(void)
{
    fake = fake_cuda_connect();
    if (fake == NULL)
        print_error("libcuda.so.1 is not the fake: LD_LIBRARY_PATH must name its directory\n");
    return fake != NULL;
}

int driver_case_start(void **state)
{
    (void)state;
    fake->reset();
    for (int i = 0; i < FAKE_CUDA_DEVICES; i++) {
        contexts[i] = fake->context_create(i);
        streams[i] = fake->stream_create(contexts[i]);
    }
    return 0;
}

void assert_message_has(const char *text)
{
    if (strstr(topk_jit_last_error()->message, text) == NULL)
        fail_msg("'%s' is not in '%s'", text, topk_jit_last_error()->message);
}

void assert_thread_is_as_before(void *current)
{
    assert_ptr_equal(fake->current(), current);
    assert_int_equal(fake->stack_depth(), 0);
    assert_int_equal(fake->capture_mode(), 0);
}
