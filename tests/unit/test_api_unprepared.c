/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that find nothing prepared, streams that do not fit, and tensors on the host. */
#include "plan_case.h"

#include <string.h>

#include "status.h"

static void unprepared_call_prepares_itself_and_launches(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    plan_call call;
    plan_call_init(&call, SM90, 3, 3, 2048);
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(topk_jit_select(it->context, &call.args, streams[SM90]), TOPK_JIT_OK);
        assert_int_equal(cuda->launches(), i);
        assert_int_equal(plan_case_statistics(it).compiles, plan_case_kernels(&spec, SM90));
    }
    assert_non_null(plan_case_find(it, &spec, SM90));
}

static void unprepared_call_on_the_null_stream_uses_the_current_context(void **state)
{
    plan_case *it = *state;
    fake_cuda_launch launch;
    plan_call call;
    plan_call_init(&call, SM90, 3, 3, 2048);
    assert_int_equal(topk_jit_select(it->context, &call.args, NULL), TOPK_JIT_NO_DEVICE);
    cuda->set_current(contexts[SM90]);
    assert_int_equal(topk_jit_select(it->context, &call.args, NULL), TOPK_JIT_OK);
    cuda->last_launch(&launch);
    assert_int_equal(launch.ordinal, SM90);
    assert_null(launch.stream);
    cuda->set_current(NULL);
}

static void failed_preparation_launches_nothing(void **state)
{
    plan_case *it = *state;
    plan_call call;
    plan_call_init(&call, SM90, 3, 3, 2048);
    nvrtc->inject("nvrtcCompileProgram", 6, 1);
    assert_int_equal(topk_jit_select(it->context, &call.args, streams[SM90]),
                     TOPK_JIT_COMPILE_FAILED);
    assert_int_equal(cuda->launches(), 0);
    assert_int_equal(topk_jit_select(it->context, &call.args, streams[SM90]), TOPK_JIT_OK);
    assert_int_equal(cuda->launches(), 1);
}

/* ---- captures ---- */

static void unprepared_call_leaves_a_capture_as_it_was(void **state)
{
    plan_case *it = *state;
    plan_call call;
    plan_call_init(&call, SM90, 3, 3, 2048);
    call.args.sorted = 1;
    cuda->capture_begin(streams[SM90]);
    assert_int_equal(topk_jit_select(it->context, &call.args, streams[SM90]),
                     TOPK_JIT_NOT_PREPARED);
    plan_case_assert_message("operation=select,layout=plain,topk=2048,dtype=float32,index=int32");
    plan_case_assert_message("sorted");
    assert_true(cuda->capture_end(streams[SM90]));
    assert_int_equal(cuda->launches(), 0);
    assert_int_equal(plan_case_statistics(it).misses, 0);
    assert_int_equal(nvrtc->calls("nvrtcVersion"), 0);
    assert_int_equal(topk_jit_select(it->context, &call.args, streams[SM90]), TOPK_JIT_OK);
}

static void unprepared_call_on_the_null_stream_leaves_another_capture_as_it_was(void **state)
{
    plan_case *it = *state;
    plan_call call;
    plan_call_init(&call, SM90, 3, 3, 2048);
    cuda->set_current(contexts[SM90]);
    cuda->capture_begin(streams[SM90]);
    assert_int_equal(topk_jit_select(it->context, &call.args, NULL), TOPK_JIT_NOT_PREPARED);
    assert_true(cuda->capture_end(streams[SM90]));
    cuda->set_current(NULL);
}

static void spec_prepared_for_another_gpu_is_not_prepared_here(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    plan_call call;
    plan_call_init(&call, SM90, 3, 3, 2048);
    assert_int_equal(plan_case_prepare(it, &spec, SM80), TOPK_JIT_OK);
    cuda->capture_begin(streams[SM90]);
    assert_int_equal(topk_jit_select(it->context, &call.args, streams[SM90]),
                     TOPK_JIT_NOT_PREPARED);
    assert_true(cuda->capture_end(streams[SM90]));
}

static void unprepared_call_works_beside_a_capture_on_another_stream(void **state)
{
    plan_case *it = *state;
    CUstream captured = cuda->stream_create(cuda->context_create(SM90));
    plan_call call;
    plan_call_init(&call, SM90, 3, 3, 2048);
    cuda->capture_begin(captured);
    assert_int_equal(topk_jit_select(it->context, &call.args, streams[SM90]), TOPK_JIT_OK);
    assert_true(cuda->capture_end(captured));
}

/* ---- streams that do not fit the tensors ---- */

static void stream_of_another_gpu_is_refused_before_any_work(void **state)
{
    plan_case *it = *state;
    plan_call call;
    plan_call_init(&call, SM80, 3, 3, 2048);
    assert_int_equal(topk_jit_select(it->context, &call.args, streams[SM90]),
                     TOPK_JIT_INVALID_ARGUMENT);
    plan_case_assert_message("CUDA device 1");
    plan_case_assert_message("device 0");
    assert_int_equal(cuda->launches(), 0);
    assert_int_equal(plan_case_statistics(it).misses, 0);
    assert_int_equal(cuda->live_libraries(), 0);
}

/** A prepared call asks the driver nothing, so it is the driver that refuses. */
static void prepared_call_on_a_stream_of_another_gpu_is_refused_by_the_driver(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    plan_call call;
    plan_call_init(&call, SM80, 3, 3, 2048);
    assert_int_equal(plan_case_prepare(it, &spec, SM80), TOPK_JIT_OK);
    assert_int_equal(topk_jit_select(it->context, &call.args, streams[SM90]),
                     TOPK_JIT_LAUNCH_FAILED);
    assert_int_equal(cuda->launches(), 0);
}

/* ---- wrong arguments ---- */

static void wrong_arguments_never_reach_the_driver(void **state)
{
    plan_case *it = *state;
    plan_call call;
    plan_call_init(&call, SM90, 3, 3, 2048);
    assert_int_equal(topk_jit_select(NULL, &call.args, streams[SM90]), TOPK_JIT_INVALID_ARGUMENT);
    plan_case_assert_message("context is NULL");
    assert_int_equal(topk_jit_select(it->context, NULL, streams[SM90]), TOPK_JIT_INVALID_ARGUMENT);
    call.args.topk = 0;
    assert_int_equal(topk_jit_select(it->context, &call.args, streams[SM90]),
                     TOPK_JIT_INVALID_ARGUMENT);
    plan_case_assert_message("topk");
    call.args.struct_size = 0;
    assert_int_equal(topk_jit_select(it->context, &call.args, streams[SM90]),
                     TOPK_JIT_ABI_MISMATCH);
    assert_int_equal(topk_jit_fast_topk(NULL, &call.score, 1, 1, &call.score, &call.indices, NULL),
                     TOPK_JIT_INVALID_ARGUMENT);
    assert_int_equal(cuda->total_calls(), 0);
}

/** Arguments as a later version may have them. */
typedef struct larger_args {
    topk_jit_select_args known;
    uint64_t unknown;
} larger_args;

static void larger_arguments_are_served_while_they_ask_for_nothing_more(void **state)
{
    plan_case *it = *state;
    plan_call call;
    plan_call_init(&call, SM90, 3, 3, 2048);
    larger_args args = {call.args, 0};
    args.known.struct_size = sizeof args;
    assert_int_equal(topk_jit_select(it->context, &args.known, streams[SM90]), TOPK_JIT_OK);
    args.unknown = 1;
    assert_int_equal(topk_jit_select(it->context, &args.known, streams[SM90]),
                     TOPK_JIT_ABI_MISMATCH);
    assert_int_equal(cuda->launches(), 1);
}

static void spec_of_a_call_is_what_prepares_it(void **state)
{
    plan_case *it = *state;
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    plan_call call;
    plan_call_init(&call, SM90, 3, 3, 777);
    call.args.deterministic = 1;
    assert_int_equal(topk_jit_select_spec(&call.args, &spec), TOPK_JIT_OK);
    assert_int_equal(spec.topk, 777);
    assert_int_equal(topk_jit_prepare(it->context, &spec, 1, streams[SM90]), TOPK_JIT_OK);
    cuda->capture_begin(streams[SM90]);
    assert_int_equal(topk_jit_select(it->context, &call.args, streams[SM90]), TOPK_JIT_OK);
    assert_true(cuda->capture_end(streams[SM90]));
    call.args.topk = 0;
    assert_int_equal(topk_jit_select_spec(&call.args, &spec), TOPK_JIT_INVALID_ARGUMENT);
}

static void workspace_size_needs_a_place_and_a_legal_call(void **state)
{
    (void)state;
    plan_call call;
    size_t size = 99;
    plan_call_init(&call, SM90, 3, 3, 2048);
    assert_int_equal(topk_jit_select_workspace_size(&call.args, NULL), TOPK_JIT_INVALID_ARGUMENT);
    assert_int_equal(topk_jit_select_workspace_size(&call.args, &size), TOPK_JIT_OK);
    assert_int_not_equal(size, 99);
    size = 99;
    call.args.topk = 0;
    assert_int_equal(topk_jit_select_workspace_size(&call.args, &size), TOPK_JIT_INVALID_ARGUMENT);
    assert_int_equal(size, 99);
}

/* ---- the host ---- */

static void host_tensors_take_no_stream(void **state)
{
    plan_case *it = *state;
    float scores[1][4] = {{1, 4, 2, 3}};
    int32_t slots[1][2] = {{77, 77}};
    int64_t score_shape[2] = {1, 4}, index_shape[2] = {1, 2};
    DLTensor score = {scores, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, score_shape, NULL, 0};
    DLTensor indices = {slots, {kDLCPU, 0}, 2, {kDLInt, 32, 1}, index_shape, NULL, 0};
    topk_jit_select_args args = TOPK_JIT_SELECT_ARGS_INIT;
    args.score = &score;
    args.indices = &indices;
    args.topk = 2;
    args.sorted = 1;
    assert_int_equal(topk_jit_select(it->context, &args, streams[SM90]), TOPK_JIT_INVALID_ARGUMENT);
    plan_case_assert_message("stream");
    assert_int_equal(slots[0][0], 77);
    score.device.device_type = indices.device.device_type = kDLCUDAHost;
    assert_int_equal(topk_jit_select(it->context, &args, NULL), TOPK_JIT_OK);
    assert_int_equal(slots[0][0], 1);
    assert_int_equal(slots[0][1], 3);
    assert_int_equal(cuda->total_calls(), 0);
}

#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, plan_case_set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(wrong_arguments_never_reach_the_driver),
        TEST(host_tensors_take_no_stream),
        TEST(unprepared_call_prepares_itself_and_launches),
        TEST(unprepared_call_on_the_null_stream_uses_the_current_context),
        TEST(failed_preparation_launches_nothing),
        TEST(unprepared_call_leaves_a_capture_as_it_was),
        TEST(unprepared_call_on_the_null_stream_leaves_another_capture_as_it_was),
        TEST(spec_prepared_for_another_gpu_is_not_prepared_here),
        TEST(unprepared_call_works_beside_a_capture_on_another_stream),
        TEST(stream_of_another_gpu_is_refused_before_any_work),
        TEST(prepared_call_on_a_stream_of_another_gpu_is_refused_by_the_driver),
        TEST(larger_arguments_are_served_while_they_ask_for_nothing_more),
        TEST(spec_of_a_call_is_what_prepares_it),
        TEST(workspace_size_needs_a_place_and_a_legal_call),
    };
    return cmocka_run_group_tests_name("api_unprepared", tests, NULL, NULL);
}
