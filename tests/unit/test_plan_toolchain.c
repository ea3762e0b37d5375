/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of other compilers: whose count under each policy, and those that only a newer driver
 * runs. */
#include "plan_layers.h"

#include <string.h>

#include "disk_watch.h"

/* A spec of one kernel. */
static const topk_jit_spec *spec(void)
{
    static topk_jit_spec made;
    made = plan_case_spec(9004);
    return &made;
}

static void open_with(plan_case *it, topk_jit_toolchain toolchain, topk_jit_mode mode,
                      const char *nvrtc_path)
{
    topk_jit_options options = plan_case_options(it);
    options.toolchain = toolchain;
    options.mode = mode;
    options.nvrtc_path = nvrtc_path;
    plan_case_open(it, &options);
}

/* Fills the root with an entry of NVRTC 13.0, then makes the machine's another one. */
static void warm_then_update(plan_case *it, int major, int minor)
{
    plan_layers_warm(it, it->root, spec());
    nvrtc->reset();
    nvrtc->set_version(major, minor);
}

/* ---- any ---- */

static void any_compiler_will_do_unless_told_otherwise(void **state)
{
    plan_case *it = *state;
    warm_then_update(it, 13, 1);
    open_with(it, TOPK_JIT_TOOLCHAIN_DEFAULT, TOPK_JIT_MODE_AUTO, FAKE_NVRTC_PATH);
    assert_int_equal(plan_case_prepare(it, spec(), SM90), TOPK_JIT_OK);
    assert_int_equal(plan_case_statistics(it).user_hits, 1);
    assert_int_equal(nvrtc->calls("nvrtcVersion"), 0);
}

/* ---- exact ---- */

static void exact_compiler_hits(void **state)
{
    plan_case *it = *state;
    warm_then_update(it, 13, 0);
    open_with(it, TOPK_JIT_TOOLCHAIN_EXACT, TOPK_JIT_MODE_AUTO, FAKE_NVRTC_PATH);
    assert_int_equal(plan_case_prepare(it, spec(), SM90), TOPK_JIT_OK);
    assert_int_equal(plan_case_statistics(it).user_hits, 1);
    assert_int_equal(nvrtc->calls("nvrtcCompileProgram"), 0);
}

static void entry_of_another_compiler_is_no_entry_under_exact_and_is_replaced(void **state)
{
    plan_case *it = *state;
    warm_then_update(it, 13, 1);
    open_with(it, TOPK_JIT_TOOLCHAIN_EXACT, TOPK_JIT_MODE_AUTO, FAKE_NVRTC_PATH);
    assert_int_equal(plan_case_prepare(it, spec(), SM90), TOPK_JIT_OK);
    topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.user_hits + s.corrupt_entries, 0);
    assert_int_equal(s.compiles, 1);
    assert_int_equal(s.stores, 1);
    assert_int_equal(it->logged[TOPK_JIT_LOG_WARNING], 0);
    open_with(it, TOPK_JIT_TOOLCHAIN_EXACT, TOPK_JIT_MODE_AUTO, FAKE_NVRTC_PATH);
    assert_int_equal(plan_case_prepare(it, spec(), SM90), TOPK_JIT_OK);
    assert_int_equal(plan_case_statistics(it).user_hits, 1);
    assert_int_equal(plan_case_entries(it, 13), 1);
}

static void without_a_compiler_every_entry_is_a_miss_under_exact(void **state)
{
    plan_case *it = *state;
    const char *nowhere = "/nonexistent/libnvrtc.so";
    warm_then_update(it, 13, 0);
    open_with(it, TOPK_JIT_TOOLCHAIN_EXACT, TOPK_JIT_MODE_AUTO, nowhere);
    assert_int_equal(plan_case_prepare(it, spec(), SM90), TOPK_JIT_NVRTC_NOT_FOUND);
    assert_int_equal(plan_case_statistics(it).user_hits, 0);
    open_with(it, TOPK_JIT_TOOLCHAIN_EXACT, TOPK_JIT_MODE_OFFLINE, nowhere);
    assert_int_equal(plan_case_prepare(it, spec(), SM90), TOPK_JIT_OFFLINE_MISS);
    open_with(it, TOPK_JIT_TOOLCHAIN_ANY, TOPK_JIT_MODE_OFFLINE, nowhere);
    assert_int_equal(plan_case_prepare(it, spec(), SM90), TOPK_JIT_OK);
}

static void offline_miss_under_exact_names_the_toolchain_as_the_reason(void **state)
{
    plan_case *it = *state;
    warm_then_update(it, 13, 1);
    open_with(it, TOPK_JIT_TOOLCHAIN_EXACT, TOPK_JIT_MODE_OFFLINE, FAKE_NVRTC_PATH);
    assert_int_equal(plan_case_prepare(it, spec(), SM90), TOPK_JIT_OFFLINE_MISS);
    plan_case_assert_logged(it, TOPK_JIT_LOG_ERROR, "another toolchain compiled it");
}

/* ---- entries of a newer CUDA, which the driver does not run ---- */

static void assert_newer_is_left_alone(plan_case *it, topk_jit_mode mode, topk_jit_status expected)
{
    nvrtc->set_version(14, 0);
    plan_layers_warm(it, it->root, spec());
    assert_int_equal(plan_case_entries(it, 14), 1);
    nvrtc->reset();
    char *before = disk_snapshot(it->root);
    open_with(it, TOPK_JIT_TOOLCHAIN_ANY, mode, FAKE_NVRTC_PATH);
    assert_int_equal(plan_case_prepare(it, spec(), SM90), expected);
    assert_int_equal(plan_case_statistics(it).compiles, expected == TOPK_JIT_OK);
    assert_int_equal(cuda->calls("cuLibraryLoadData"), expected == TOPK_JIT_OK);
    disk_assert_as_before(it->root, before);
}

static void readonly_newer_entry_is_neither_loaded_nor_rewritten(void **state)
{
    assert_newer_is_left_alone(*state, TOPK_JIT_MODE_READONLY, TOPK_JIT_OK);
}

static void offline_newer_entry_is_not_loaded_but_mentioned(void **state)
{
    plan_case *it = *state;
    assert_newer_is_left_alone(it, TOPK_JIT_MODE_OFFLINE, TOPK_JIT_OFFLINE_MISS);
    plan_case_assert_logged(it, TOPK_JIT_LOG_ERROR,
                            "there is one of CUDA 14, but the driver runs CUDA 13");
}

static void offline_entry_of_an_older_cuda_is_loaded(void **state)
{
    plan_case *it = *state;
    nvrtc->set_version(12, 8);
    plan_layers_warm(it, it->root, spec());
    open_with(it, TOPK_JIT_TOOLCHAIN_ANY, TOPK_JIT_MODE_OFFLINE, FAKE_NVRTC_PATH);
    assert_int_equal(plan_case_prepare(it, spec(), SM90), TOPK_JIT_OK);
    assert_int_equal(plan_case_entries(it, 12), 1);
}

#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, plan_case_set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(any_compiler_will_do_unless_told_otherwise),
        TEST(exact_compiler_hits),
        TEST(entry_of_another_compiler_is_no_entry_under_exact_and_is_replaced),
        TEST(without_a_compiler_every_entry_is_a_miss_under_exact),
        TEST(offline_miss_under_exact_names_the_toolchain_as_the_reason),
        TEST(readonly_newer_entry_is_neither_loaded_nor_rewritten),
        TEST(offline_newer_entry_is_not_loaded_but_mentioned),
        TEST(offline_entry_of_an_older_cuda_is_loaded),
    };
    return cmocka_run_group_tests_name("plan_toolchain", tests, NULL, NULL);
}
