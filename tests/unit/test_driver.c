/* SPDX-License-Identifier: Apache-2.0 */
/* The first tests open the driver, in order: it is opened once per process. */
#include "testing.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "driver.h"
#include "fake_cuda.h"

#define NO_DEVICE_CODE 100
#define NO_BINARY_CODE 209
#define NOT_FOUND_CODE 500
#define ANY_CODE 719
#define SHARED_WITHOUT_OPT_IN (48 * 1024)

static const fake_cuda *fake;
static void *contexts[FAKE_CUDA_DEVICES];
static CUstream streams[FAKE_CUDA_DEVICES];

static const char cubin_80[] = "FAKECUBIN sm_80\nentry first\nentry second\nend\n";
static const char cubin_90[] = "FAKECUBIN sm_90\nentry first\nentry second\nend\n";
static const char *const cubins[] = {cubin_80, cubin_90};

/* ---- what the linker puts in the place of dlopen and dlsym ---- */

static bool libcuda_is_missing;
static const char *missing_symbol;

void *__real_dlopen(const char *name, int flags);
void *__real_dlsym(void *library, const char *symbol);
void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlsym(void *library, const char *symbol);

void *__wrap_dlopen(const char *name, int flags)
{
    return __real_dlopen(libcuda_is_missing ? "/nowhere/libcuda.so.1" : name, flags);
}

void *__wrap_dlsym(void *library, const char *symbol)
{
    bool missing = missing_symbol != NULL && strcmp(symbol, missing_symbol) == 0;
    return missing ? NULL : __real_dlsym(library, symbol);
}

/* ---- helpers ---- */

static int start(void **state)
{
    (void)state;
    fake->reset();
    for (int i = 0; i < FAKE_CUDA_DEVICES; i++) {
        contexts[i] = fake->context_create(i);
        streams[i] = fake->stream_create(contexts[i]);
    }
    return 0;
}

static void assert_message_has(const char *text)
{
    if (strstr(topk_jit_last_error()->message, text) == NULL)
        fail_msg("'%s' is not in '%s'", text, topk_jit_last_error()->message);
}

static void assert_open_fails(topk_jit_status expected, int native_code, const char *text)
{
    int version = -1;
    assert_int_equal(tkj_driver_open(&version), expected);
    assert_int_equal(topk_jit_last_error()->status, expected);
    assert_int_equal(topk_jit_last_error()->native_code, native_code);
    assert_message_has(text);
    assert_int_equal(version, -1);
}

/** The thread is as the caller had it: context, context stack and capture mode. */
static void assert_thread_is_as_before(void *current)
{
    assert_ptr_equal(fake->current(), current);
    assert_int_equal(fake->stack_depth(), 0);
    assert_int_equal(fake->capture_mode(), 0);
}

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

/* ---- opening ---- */

static void missing_libcuda_has_its_own_status(void **state)
{
    (void)state;
    libcuda_is_missing = true;
    assert_open_fails(TOPK_JIT_DRIVER_NOT_FOUND, 0, "libcuda.so.1");
    libcuda_is_missing = false;
}

static void library_that_is_no_driver_is_not_found(void **state)
{
    (void)state;
    missing_symbol = "cuDriverGetVersion";
    assert_open_fails(TOPK_JIT_DRIVER_NOT_FOUND, 0, "cuDriverGetVersion");
    missing_symbol = NULL;
}

static void stub_library_of_the_toolkit_is_no_driver(void **state)
{
    (void)state;
    fake->inject("cuDriverGetVersion", 34, 1);
    assert_open_fails(TOPK_JIT_DRIVER_NOT_FOUND, 34, "stub");
}

static void driver_that_cannot_tell_its_version_fails(void **state)
{
    (void)state;
    fake->inject("cuDriverGetVersion", ANY_CODE, 1);
    assert_open_fails(TOPK_JIT_DRIVER_FAILED, ANY_CODE, "cuDriverGetVersion");
}

static void driver_older_than_12_0_is_named(void **state)
{
    (void)state;
    fake->set_version(11080);
    assert_open_fails(TOPK_JIT_DRIVER_TOO_OLD, 0, "11.8");
    assert_message_has("12.0");
    assert_int_equal(fake->calls("cuInit"), 0);
}

static void age_is_the_reason_even_if_functions_are_missing(void **state)
{
    (void)state;
    fake->set_version(11080);
    fake->hide("cuLibraryLoadData");
    missing_symbol = "cuGetProcAddress_v2";
    assert_open_fails(TOPK_JIT_DRIVER_TOO_OLD, 0, "11.8");
    missing_symbol = NULL;
}

static void missing_cuGetProcAddress_is_named(void **state)
{
    (void)state;
    missing_symbol = "cuGetProcAddress_v2";
    assert_open_fails(TOPK_JIT_DRIVER_FAILED, 0, "cuGetProcAddress_v2");
    missing_symbol = NULL;
}

static void every_missing_function_is_named(void **state)
{
    (void)state;
    static const char *const functions[] = {
        "cuInit",
        "cuGetErrorName",
        "cuGetErrorString",
        "cuDeviceGet",
        "cuDeviceGetCount",
        "cuDeviceGetAttribute",
        "cuCtxGetCurrent",
        "cuCtxGetDevice",
        "cuCtxPushCurrent",
        "cuCtxPopCurrent",
        "cuStreamGetCtx",
        "cuStreamIsCapturing",
        "cuThreadExchangeStreamCaptureMode",
        "cuModuleLoadDataEx",
        "cuModuleUnload",
        "cuLibraryLoadData",
        "cuLibraryUnload",
        "cuLibraryGetKernel",
        "cuKernelGetFunction",
        "cuKernelSetAttribute",
        "cuLaunchKernelEx",
    };
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        fake->reset();
        fake->hide(functions[i]);
        assert_open_fails(TOPK_JIT_DRIVER_FAILED, 0, functions[i]);
        assert_int_equal(fake->calls("cuInit"), 0);
    }
}

static void machine_without_a_device_has_its_own_status(void **state)
{
    (void)state;
    fake->set_device_count(0);
    assert_open_fails(TOPK_JIT_NO_DEVICE, NO_DEVICE_CODE, "CUDA_ERROR_NO_DEVICE");
}

static void failed_cuInit_is_reported_in_the_drivers_words(void **state)
{
    (void)state;
    fake->inject("cuInit", 2, 1);
    assert_open_fails(TOPK_JIT_DRIVER_FAILED, 2, "cuInit: CUDA_ERROR_OUT_OF_MEMORY");
    assert_message_has("out of memory");
}

static void code_without_a_name_is_reported_all_the_same(void **state)
{
    (void)state;
    fake->inject("cuInit", 4711, 1);
    assert_open_fails(TOPK_JIT_DRIVER_FAILED, 4711, "cuInit: unknown error");
}

static void *open_in_a_thread(void *version)
{
    return (void *)(intptr_t)tkj_driver_open(version);
}

static void threads_that_open_together_initialise_once(void **state)
{
    (void)state;
    fake->set_version(12040);
    pthread_t threads[8];
    int versions[8] = {0};
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_in_a_thread, &versions[i]), 0);
    for (int i = 0; i < 8; i++) {
        void *status;
        pthread_join(threads[i], &status);
        assert_int_equal((intptr_t)status, TOPK_JIT_OK);
        assert_int_equal(versions[i], 12040);
    }
    assert_int_equal(fake->calls("cuInit"), 1);
}

static void open_driver_is_not_asked_again(void **state)
{
    (void)state;
    int version = 0;
    assert_int_equal(tkj_driver_open(&version), TOPK_JIT_OK);
    assert_int_equal(version, 12040);
    assert_int_equal(fake->total_calls(), 0);
}

/* ---- devices and streams ---- */

static void facts_are_those_of_the_device_asked(void **state)
{
    (void)state;
    int count = 0;
    tkj_device_facts first, second;
    assert_int_equal(tkj_driver_device_count(&count), TOPK_JIT_OK);
    assert_int_equal(count, 2);
    assert_int_equal(tkj_driver_device_facts(0, &first), TOPK_JIT_OK);
    assert_int_equal(tkj_driver_device_facts(1, &second), TOPK_JIT_OK);
    const tkj_device_facts expected[] = {
        {0, 8, 0, 108, 166912, 40 << 20, false},
        {1, 9, 0, 132, 232448, 50 << 20, true},
    };
    assert_int_equal(first.ordinal, 0);
    assert_int_equal(first.compute_major, expected[0].compute_major);
    assert_int_equal(first.compute_minor, expected[0].compute_minor);
    assert_int_equal(first.sm_count, expected[0].sm_count);
    assert_int_equal(first.shared_per_block, expected[0].shared_per_block);
    assert_int_equal(first.l2_bytes, expected[0].l2_bytes);
    assert_false(first.clusters);
    assert_int_equal(second.ordinal, 1);
    assert_int_equal(second.compute_major, expected[1].compute_major);
    assert_int_equal(second.sm_count, expected[1].sm_count);
    assert_int_equal(second.shared_per_block, expected[1].shared_per_block);
    assert_true(second.clusters);
    assert_thread_is_as_before(NULL);
}

static void unknown_ordinal_is_no_device(void **state)
{
    (void)state;
    tkj_device_facts facts;
    assert_int_equal(tkj_driver_device_facts(2, &facts), TOPK_JIT_NO_DEVICE);
    assert_message_has("2");
    assert_int_equal(tkj_driver_device_facts(-1, &facts), TOPK_JIT_NO_DEVICE);
    assert_thread_is_as_before(NULL);
}

static void device_of_a_stream_is_that_of_its_context(void **state)
{
    (void)state;
    int ordinal = -1;
    fake->set_current(contexts[0]);
    assert_int_equal(tkj_driver_stream_device(streams[1], &ordinal), TOPK_JIT_OK);
    assert_int_equal(ordinal, 1);
    assert_int_equal(tkj_driver_stream_device(streams[0], &ordinal), TOPK_JIT_OK);
    assert_int_equal(ordinal, 0);
    assert_thread_is_as_before(contexts[0]);
}

static void device_of_the_null_stream_is_the_current_one(void **state)
{
    (void)state;
    int ordinal = -1;
    fake->set_current(contexts[1]);
    assert_int_equal(tkj_driver_stream_device(NULL, &ordinal), TOPK_JIT_OK);
    assert_int_equal(ordinal, 1);
    assert_int_equal(fake->calls("cuStreamGetCtx"), 0);
    assert_thread_is_as_before(contexts[1]);
}

static void special_streams_have_the_current_device(void **state)
{
    (void)state;
    int ordinal = -1;
    fake->set_current(contexts[1]);
    for (uintptr_t handle = 1; handle <= 2; handle++) { /* CU_STREAM_LEGACY, _PER_THREAD */
        assert_int_equal(tkj_driver_stream_device((CUstream)handle, &ordinal), TOPK_JIT_OK);
        assert_int_equal(ordinal, 1);
    }
}

static void no_current_context_is_no_device(void **state)
{
    (void)state;
    int ordinal = -1;
    bool capturing;
    assert_int_equal(tkj_driver_stream_device(NULL, &ordinal), TOPK_JIT_NO_DEVICE);
    assert_message_has("no CUDA context");
    assert_int_equal(tkj_driver_stream_device((CUstream)(uintptr_t)1, &ordinal),
                     TOPK_JIT_NO_DEVICE);
    assert_int_equal(tkj_driver_is_capturing(NULL, &capturing), TOPK_JIT_NO_DEVICE);
    assert_int_equal(ordinal, -1);
    assert_thread_is_as_before(NULL);
}

static void capturing_stream_is_recognised(void **state)
{
    (void)state;
    bool capturing = true;
    assert_int_equal(tkj_driver_is_capturing(streams[0], &capturing), TOPK_JIT_OK);
    assert_false(capturing);
    fake->capture_begin(streams[0]);
    assert_int_equal(tkj_driver_is_capturing(streams[0], &capturing), TOPK_JIT_OK);
    assert_true(capturing);
    assert_int_equal(tkj_driver_is_capturing(streams[1], &capturing), TOPK_JIT_OK);
    assert_false(capturing);
    assert_true(fake->capture_end(streams[0]));
}

static void legacy_stream_beside_a_capture_counts_as_capturing(void **state)
{
    (void)state;
    bool capturing = false;
    fake->set_current(contexts[0]);
    fake->capture_begin(streams[0]);
    assert_int_equal(tkj_driver_is_capturing(NULL, &capturing), TOPK_JIT_OK);
    assert_true(capturing);
    fake->set_current(contexts[1]);
    assert_int_equal(tkj_driver_is_capturing(NULL, &capturing), TOPK_JIT_OK);
    assert_false(capturing);
    assert_true(fake->capture_end(streams[0]));
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
    const tkj_launch launch = {large.kernel, 1, 32, SHARED_WITHOUT_OPT_IN + 1, false};
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
        start(NULL);
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
    const tkj_launch launch = {kernel.kernel, 70000, 512, 4096, false};
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

static void launch_overlaps_its_predecessor_only_when_asked(void **state)
{
    (void)state;
    tkj_kernel kernel = load(1, 0);
    const tkj_launch launch = {kernel.kernel, 1, 32, 0, true};
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
    const tkj_launch launch = {kernel.kernel, 1, 32, 0, true};
    int before = fake->total_calls();
    assert_int_equal(tkj_driver_launch(&launch, &launch, streams[1]), TOPK_JIT_OK);
    assert_int_equal(fake->total_calls(), before + 1);
    tkj_driver_unload(&kernel);
}

static void launch_into_a_capture_leaves_it_valid(void **state)
{
    (void)state;
    tkj_kernel kernel = load(1, 0);
    const tkj_launch launch = {kernel.kernel, 1, 32, 0, false};
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
    const tkj_launch launch = {kernel.kernel, 1, 32, 0, false};
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
    const tkj_launch launch = {kernel.kernel, 1, 32, 0, false};
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
        const tkj_launch launch = {kernel.kernel, 1, 32, 0, i % 2 == 0};
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

#define TEST(function) cmocka_unit_test_setup(function, start)

int main(void)
{
    fake = fake_cuda_connect();
    if (fake == NULL) {
        print_error("libcuda.so.1 is not the fake: LD_LIBRARY_PATH must name its directory\n");
        return 1;
    }
    const struct CMUnitTest tests[] = {
        TEST(missing_libcuda_has_its_own_status),
        TEST(library_that_is_no_driver_is_not_found),
        TEST(stub_library_of_the_toolkit_is_no_driver),
        TEST(driver_that_cannot_tell_its_version_fails),
        TEST(driver_older_than_12_0_is_named),
        TEST(age_is_the_reason_even_if_functions_are_missing),
        TEST(missing_cuGetProcAddress_is_named),
        TEST(every_missing_function_is_named),
        TEST(machine_without_a_device_has_its_own_status),
        TEST(failed_cuInit_is_reported_in_the_drivers_words),
        TEST(code_without_a_name_is_reported_all_the_same),
        TEST(threads_that_open_together_initialise_once),
        TEST(open_driver_is_not_asked_again),
        TEST(facts_are_those_of_the_device_asked),
        TEST(unknown_ordinal_is_no_device),
        TEST(device_of_a_stream_is_that_of_its_context),
        TEST(device_of_the_null_stream_is_the_current_one),
        TEST(special_streams_have_the_current_device),
        TEST(no_current_context_is_no_device),
        TEST(capturing_stream_is_recognised),
        TEST(legacy_stream_beside_a_capture_counts_as_capturing),
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
        TEST(launch_overlaps_its_predecessor_only_when_asked),
        TEST(launch_is_one_call_of_the_driver),
        TEST(launch_into_a_capture_leaves_it_valid),
        TEST(refused_launch_is_reported_in_the_drivers_words),
        TEST(kernel_of_one_device_is_refused_on_another),
        TEST(threads_load_and_launch_on_both_devices),
    };
    return cmocka_run_group_tests_name("driver", tests, NULL, NULL);
}
