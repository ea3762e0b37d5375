/* SPDX-License-Identifier: Apache-2.0 */
/* Few long rows on a GPU without clusters: two launches where the caller gives a workspace. */
#include "plan_case.h"

#include <string.h>

#include "problem.h"

/* Rows of 65536 scores: eight blocks list each. */
enum { ROWS = 3, PARTS = 8 };

static void *const workspace = (void *)(1ULL << 45);

/** A call with the workspace that it asks for. */
static void make_call(plan_call *call, int ordinal)
{
    plan_call_init(call, ordinal, ROWS, ROWS, 2048);
    assert_int_equal(topk_jit_select_workspace_size(&call->args, &call->args.workspace_size),
                     TOPK_JIT_OK);
    call->args.workspace = workspace;
}

static topk_jit_status select_on(plan_case *it, const plan_call *call, int ordinal)
{
    cuda->set_params_size(sizeof(tkj_select_params));
    return topk_jit_select(it->context, &call->args, streams[ordinal]);
}

static const char *kind_of(const fake_cuda_launch *launch)
{
    return launch->kernel + strlen("topk_jit_");
}

static bool was_split(void)
{
    fake_cuda_launch launch;
    cuda->last_launch(&launch);
    return strncmp(kind_of(&launch), "split_", strlen("split_")) == 0;
}

/** A launch with the parameters of the call, and those of its half. */
static void assert_half(const fake_cuda_launch *launch, const plan_call *call, uint32_t half)
{
    tkj_select_problem problem;
    assert_int_equal(tkj_problem_select(&call->args, &problem), TOPK_JIT_OK);
    assert_ptr_equal(problem.params.workspace, workspace);
    problem.params.parts = PARTS;
    problem.params.launch = half;
    assert_memory_equal(launch->params, &problem.params, sizeof problem.params);
    assert_ptr_equal(launch->stream, streams[SM80]);
    assert_int_equal(launch->attribute_count, 0);
    assert_int_equal(launch->block[0], 512);
}

static void long_rows_are_listed_by_one_launch_and_selected_by_another(void **state)
{
    plan_case *it = *state;
    fake_cuda_launch first, second;
    plan_call call;
    make_call(&call, SM80);
    assert_int_equal(select_on(it, &call, SM80), TOPK_JIT_OK);
    assert_int_equal(cuda->launches(), 2);
    cuda->launch_before(&first);
    cuda->last_launch(&second);
    assert_true(was_split());
    assert_string_equal(first.kernel, second.kernel);
    assert_int_equal(first.shared_bytes, second.shared_bytes);
    assert_half(&first, &call, 0);
    assert_half(&second, &call, 1);
    assert_int_equal(first.grid[0], ROWS * PARTS);
    assert_int_equal(second.grid[0], ROWS);
}

static void padding_rows_take_part_in_both_grids(void **state)
{
    plan_case *it = *state;
    fake_cuda_launch first, second;
    plan_call call;
    plan_call_init(&call, SM80, 1, 4, 2048);
    call.args.workspace = workspace;
    call.args.workspace_size = 1 << 20;
    assert_int_equal(select_on(it, &call, SM80), TOPK_JIT_OK);
    cuda->launch_before(&first);
    cuda->last_launch(&second);
    assert_true(was_split());
    assert_int_equal(first.grid[0], 4 * PARTS);
    assert_int_equal(second.grid[0], 4);
}

static void max_sms_bounds_both_grids(void **state)
{
    plan_case *it = *state;
    fake_cuda_launch first, second;
    plan_call call;
    make_call(&call, SM80);
    call.args.max_sms = 7;
    assert_int_equal(select_on(it, &call, SM80), TOPK_JIT_OK);
    cuda->launch_before(&first);
    cuda->last_launch(&second);
    assert_true(was_split());
    assert_int_equal(first.grid[0], 2 * ROWS);
    assert_int_equal(second.grid[0], ROWS);
}

static void both_launches_are_captured(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    fake_cuda_launch first, second;
    plan_call call;
    make_call(&call, SM80);
    assert_int_equal(plan_case_prepare(it, &spec, SM80), TOPK_JIT_OK);
    cuda->capture_begin(streams[SM80]);
    assert_int_equal(select_on(it, &call, SM80), TOPK_JIT_OK);
    assert_true(cuda->capture_end(streams[SM80]));
    cuda->launch_before(&first);
    cuda->last_launch(&second);
    assert_true(first.captured && second.captured);
}

/** One launch, of another kernel. */
static void assert_not_split(plan_case *it, const plan_call *call, int ordinal)
{
    const int before = cuda->launches();
    assert_int_equal(select_on(it, call, ordinal), TOPK_JIT_OK);
    assert_int_equal(cuda->launches(), before + 1);
    assert_false(was_split());
}

static void padding_rows_alone_are_one_launch(void **state)
{
    plan_case *it = *state;
    plan_call call;
    size_t size = 99;
    plan_call_init(&call, SM80, 0, 2, 2048);
    call.args.workspace = workspace;
    call.args.workspace_size = 1 << 20;
    assert_not_split(it, &call, SM80);
    assert_int_equal(topk_jit_select_workspace_size(&call.args, &size), TOPK_JIT_OK);
    assert_int_equal(size, 0);
}

static void workspace_that_is_absent_or_a_byte_too_small_is_not_used(void **state)
{
    plan_case *it = *state;
    plan_call call;
    make_call(&call, SM80);
    call.args.workspace_size--;
    assert_not_split(it, &call, SM80);
    call.args.workspace_size = 0;
    assert_not_split(it, &call, SM80);
    call.args.workspace_size = SIZE_MAX;
    call.args.workspace = NULL;
    assert_not_split(it, &call, SM80);
}

static void gpu_with_clusters_needs_no_workspace(void **state)
{
    plan_case *it = *state;
    plan_call call;
    make_call(&call, SM90);
    assert_not_split(it, &call, SM90);
}

static void failing_first_launch_ends_the_call(void **state)
{
    plan_case *it = *state;
    plan_call call;
    make_call(&call, SM80);
    assert_int_equal(select_on(it, &call, SM80), TOPK_JIT_OK);
    cuda->inject("cuLaunchKernelEx", ANY_CODE, 1);
    const int calls = cuda->calls("cuLaunchKernelEx");
    assert_int_equal(select_on(it, &call, SM80), TOPK_JIT_LAUNCH_FAILED);
    assert_int_equal(topk_jit_last_error()->native_code, ANY_CODE);
    assert_int_equal(cuda->calls("cuLaunchKernelEx"), calls + 1);
    assert_int_equal(select_on(it, &call, SM80), TOPK_JIT_OK);
}

static void failing_second_launch_is_reported(void **state)
{
    plan_case *it = *state;
    fake_cuda_launch launch;
    plan_call call;
    make_call(&call, SM80);
    assert_int_equal(select_on(it, &call, SM80), TOPK_JIT_OK);
    cuda->inject("cuLaunchKernelEx", ANY_CODE, 2);
    assert_int_equal(select_on(it, &call, SM80), TOPK_JIT_LAUNCH_FAILED);
    assert_int_equal(topk_jit_last_error()->native_code, ANY_CODE);
    assert_int_equal(cuda->launches(), 3);
    cuda->last_launch(&launch);
    assert_half(&launch, &call, 0);
    assert_int_equal(select_on(it, &call, SM80), TOPK_JIT_OK);
}

/* ---- how much ---- */

static size_t size_for(int64_t rows, int64_t width, int64_t topk, DLDeviceType device)
{
    size_t size = 99;
    plan_call call;
    plan_call_init(&call, SM80, rows, rows, topk);
    call.score_shape[1] = width;
    call.score.device.device_type = call.indices.device.device_type = device;
    assert_int_equal(topk_jit_select_workspace_size(&call.args, &size), TOPK_JIT_OK);
    return size;
}

static void size_is_that_of_the_rows_that_a_gpu_would_split(void **state)
{
    (void)state;
    assert_int_equal(size_for(1, 32769, 2048, kDLCUDA), TKJ_SPLIT_ROW_BYTES);
    assert_int_equal(size_for(72, 131072, 2048, kDLCUDA), 72 * TKJ_SPLIT_ROW_BYTES);
    assert_int_equal(size_for(5, 131072, 4096, kDLCUDAManaged), 5 * TKJ_SPLIT_ROW_BYTES);
    assert_int_equal(size_for(0, 131072, 2048, kDLCUDA), 0);
    assert_int_equal(size_for(1, 32768, 2048, kDLCUDA), 0);
    assert_int_equal(size_for(73, 131072, 2048, kDLCUDA), 0);
    assert_int_equal(size_for(1 << 15, 131072, 2048, kDLCUDA), 0);
    assert_int_equal(size_for(1, 131072, 4097, kDLCUDA), 0);
    assert_int_equal(size_for(1, 131072, 2048, kDLCPU), 0);
    assert_int_equal(size_for(1, 131072, 2048, kDLCUDAHost), 0);
}

static void size_does_not_depend_on_the_workspace_that_is_given(void **state)
{
    (void)state;
    size_t size = 0;
    plan_call call;
    make_call(&call, SM80);
    const size_t wanted = call.args.workspace_size;
    for (size_t given = 0; given <= 256; given += 256) {
        call.args.workspace_size = given;
        assert_int_equal(topk_jit_select_workspace_size(&call.args, &size), TOPK_JIT_OK);
        assert_int_equal(size, wanted);
    }
}

#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, plan_case_set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(long_rows_are_listed_by_one_launch_and_selected_by_another),
        TEST(padding_rows_take_part_in_both_grids),
        TEST(padding_rows_alone_are_one_launch),
        TEST(max_sms_bounds_both_grids),
        TEST(both_launches_are_captured),
        TEST(workspace_that_is_absent_or_a_byte_too_small_is_not_used),
        TEST(gpu_with_clusters_needs_no_workspace),
        TEST(failing_first_launch_ends_the_call),
        TEST(failing_second_launch_is_reported),
        TEST(size_is_that_of_the_rows_that_a_gpu_would_split),
        TEST(size_does_not_depend_on_the_workspace_that_is_given),
    };
    return cmocka_run_group_tests_name("api_split", tests, NULL, NULL);
}
