/* SPDX-License-Identifier: Apache-2.0 */
/* What fails on the cold path is reported once, leaves nothing behind and can be tried again. */
#include "plan_case.h"

#include <string.h>

#define NVRTC_COMPILATION 6 /* NVRTC_ERROR_COMPILATION */

static const char compiler_log[] = "select_general.cu(10): warning #177-D: never used\n"
                                   "select_general.cu(23): error: expected a \";\"\n"
                                   "select_general.cu(24): error: and another one\n"
                                   "2 errors detected in the compilation of \"any\".\n";

/** Nothing of a spec is in memory, in the driver or on disk. */
static void assert_nothing_is_left(const plan_case *it, const topk_jit_spec *spec)
{
    assert_null(plan_case_find(it, spec, SM90));
    assert_int_equal(cuda->live_libraries(), 0);
    assert_int_equal(plan_case_entries(it, 13), 0);
    assert_int_equal(nvrtc->live_programs(), 0);
}

static void assert_works_now(plan_case *it, const topk_jit_spec *spec)
{
    assert_int_equal(plan_case_prepare(it, spec, SM90), TOPK_JIT_OK);
    const tkj_prepared *prepared = plan_case_find(it, spec, SM90);
    assert_non_null(prepared);
    assert_int_equal(cuda->live_libraries(), prepared->count);
}

/* ---- NVRTC and the templates ---- */

/** DeepGEMM#359: the compile log lost, an invalid image shown instead. */
static void compile_error_shows_the_whole_log_and_stores_nothing(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    nvrtc->set_log(compiler_log);
    nvrtc->inject("nvrtcCompileProgram", NVRTC_COMPILATION, 1);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_COMPILE_FAILED);
    plan_case_assert_message("select_general.cu(23): error: expected a \";\"");
    assert_int_equal(topk_jit_last_error()->native_code, NVRTC_COMPILATION);
    assert_int_equal(topk_jit_last_error()->domain, TOPK_JIT_DOMAIN_NVRTC);
    plan_case_assert_logged(it, TOPK_JIT_LOG_ERROR, compiler_log);
    assert_nothing_is_left(it, &spec);
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.misses, 1);
    assert_int_equal(s.compiles, 1);
    assert_int_equal(s.stores + s.failed_stores, 0);
    assert_true(s.compile_ns > 0);
    assert_int_equal(s.load_ns, 0);
}

static void failed_compilation_is_tried_again(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    nvrtc->inject("nvrtcCompileProgram", NVRTC_COMPILATION, 1);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_COMPILE_FAILED);
    assert_works_now(it, &spec);
    assert_int_equal(plan_case_statistics(it).compiles, 1 + plan_case_kernels(&spec, SM90));
}

static void missing_nvrtc_is_named_and_only_a_miss_needs_it(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    plan_case_reopen(it, "/nonexistent/libnvrtc.so");
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_NVRTC_NOT_FOUND);
    plan_case_assert_message("/nonexistent/libnvrtc.so");
    assert_nothing_is_left(it, &spec);
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.misses, 1);
    assert_int_equal(s.compiles, 0);
}

static void missing_templates_stop_before_anything_is_looked_up(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    topk_jit_options options = plan_case_options(it);
    options.template_dir = tkj_test_path(it->directory, "nowhere");
    plan_case_open(it, &options);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_TEMPLATE_NOT_FOUND);
    plan_case_assert_message("nowhere");
    assert_nothing_is_left(it, &spec);
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.misses + s.compiles + s.lookup_ns, 0);
}

/* ---- the driver ---- */

static void refused_kernel_is_reported_but_stays_in_the_cache(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    cuda->inject("cuLibraryLoadData", IMAGE_CODE, 1);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_LOAD_FAILED);
    plan_case_assert_message("cuLibraryLoadData");
    assert_int_equal(topk_jit_last_error()->native_code, IMAGE_CODE);
    assert_null(plan_case_find(it, &spec, SM90));
    assert_int_equal(cuda->live_libraries(), 0);
    assert_int_equal(plan_case_entries(it, 13), 1);
    assert_works_now(it, &spec);
    assert_true(plan_case_statistics(it).user_hits >= 1);
}

/** Out of memory, a sticky error: what every kernel would meet is no reason to compile one anew. */
static void failure_of_the_driver_is_told_and_costs_no_compilation(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    static const topk_jit_mode modes[] = {TOPK_JIT_MODE_AUTO, TOPK_JIT_MODE_OFFLINE};
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        topk_jit_options options = plan_case_options(it);
        options.mode = modes[i];
        plan_case_open(it, &options);
        cuda->inject("cuLibraryLoadData", ANY_CODE, 1);
        assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_DRIVER_FAILED);
        assert_int_equal(topk_jit_last_error()->native_code, ANY_CODE);
        const topk_jit_statistics s = plan_case_statistics(it);
        assert_int_equal(s.misses + s.compiles + s.stores, 0);
        assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    }
}

static void no_current_context_is_no_device(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    assert_int_equal(topk_jit_prepare(it->context, &spec, 1, NULL), TOPK_JIT_NO_DEVICE);
    assert_nothing_is_left(it, &spec);
    assert_int_equal(plan_case_statistics(it).misses, 0);
}

/** Starts again with an empty cache and the nth driver call from now failing. */
static void start_over(plan_case *it, int nth)
{
    plan_case_close(it);
    plan_case_reset_fakes();
    plan_case_each_file(it->root, ".tkc", plan_case_remove_file, NULL);
    plan_case_reopen(it, FAKE_NVRTC_PATH);
    cuda->inject_any(ANY_CODE, nth);
}

static void every_failed_driver_call_is_reported_and_leaves_no_library(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    int nth = 1;
    for (;; nth++) {
        start_over(it, nth);
        topk_jit_status status = plan_case_prepare(it, &spec, SM90);
        if (status == TOPK_JIT_OK)
            break;
        assert_true(status == TOPK_JIT_DRIVER_FAILED || status == TOPK_JIT_LOAD_FAILED);
        assert_int_equal(topk_jit_last_error()->status, status);
        assert_int_equal(topk_jit_last_error()->native_code, ANY_CODE);
        plan_case_assert_message(cuda->failed());
        assert_null(plan_case_find(it, &spec, SM90));
        assert_int_equal(cuda->live_libraries(), 0);
        assert_works_now(it, &spec);
    }
    assert_string_equal(cuda->failed(), ""); /* it went through because nothing failed */
    assert_in_range(nth, 10, 200);
}

static void destroying_after_a_failure_unloads_what_was_loaded_before(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec good = plan_case_spec(2048);
    const topk_jit_spec bad = plan_case_spec(1024);
    assert_works_now(it, &good);
    const int libraries = cuda->live_libraries();
    cuda->inject("cuKernelGetFunction", ANY_CODE, 1);
    assert_int_equal(plan_case_prepare(it, &bad, SM90), TOPK_JIT_DRIVER_FAILED);
    assert_int_equal(cuda->live_libraries(), libraries);
    plan_case_close(it); /* asserts that none is left */
    assert_int_equal(cuda->calls("cuLibraryUnload"), libraries + 1);
}

#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, plan_case_set_up, plan_case_tear_down)

int main(void)
{
    int version;
    if (!plan_case_connect() || tkj_driver_open(&version) != TOPK_JIT_OK)
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(compile_error_shows_the_whole_log_and_stores_nothing),
        TEST(failed_compilation_is_tried_again),
        TEST(missing_nvrtc_is_named_and_only_a_miss_needs_it),
        TEST(missing_templates_stop_before_anything_is_looked_up),
        TEST(refused_kernel_is_reported_but_stays_in_the_cache),
        TEST(failure_of_the_driver_is_told_and_costs_no_compilation),
        TEST(no_current_context_is_no_device),
        TEST(every_failed_driver_call_is_reported_and_leaves_no_library),
        TEST(destroying_after_a_failure_unloads_what_was_loaded_before),
    };
    return cmocka_run_group_tests_name("plan_faults", tests, NULL, NULL);
}
