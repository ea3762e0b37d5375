/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, devices and streams. The first tests open the driver, in order: that is done once per
 * process. */
#include "driver_case.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define NO_DEVICE_CODE 100

/* ---- what the linker puts in the place of dlopen and dlsym ---- */

static bool libcuda_is_missing;
static bool opening_is_slow;
static const char *missing_symbol;

void *__real_dlopen(const char *name, int flags);
void *__real_dlsym(void *library, const char *symbol);
void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlsym(void *library, const char *symbol);

void *__wrap_dlopen(const char *name, int flags)
{
    if (opening_is_slow)
        usleep(50000);
    return __real_dlopen(libcuda_is_missing ? "/nowhere/libcuda.so.1" : name, flags);
}

void *__wrap_dlsym(void *library, const char *symbol)
{
    bool missing = missing_symbol != NULL && strcmp(symbol, missing_symbol) == 0;
    return missing ? NULL : __real_dlsym(library, symbol);
}

/* ---- opening ---- */

static void assert_open_fails(topk_jit_status expected, int native_code, const char *text)
{
    int version = -1;
    assert_int_equal(tkj_driver_open(&version), expected);
    assert_int_equal(topk_jit_last_error()->status, expected);
    assert_int_equal(topk_jit_last_error()->native_code, native_code);
    assert_message_has(text);
    assert_int_equal(version, -1);
}

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
        "cuOccupancyMaxActiveClusters",
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
    opening_is_slow = true; /* so that all of them find it closed */
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
    opening_is_slow = false;
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
    assert_int_equal(first.cluster_max, 0);
    assert_int_equal(second.ordinal, 1);
    assert_int_equal(second.compute_major, expected[1].compute_major);
    assert_int_equal(second.sm_count, expected[1].sm_count);
    assert_int_equal(second.shared_per_block, expected[1].shared_per_block);
    assert_int_equal(second.cluster_max, TKJ_CLUSTER_MAX);
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

#define TEST(function) cmocka_unit_test_setup(function, driver_case_start)

int main(void)
{
    if (!driver_case_connect())
        return 1;
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
    };
    return cmocka_run_group_tests_name("driver", tests, NULL, NULL);
}
