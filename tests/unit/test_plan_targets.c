/* SPDX-License-Identifier: Apache-2.0 */
/* Which code serves which GPU: the order of targets, the toolkits' majors, several GPUs. */
#include "plan_case.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- what the linker puts in the place of a call of the driver ---- */

static char loaded[64]; /* first line of the last image that was handed to the driver */

topk_jit_status __real_tkj_driver_load(const void *image, const char *entry, uint32_t shared_bytes,
                                       int ordinal, CUstream stream, tkj_kernel *out);
topk_jit_status __wrap_tkj_driver_load(const void *image, const char *entry, uint32_t shared_bytes,
                                       int ordinal, CUstream stream, tkj_kernel *out);
topk_jit_status __wrap_tkj_driver_load(const void *image, const char *entry, uint32_t shared_bytes,
                                       int ordinal, CUstream stream, tkj_kernel *out)
{
    snprintf(loaded, sizeof loaded, "%.*s", (int)strcspn(image, "\n"), (const char *)image);
    return __real_tkj_driver_load(image, entry, shared_bytes, ordinal, stream, out);
}

static int set_up(void **state)
{
    loaded[0] = '\0';
    return plan_case_set_up(state);
}

/* ---- the order of targets ---- */

static const topk_jit_spec *spec(void)
{
    static topk_jit_spec made;
    made = plan_case_spec(2048);
    return &made;
}

/** Fills the cache for a GPU of an architecture with these targets, up to NULL. */
static void fill(plan_case *it, int architecture, const char *const *targets)
{
    for (; *targets != NULL; targets++)
        assert_int_equal(plan_case_warm(it, spec(), architecture, *targets), TOPK_JIT_OK);
}
#define FILL(it, architecture, ...) fill(it, architecture, (const char *const[]){__VA_ARGS__, NULL})

/** Prepares from the cache alone. */
static void assert_cache_gives(plan_case *it, int ordinal, const char *expected)
{
    plan_case_reopen(it, "/nonexistent/libnvrtc.so");
    assert_int_equal(plan_case_prepare(it, spec(), ordinal), TOPK_JIT_OK);
    assert_string_equal(loaded, expected);
    assert_true(plan_case_statistics(it).user_hits > 0);
}

static void cubin_of_the_very_gpu_comes_first(void **state)
{
    FILL(*state, 90, "compute_80", "compute_90", "sm_90");
    assert_cache_gives(*state, SM90, "FAKECUBIN sm_90");
}

static void cubin_of_a_lower_minor_comes_before_ptx(void **state)
{
    cuda->claim_capability(86);
    FILL(*state, 86, "compute_75", "compute_80", "sm_80");
    assert_cache_gives(*state, SM80, "FAKECUBIN sm_80");
}

static void highest_ptx_comes_first(void **state)
{
    FILL(*state, 90, "compute_75", "compute_89", "compute_80");
    assert_cache_gives(*state, SM90, "FAKEPTX compute_89");
}

/** The fake's GPU is an 8.0 that claims to be more: it refuses what it is not. */
static void entry_that_does_not_load_gives_way_to_the_next_target(void **state)
{
    plan_case *it = *state;
    cuda->claim_capability(89);
    FILL(it, 89, "sm_89", "sm_86", "sm_80");
    assert_cache_gives(it, SM80, "FAKECUBIN sm_80");
    plan_case_assert_logged(it, TOPK_JIT_LOG_WARNING, "for sm_89 does not load");
    plan_case_assert_logged(it, TOPK_JIT_LOG_WARNING, "for sm_86 does not load");
    assert_int_equal(plan_case_statistics(it).misses, 0);
}

static void code_of_other_gpus_is_not_even_looked_at(void **state)
{
    plan_case *it = *state;
    FILL(it, 80, "sm_86", "sm_90", "compute_86", "compute_90");
    plan_case_reopen(it, FAKE_NVRTC_PATH);
    assert_int_equal(plan_case_prepare(it, spec(), SM80), TOPK_JIT_OK);
    assert_string_equal(loaded, "FAKECUBIN sm_80");
    assert_int_equal(plan_case_statistics(it).user_hits, 0);
    assert_int_equal(it->logged[TOPK_JIT_LOG_WARNING], 0);
}

/* ---- what a miss compiles ---- */

static void assert_compiles(plan_case *it, int ordinal, const char *option, const char *expected)
{
    fake_nvrtc_compile compile;
    assert_int_equal(plan_case_prepare(it, spec(), ordinal), TOPK_JIT_OK);
    nvrtc->last_compile(&compile);
    assert_string_equal(compile.options[0], option);
    assert_string_equal(loaded, expected);
}

static void miss_compiles_for_the_very_gpu_and_says_nothing(void **state)
{
    plan_case *it = *state;
    assert_compiles(it, SM90, "-arch=sm_90", "FAKECUBIN sm_90");
    assert_int_equal(it->logged[TOPK_JIT_LOG_WARNING], 0);
}

static void nvrtc_that_lacks_the_gpu_compiles_ptx_and_logs_it(void **state)
{
    static const int known[] = {75, 80, 86};
    plan_case *it = *state;
    nvrtc->set_architectures(known, 3);
    assert_compiles(it, SM90, "-arch=compute_86", "FAKEPTX compute_86");
    plan_case_assert_logged(it, TOPK_JIT_LOG_WARNING, "does not know sm_90");
    plan_case_assert_logged(it, TOPK_JIT_LOG_WARNING, "for compute_86");
    assert_cache_gives(it, SM90, "FAKEPTX compute_86");
}

static void nvrtc_that_knows_a_lower_minor_compiles_for_that(void **state)
{
    static const int known[] = {75, 80, 90};
    plan_case *it = *state;
    cuda->claim_capability(89);
    nvrtc->set_architectures(known, 3);
    assert_compiles(it, SM80, "-arch=sm_80", "FAKECUBIN sm_80");
    plan_case_assert_logged(it, TOPK_JIT_LOG_WARNING, "does not know sm_89");
}

static void gpu_of_the_future_runs_code_of_a_lower_minor(void **state)
{
    plan_case *it = *state;
    cuda->claim_capability(99);
    assert_compiles(it, SM90, "-arch=sm_90", "FAKECUBIN sm_90");
    plan_case_assert_logged(it, TOPK_JIT_LOG_WARNING, "does not know sm_99");
}

static void nvrtc_that_knows_nothing_the_gpu_runs_is_told_by_its_age(void **state)
{
    static const int known[] = {100, 120};
    plan_case *it = *state;
    nvrtc->set_architectures(known, 2);
    assert_int_equal(plan_case_prepare(it, spec(), SM90), TOPK_JIT_NVRTC_TARGET);
    plan_case_assert_message("sm_90");
    plan_case_assert_message("11.8");
    assert_int_equal(plan_case_statistics(it).compiles, 0);
}

static void gpu_older_than_all_that_are_known_is_not_supported(void **state)
{
    plan_case *it = *state;
    cuda->claim_capability(70);
    assert_int_equal(plan_case_prepare(it, spec(), SM80), TOPK_JIT_NOT_SUPPORTED);
    plan_case_assert_message("7.0");
    plan_case_assert_message("7.5");
    assert_int_equal(plan_case_statistics(it).misses, 0);
}

/* ---- toolkits and the driver, which is 13.0 ---- */

static void warm_with_nvrtc(plan_case *it, int major, int minor)
{
    nvrtc->set_version(major, minor);
    plan_case_reopen(it, FAKE_NVRTC_PATH);
    assert_int_equal(plan_case_warm(it, spec(), 90, "sm_90"), TOPK_JIT_OK);
    assert_true(plan_case_entries(it, major) > 0);
}

static void entry_of_an_older_major_is_used(void **state)
{
    warm_with_nvrtc(*state, 12, 8);
    assert_cache_gives(*state, SM90, "FAKECUBIN sm_90");
}

static void make_empty(const char *path, void *user)
{
    (void)user;
    tkj_test_file_write(path, "", 0);
}

static void entry_of_the_drivers_major_comes_before_an_older_one(void **state)
{
    plan_case *it = *state;
    warm_with_nvrtc(it, 12, 8);
    warm_with_nvrtc(it, 13, 0);
    plan_case_each_file(it->root, ".cu12.tkc", make_empty, NULL);
    assert_cache_gives(it, SM90, "FAKECUBIN sm_90");
    assert_int_equal(plan_case_statistics(it).corrupt_entries, 0);
}

static void remember_inode(const char *path, void *user)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    *(ino_t *)user += status.st_ino;
}

static void entry_of_a_newer_major_is_skipped_and_not_rewritten(void **state)
{
    plan_case *it = *state;
    ino_t before = 0, after = 0;
    warm_with_nvrtc(it, 14, 0);
    plan_case_each_file(it->root, ".cu14.tkc", remember_inode, &before);
    nvrtc->set_version(13, 0);
    plan_case_reopen(it, FAKE_NVRTC_PATH);
    assert_int_equal(plan_case_prepare(it, spec(), SM90), TOPK_JIT_OK);
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.user_hits + s.corrupt_entries, 0);
    assert_int_equal(plan_case_entries(it, 13), s.stores);
    assert_int_equal(plan_case_each_file(it->root, ".cu14.tkc", remember_inode, &after), s.stores);
    assert_int_equal(before, after);
}

/** vllm#47397, candle#2498: told before loading, with both versions. */
static void nvrtc_newer_than_the_driver_is_refused_before_compiling(void **state)
{
    plan_case *it = *state;
    nvrtc->set_version(14, 1);
    assert_int_equal(plan_case_prepare(it, spec(), SM90), TOPK_JIT_LOAD_FAILED);
    plan_case_assert_message("14.1");
    plan_case_assert_message("13.0");
    assert_int_equal(nvrtc->calls("nvrtcCompileProgram"), 0);
    assert_int_equal(plan_case_entries(it, 14), 0);
    nvrtc->set_version(13, 0);
    plan_case_reopen(it, FAKE_NVRTC_PATH);
    assert_int_equal(plan_case_prepare(it, spec(), SM90), TOPK_JIT_OK);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(cubin_of_the_very_gpu_comes_first),
        TEST(cubin_of_a_lower_minor_comes_before_ptx),
        TEST(highest_ptx_comes_first),
        TEST(entry_that_does_not_load_gives_way_to_the_next_target),
        TEST(code_of_other_gpus_is_not_even_looked_at),
        TEST(miss_compiles_for_the_very_gpu_and_says_nothing),
        TEST(nvrtc_that_lacks_the_gpu_compiles_ptx_and_logs_it),
        TEST(nvrtc_that_knows_a_lower_minor_compiles_for_that),
        TEST(gpu_of_the_future_runs_code_of_a_lower_minor),
        TEST(nvrtc_that_knows_nothing_the_gpu_runs_is_told_by_its_age),
        TEST(gpu_older_than_all_that_are_known_is_not_supported),
        TEST(entry_of_an_older_major_is_used),
        TEST(entry_of_the_drivers_major_comes_before_an_older_one),
        TEST(entry_of_a_newer_major_is_skipped_and_not_rewritten),
        TEST(nvrtc_newer_than_the_driver_is_refused_before_compiling),
    };
    return cmocka_run_group_tests_name("plan_targets", tests, NULL, NULL);
}
