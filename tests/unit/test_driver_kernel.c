/* SPDX-License-Identifier: Apache-2.0 */
/* Loading and launching, and every call of the driver that can fail. */
#include "driver_case.h"

#include <pthread.h>
#include <string.h>

#define NO_BINARY_CODE 209
#define NOT_FOUND_CODE 500
#define SHARED_WITHOUT_OPT_IN (48 * 1024)

static const char cubin_80[] = "FAKECUBIN sm_80\nentry first\nentry second\nend\n";
static const char cubin_90[] = "FAKECUBIN sm_90\nentry first\nentry second\nend\n";
static const char *const cubins[] = {cubin_80, cubin_90};

static tkj_kernel load(int ordinal, uint32_t shared_bytes)
{
    tkj_kernel kernel;
    assert_int_equal(
        tkj_driver_load(cubins[ordinal], "first", shared_bytes, ordinal, streams[ordinal], &kernel),
        TOPK_JIT_OK);
    return kernel;
}

static void assert_load_fails(const char *image, const char *entry, int ordinal, int native_code)
{
    tkj_kernel kernel = {&kernel, &kernel};
    assert_int_equal(tkj_driver_load(image, entry, 0, ordinal, streams[ordinal], &kernel),
                     TOPK_JIT_LOAD_FAILED);
    assert_int_equal(topk_jit_last_error()->native_code, native_code);
    assert_null(kernel.library);
    assert_null(kernel.kernel);
    assert_int_equal(fake->live_libraries(), 0);
    assert_thread_is_as_before(NULL);
}

/* ---- loading ---- */

static void kernel_is_loaded_into_the_context_of_its_stream(void **state)
{
    (void)state;
    fake->set_current(contexts[0]);
    tkj_kernel kernel = load(1, 1024);
    assert_non_null(kernel.library);
    assert_non_null(kernel.kernel);
    assert_int_equal(fake->live_libraries(), 1);
    assert_int_equal(fake->calls("cuKernelGetFunction"), 1);
    assert_thread_is_as_before(contexts[0]);
    tkj_driver_unload(&kernel);
    assert_null(kernel.library);
    assert_int_equal(fake->live_libraries(), 0);
    assert_thread_is_as_before(contexts[0]);
}

static void two_devices_of_different_architecture_load_their_own(void **state)
{
    (void)state;
    tkj_kernel first = load(0, 0), second = load(1, 0);
    assert_int_equal(fake->live_libraries(), 2);
    tkj_driver_unload(&first);
    assert_int_equal(fake->live_libraries(), 1);
    tkj_driver_unload(&second);
    assert_int_equal(fake->live_libraries(), 0);
}

static void cubin_of_another_architecture_is_refused(void **state)
{
    (void)state;
    assert_load_fails(cubin_80, "first", 1, NO_BINARY_CODE);
    assert_message_has("first");
    assert_message_has("CUDA_ERROR_NO_BINARY_FOR_GPU");
    assert_message_has("no kernel image is available");
    assert_load_fails(cubin_90, "first", 0, NO_BINARY_CODE);
    assert_load_fails("FAKECUBIN sm_86\nentry first\n", "first", 0, NO_BINARY_CODE);
}

static void ptx_runs_on_newer_architectures(void **state)
{
    (void)state;
    tkj_kernel kernel;
    assert_int_equal(
        tkj_driver_load("FAKEPTX compute_80\nentry first\n", "first", 0, 1, streams[1], &kernel),
        TOPK_JIT_OK);
    tkj_driver_unload(&kernel);
    assert_int_equal(fake->calls("cuModuleLoadDataEx"), 0);
}

static void reason_of_the_drivers_compiler_is_in_the_message(void **state)
{
    (void)state;
    assert_load_fails("FAKEPTX compute_90\nentry first\n", "first", 0, NO_BINARY_CODE);
    assert_message_has("ptxas fatal   : fake refuses this image");
    assert_null(strchr(topk_jit_last_error()->message, '\n'));
}

static void cubin_is_not_compiled_again_for_a_reason(void **state)
{
    (void)state;
    assert_load_fails("\177ELF is not what the fake knows", "first", 0, 200);
    assert_int_equal(fake->calls("cuModuleLoadDataEx"), 0);
}

static void missing_entry_is_a_failed_load(void **state)
{
    (void)state;
    assert_load_fails(cubin_90, "third", 1, NOT_FOUND_CODE);
    assert_message_has("third");
}

static void load_without_a_context_is_no_device(void **state)
{
    (void)state;
    tkj_kernel kernel;
    assert_int_equal(tkj_driver_load(cubin_90, "first", 0, 1, NULL, &kernel), TOPK_JIT_NO_DEVICE);
    assert_null(kernel.library);
    assert_thread_is_as_before(NULL);
}

static void shared_memory_is_asked_for_once_and_above_48_kib_only(void **state)
{
    (void)state;
    tkj_kernel small = load(1, SHARED_WITHOUT_OPT_IN);
    assert_int_equal(fake->calls("cuKernelSetAttribute"), 0);
    tkj_kernel large = load(1, SHARED_WITHOUT_OPT_IN + 1);
    assert_int_equal(fake->calls("cuKernelSetAttribute"), 1);
    assert_int_equal(fake->shared_allowed(large.kernel, 1), SHARED_WITHOUT_OPT_IN + 1);
    assert_int_equal(fake->shared_allowed(large.kernel, 0), 0);
    const tkj_launch launch = {large.kernel, 1, 32, SHARED_WITHOUT_OPT_IN + 1, 1, false};
    for (int i = 0; i < 3; i++)
        assert_int_equal(tkj_driver_launch(&launch, &launch, streams[1]), TOPK_JIT_OK);
    assert_int_equal(fake->calls("cuKernelSetAttribute"), 1);
    tkj_driver_unload(&small);
    tkj_driver_unload(&large);
}

static void more_shared_memory_than_the_device_has_is_refused(void **state)
{
    (void)state;
    tkj_kernel kernel;
    assert_int_equal(tkj_driver_load(cubin_80, "first", 200000, 0, streams[0], &kernel),
                     TOPK_JIT_LOAD_FAILED);
    assert_message_has("shared memory");
    assert_null(kernel.library);
    assert_int_equal(fake->live_libraries(), 0);
    assert_thread_is_as_before(NULL);
}

static void loading_leaves_a_capture_of_another_stream_valid(void **state)
{
    (void)state;
    tkj_device_facts facts;
    int ordinal, count;
    fake->capture_begin(streams[0]);
    tkj_kernel kernel = load(1, 64 * 1024);
    assert_int_equal(tkj_driver_device_facts(0, &facts), TOPK_JIT_OK);
    assert_int_equal(tkj_driver_device_count(&count), TOPK_JIT_OK);
    assert_int_equal(tkj_driver_stream_device(streams[1], &ordinal), TOPK_JIT_OK);
    tkj_driver_unload(&kernel);
    assert_true(fake->capture_end(streams[0]));
    assert_thread_is_as_before(NULL);
}

/* ---- every call fails in turn ---- */

static topk_jit_status attempt_count(void)
{
    int count;
    return tkj_driver_device_count(&count);
}

static topk_jit_status attempt_facts(void)
{
    tkj_device_facts facts;
    return tkj_driver_device_facts(1, &facts);
}

static topk_jit_status attempt_stream_device(void)
{
    int ordinal;
    return tkj_driver_stream_device(streams[1], &ordinal);
}

static topk_jit_status attempt_null_stream_device(void)
{
    int ordinal;
    return tkj_driver_stream_device(NULL, &ordinal);
}

static topk_jit_status attempt_is_capturing(void)
{
    bool capturing;
    return tkj_driver_is_capturing(streams[1], &capturing);
}

static topk_jit_status attempt_load(void)
{
    tkj_kernel kernel = {&kernel, &kernel};
    topk_jit_status status = tkj_driver_load(cubin_90, "first", 64 * 1024, 1, streams[1], &kernel);
    if (status == TOPK_JIT_OK)
        tkj_driver_unload(&kernel);
    assert_null(kernel.library);
    assert_null(kernel.kernel);
    return status;
}

/** Fails the first call, the second, ... until the attempt gets by. @return how many could fail */
static int fail_every_call(topk_jit_status (*attempt)(void))
{
    for (int nth = 1;; nth++) {
        driver_case_start(NULL);
        fake->set_current(contexts[1]);
        fake->inject_any(ANY_CODE, nth);
        topk_jit_status status = attempt();
        const char *failed = fake->failed();
        assert_int_equal(fake->live_libraries(), strcmp(failed, "cuLibraryUnload") == 0);
        if (status == TOPK_JIT_OK)
            return nth - 1;
        assert_true(status == TOPK_JIT_LOAD_FAILED || status == TOPK_JIT_DRIVER_FAILED);
        assert_int_equal(topk_jit_last_error()->status, status);
        assert_int_equal(topk_jit_last_error()->native_code, ANY_CODE);
        assert_message_has(failed);
        assert_ptr_equal(fake->current(), contexts[1]);
        assert_int_equal(fake->stack_depth(), strcmp(failed, "cuCtxPopCurrent") == 0);
        if (strcmp(failed, "cuThreadExchangeStreamCaptureMode") != 0)
            assert_int_equal(fake->capture_mode(), 0);
    }
}

static void every_failed_query_is_reported_and_undone(void **state)
{
    (void)state;
    assert_int_equal(fail_every_call(attempt_count), 3);
    assert_int_equal(fail_every_call(attempt_facts), 2 + 1 + 6);
    assert_int_equal(fail_every_call(attempt_stream_device), 2 + 4);
    assert_int_equal(fail_every_call(attempt_null_stream_device), 2 + 4);
    assert_int_equal(fail_every_call(attempt_is_capturing), 3);
}

static void every_failed_step_of_a_load_is_reported_and_undone(void **state)
{
    (void)state;
    /* relax, context, push, load, kernel, device, attribute, function, pop, restore */
    assert_int_equal(fail_every_call(attempt_load), 10);
}

static void failed_unload_is_ignored(void **state)
{
    (void)state;
    tkj_kernel kernel = load(0, 0);
    fake->inject("cuLibraryUnload", 4, 1);
    tkj_driver_unload(&kernel);
    assert_null(kernel.library);
    assert_null(kernel.kernel);
    assert_thread_is_as_before(NULL);
}

static void unloading_nothing_calls_nothing(void **state)
{
    (void)state;
    tkj_kernel kernel = {NULL, NULL};
    tkj_driver_unload(&kernel);
    assert_int_equal(fake->total_calls(), 0);
}

/* ---- launching ---- */

static void launch_passes_shape_and_parameters(void **state)
{
    (void)state;
    tkj_kernel kernel = load(1, 0);
    unsigned char params[200];
    for (size_t i = 0; i < sizeof params; i++)
        params[i] = (unsigned char)(i * 7);
    const tkj_launch launch = {kernel.kernel, 70000, 512, 4096, 1, false};
    fake->set_params_size(sizeof params);
    assert_int_equal(tkj_driver_launch(&launch, params, streams[1]), TOPK_JIT_OK);
    fake_cuda_launch last;
    fake->last_launch(&last);
    assert_string_equal(last.kernel, "first");
    assert_ptr_equal(last.stream, streams[1]);
    assert_int_equal(last.ordinal, 1);
    assert_memory_equal(last.grid, ((unsigned[]){70000, 1, 1}), sizeof last.grid);
    assert_memory_equal(last.block, ((unsigned[]){512, 1, 1}), sizeof last.block);
    assert_int_equal(last.shared_bytes, 4096);
    assert_int_equal(last.attribute_count, 0);
    assert_false(last.pdl);
    assert_memory_equal(last.params, params, sizeof params);
    tkj_driver_unload(&kernel);
}

static int cluster_max(const tkj_kernel *kernel, CUstream stream)
{
    const tkj_launch launch = {.kernel = kernel->kernel, .threads = 512, .shared_bytes = 1000};
    int most = -1;
    assert_int_equal(tkj_driver_cluster_max(&launch, 16, stream, &most), TOPK_JIT_OK);
    return most;
}

static void clusters_are_as_large_as_there_is_room_for(void **state)
{
    (void)state;
    tkj_kernel kernel = load(1, 0);
    assert_int_equal(cluster_max(&kernel, streams[1]), 16);
    for (int room = 0; room <= 17; room++) {
        fake->set_cluster_room(room);
        assert_int_equal(cluster_max(&kernel, streams[1]), room >= 16  ? 16
                                                           : room >= 8 ? 8
                                                           : room >= 4 ? 4
                                                           : room >= 2 ? 2
                                                                       : 1);
    }
    tkj_driver_unload(&kernel);
}

static void a_size_that_the_driver_does_not_know_is_not_used(void **state)
{
    (void)state;
    enum { INVALID_CLUSTER_SIZE = 912 };
    tkj_kernel kernel = load(1, 0);
    fake->inject("cuOccupancyMaxActiveClusters", INVALID_CLUSTER_SIZE, 1);
    assert_int_equal(cluster_max(&kernel, streams[1]), 8);
    tkj_driver_unload(&kernel);
}

static void large_clusters_are_used_only_where_the_driver_allows_them(void **state)
{
    (void)state;
    enum { NOT_SUPPORTED = 801 };
    tkj_kernel kernel = load(1, 0);
    fake->inject("cuKernelSetAttribute", NOT_SUPPORTED, 1);
    assert_int_equal(cluster_max(&kernel, streams[1]), 8);
    assert_int_equal(cluster_max(&kernel, streams[1]), 16);
    tkj_driver_unload(&kernel);
}

static void launch_names_its_cluster(void **state)
{
    (void)state;
    tkj_kernel kernel = load(1, 0);
    const tkj_launch launch = {kernel.kernel, 16, 32, 0, 8, true};
    assert_int_equal(tkj_driver_launch(&launch, &launch, streams[1]), TOPK_JIT_OK);
    fake_cuda_launch last;
    fake->last_launch(&last);
    assert_int_equal(last.attribute_count, 2);
    assert_int_equal(last.attribute_ids[1], 4); /* CLUSTER_DIMENSION */
    assert_int_equal(last.grid[0], 16);
    tkj_driver_unload(&kernel);
}

static void kernel_loads_into_a_further_context(void **state)
{
    (void)state;
    tkj_kernel kernel = load(1, 0);
    assert_int_equal(tkj_driver_load_into(&kernel, 1, streams[1]), TOPK_JIT_OK);
    fake->inject("cuKernelGetFunction", 999, 1);
    assert_int_equal(tkj_driver_load_into(&kernel, 1, streams[1]), TOPK_JIT_LOAD_FAILED);
    assert_int_equal(topk_jit_last_error()->native_code, 999);
    tkj_driver_unload(&kernel);
}

static void launch_overlaps_its_predecessor_only_when_asked(void **state)
{
    (void)state;
    tkj_kernel kernel = load(1, 0);
    const tkj_launch launch = {kernel.kernel, 1, 32, 0, 1, true};
    assert_int_equal(tkj_driver_launch(&launch, &launch, streams[1]), TOPK_JIT_OK);
    fake_cuda_launch last;
    fake->last_launch(&last);
    assert_int_equal(last.attribute_count, 1);
    assert_int_equal(last.attribute_ids[0], 6); /* PROGRAMMATIC_STREAM_SERIALIZATION */
    assert_true(last.pdl);
    tkj_driver_unload(&kernel);
}

static void launch_is_one_call_of_the_driver(void **state)
{
    (void)state;
    tkj_kernel kernel = load(1, 0);
    const tkj_launch launch = {kernel.kernel, 1, 32, 0, 1, true};
    int before = fake->total_calls();
    assert_int_equal(tkj_driver_launch(&launch, &launch, streams[1]), TOPK_JIT_OK);
    assert_int_equal(fake->total_calls(), before + 1);
    tkj_driver_unload(&kernel);
}

static void launch_into_a_capture_leaves_it_valid(void **state)
{
    (void)state;
    tkj_kernel kernel = load(1, 0);
    const tkj_launch launch = {kernel.kernel, 1, 32, 0, 1, false};
    fake->capture_begin(streams[1]);
    assert_int_equal(tkj_driver_launch(&launch, &launch, streams[1]), TOPK_JIT_OK);
    assert_true(fake->capture_end(streams[1]));
    fake_cuda_launch last;
    fake->last_launch(&last);
    assert_true(last.captured);
    tkj_driver_unload(&kernel);
}

static void refused_launch_is_reported_in_the_drivers_words(void **state)
{
    (void)state;
    tkj_kernel kernel = load(1, 0);
    const tkj_launch launch = {kernel.kernel, 1, 32, 0, 1, false};
    fake->inject("cuLaunchKernelEx", ANY_CODE, 1);
    assert_int_equal(tkj_driver_launch(&launch, &launch, streams[1]), TOPK_JIT_LAUNCH_FAILED);
    assert_int_equal(topk_jit_last_error()->native_code, ANY_CODE);
    assert_message_has("cuLaunchKernelEx: CUDA_ERROR_LAUNCH_FAILED");
    assert_int_equal(fake->launches(), 0);
    tkj_driver_unload(&kernel);
}

static void kernel_of_one_device_is_refused_on_another(void **state)
{
    (void)state;
    tkj_kernel kernel = load(0, 0);
    const tkj_launch launch = {kernel.kernel, 1, 32, 0, 1, false};
    assert_int_equal(tkj_driver_launch(&launch, &launch, streams[1]), TOPK_JIT_LAUNCH_FAILED);
    assert_int_equal(topk_jit_last_error()->native_code, NO_BINARY_CODE);
    tkj_driver_unload(&kernel);
}

static void *load_and_launch(void *ordinal_of_thread)
{
    int ordinal = (int)(intptr_t)ordinal_of_thread;
    for (int i = 0; i < 50; i++) {
        tkj_kernel kernel;
        if (tkj_driver_load(cubins[ordinal], "second", 0, ordinal, streams[ordinal], &kernel) !=
            TOPK_JIT_OK)
            return NULL;
        const tkj_launch launch = {kernel.kernel, 1, 32, 0, 1, i % 2 == 0};
        if (tkj_driver_launch(&launch, &launch, streams[ordinal]) != TOPK_JIT_OK)
            return NULL;
        tkj_driver_unload(&kernel);
    }
    return ordinal_of_thread == NULL ? &streams : ordinal_of_thread;
}

static void threads_load_and_launch_on_both_devices(void **state)
{
    (void)state;
    pthread_t threads[8];
    for (intptr_t i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, load_and_launch, (void *)(i % 2)), 0);
    for (int i = 0; i < 8; i++) {
        void *done = NULL;
        pthread_join(threads[i], &done);
        assert_non_null(done);
    }
    assert_int_equal(fake->launches(), 8 * 50);
    assert_int_equal(fake->live_libraries(), 0);
}

#define TEST(function) cmocka_unit_test_setup(function, driver_case_start)

int main(void)
{
    int version;
    if (!driver_case_connect() || tkj_driver_open(&version) != TOPK_JIT_OK)
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(kernel_is_loaded_into_the_context_of_its_stream),
        TEST(two_devices_of_different_architecture_load_their_own),
        TEST(cubin_of_another_architecture_is_refused),
        TEST(ptx_runs_on_newer_architectures),
        TEST(reason_of_the_drivers_compiler_is_in_the_message),
        TEST(cubin_is_not_compiled_again_for_a_reason),
        TEST(missing_entry_is_a_failed_load),
        TEST(load_without_a_context_is_no_device),
        TEST(shared_memory_is_asked_for_once_and_above_48_kib_only),
        TEST(more_shared_memory_than_the_device_has_is_refused),
        TEST(loading_leaves_a_capture_of_another_stream_valid),
        TEST(every_failed_query_is_reported_and_undone),
        TEST(every_failed_step_of_a_load_is_reported_and_undone),
        TEST(failed_unload_is_ignored),
        TEST(unloading_nothing_calls_nothing),
        TEST(launch_passes_shape_and_parameters),
        TEST(clusters_are_as_large_as_there_is_room_for),
        TEST(a_size_that_the_driver_does_not_know_is_not_used),
        TEST(large_clusters_are_used_only_where_the_driver_allows_them),
        TEST(launch_names_its_cluster),
        TEST(kernel_loads_into_a_further_context),
        TEST(launch_overlaps_its_predecessor_only_when_asked),
        TEST(launch_is_one_call_of_the_driver),
        TEST(launch_into_a_capture_leaves_it_valid),
        TEST(refused_launch_is_reported_in_the_drivers_words),
        TEST(kernel_of_one_device_is_refused_on_another),
        TEST(threads_load_and_launch_on_both_devices),
    };
    return cmocka_run_group_tests_name("driver_kernel", tests, NULL, NULL);
}
