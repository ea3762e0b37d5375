/* SPDX-License-Identifier: Apache-2.0 */
/* Several GPUs of different architectures in one process. */
#include "plan_case.h"

#include <string.h>

static void assert_kernel_is_loaded_for(const plan_case *it, const topk_jit_spec *spec, int ordinal)
{
    const tkj_prepared *prepared = plan_case_find(it, spec, ordinal);
    assert_non_null(prepared);
    assert_int_equal(prepared->facts.ordinal, ordinal);
    assert_int_equal(prepared->facts.compute_major, ordinal == SM80 ? 8 : 9);
    assert_int_equal(prepared->facts.sm_count, ordinal == SM80 ? 108 : 132);
    assert_int_equal(prepared->count, plan_case_kernels(spec, ordinal));
    for (size_t v = 0; v < prepared->count; v++)
        assert_non_null(prepared->kernels[v].kernel);
}

static void assert_compiled_last_for(const char *option)
{
    fake_nvrtc_compile compile;
    nvrtc->last_compile(&compile);
    assert_string_equal(compile.options[0], option);
}

/** As with MIG: what is one architecture shares its code, and what differs in size its launches. */
static void slices_of_a_gpu_share_its_code_and_keep_their_sizes(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    static const int known[] = {75}; /* PTX runs on both of the fake's devices */
    nvrtc->set_architectures(known, 1);
    cuda->claim_capability(80);
    cuda->claim_sm_count(SM90, 42);
    cuda->claim_sm_count(SM80, 14);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    assert_int_equal(plan_case_prepare(it, &spec, SM80), TOPK_JIT_OK);
    const size_t kernels = plan_case_find(it, &spec, SM90)->count;
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.compiles, kernels);
    assert_int_equal(s.user_hits, kernels);
    assert_int_equal(plan_case_find(it, &spec, SM90)->facts.sm_count, 42);
    assert_int_equal(plan_case_find(it, &spec, SM80)->facts.sm_count, 14);
    assert_int_equal(cuda->live_libraries(), 2 * kernels);
}

/** tilelang#2516, cudf#5469: the architecture taken from device 0; one cache for two GPU models. */
static void each_gpu_gets_its_own_code(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    const size_t both = plan_case_kernels(&spec, SM80) + plan_case_kernels(&spec, SM90);
    assert_int_equal(plan_case_prepare(it, &spec, SM80), TOPK_JIT_OK);
    assert_compiled_last_for("-arch=sm_80");
    assert_null(plan_case_find(it, &spec, SM90));
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    assert_compiled_last_for("-arch=sm_90");
    assert_kernel_is_loaded_for(it, &spec, SM80);
    assert_kernel_is_loaded_for(it, &spec, SM90);
    assert_ptr_not_equal(plan_case_find(it, &spec, SM80), plan_case_find(it, &spec, SM90));
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.compiles, both);
    assert_int_equal(s.memory_hits, 0);
    assert_int_equal(plan_case_entries(it, 13), both);
    assert_int_equal(cuda->live_libraries(), both);
}

static void each_gpu_finds_its_own_code_in_the_cache(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    assert_int_equal(plan_case_prepare(it, &spec, SM80), TOPK_JIT_OK);
    plan_case_reopen(it, "/nonexistent/libnvrtc.so");
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_NVRTC_NOT_FOUND);
    assert_int_equal(plan_case_prepare(it, &spec, SM80), TOPK_JIT_OK);
    assert_kernel_is_loaded_for(it, &spec, SM80);
    assert_null(plan_case_find(it, &spec, SM90));
}

static void stream_decides_the_gpu_and_not_the_current_context(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    cuda->set_current(contexts[SM80]);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    assert_kernel_is_loaded_for(it, &spec, SM90);
    assert_null(plan_case_find(it, &spec, SM80));
    assert_ptr_equal(cuda->current(), contexts[SM80]);
}

static void null_stream_is_that_of_the_current_context(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    cuda->set_current(contexts[SM90]);
    assert_int_equal(topk_jit_prepare(it->context, &spec, 1, NULL), TOPK_JIT_OK);
    assert_kernel_is_loaded_for(it, &spec, SM90);
    assert_ptr_equal(cuda->current(), contexts[SM90]);
}

/** The fake refuses a captured launch of a kernel that its context does not have. */
static void kernel_is_loaded_into_the_streams_context(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    plan_call call;
    fake_cuda_launch launch;
    cuda->set_current(contexts[SM80]);
    for (int ordinal = 0; ordinal < FAKE_CUDA_DEVICES; ordinal++) {
        assert_int_equal(plan_case_prepare(it, &spec, ordinal), TOPK_JIT_OK);
        cuda->capture_begin(streams[ordinal]);
        plan_call_init(&call, ordinal, 2, 2, 2048);
        assert_int_equal(topk_jit_select(it->context, &call.args, streams[ordinal]), TOPK_JIT_OK);
        assert_true(cuda->capture_end(streams[ordinal]));
        cuda->last_launch(&launch);
        assert_int_equal(launch.ordinal, ordinal);
        assert_true(launch.captured);
    }
}

/** flashinfer PR#3172, newton#357: a load elsewhere breaks a capture under way. */
static void preparing_leaves_another_threads_capture_valid(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    CUstream captured = cuda->stream_create(contexts[SM90]);
    cuda->capture_begin(captured);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    assert_int_equal(plan_case_prepare(it, &spec, SM80), TOPK_JIT_OK);
    assert_true(cuda->capture_end(captured));
}

static void destroying_leaves_another_threads_capture_valid(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    cuda->capture_begin(streams[SM80]);
    plan_case_close(it); /* asserts that no library is left */
    assert_true(cuda->capture_end(streams[SM80]));
}

#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, plan_case_set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(each_gpu_gets_its_own_code),
        TEST(slices_of_a_gpu_share_its_code_and_keep_their_sizes),
        TEST(each_gpu_finds_its_own_code_in_the_cache),
        TEST(stream_decides_the_gpu_and_not_the_current_context),
        TEST(null_stream_is_that_of_the_current_context),
        TEST(kernel_is_loaded_into_the_streams_context),
        TEST(preparing_leaves_another_threads_capture_valid),
        TEST(destroying_leaves_another_threads_capture_valid),
    };
    return cmocka_run_group_tests_name("plan_devices", tests, NULL, NULL);
}
