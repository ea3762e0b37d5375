/* SPDX-License-Identifier: Apache-2.0 */
/* topk_jit_prepare: what it takes, and what happens on a machine without a GPU. The first tests
 * open the driver, in order: that is done once per process. */
#include "plan_case.h"

#include <dlfcn.h>
#include <string.h>

#include "status.h"

/* ---- what the linker puts in the place of dlopen ---- */

static bool libcuda_is_missing;

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags)
{
    bool missing = libcuda_is_missing && strcmp(name, "libcuda.so.1") == 0;
    return __real_dlopen(missing ? "/nowhere/libcuda.so.1" : name, flags);
}

/* ---- without a GPU ---- */

/** Two rows of four scores on the host. */
static topk_jit_status select_on_host(topk_jit_context *context, int32_t slots[2][2])
{
    float scores[2][4] = {{0.5F, 2.0F, -1.0F, 1.0F}, {3.0F, 0.0F, 4.0F, 9.0F}};
    int64_t score_shape[2] = {2, 4}, index_shape[2] = {2, 2};
    DLTensor score = {scores, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, score_shape, NULL, 0};
    DLTensor indices = {slots, {kDLCPU, 0}, 2, {kDLInt, 32, 1}, index_shape, NULL, 0};
    topk_jit_select_args args = TOPK_JIT_SELECT_ARGS_INIT;
    args.score = &score;
    args.indices = &indices;
    args.topk = 2;
    args.sorted = 1;
    return topk_jit_select(context, &args, NULL);
}

static void assert_host_works(plan_case *it)
{
    int32_t slots[2][2];
    const int32_t expected[2][2] = {{1, 3}, {3, 2}};
    assert_int_equal(select_on_host(it->context, slots), TOPK_JIT_OK);
    assert_memory_equal(slots, expected, sizeof expected);
}

static void assert_there_is_no_gpu(plan_case *it, topk_jit_status expected)
{
    const topk_jit_spec spec = plan_case_spec(2048);
    plan_call call;
    plan_call_init(&call, 0, 2, 2, 2048);
    assert_int_equal(plan_case_prepare(it, &spec, 0), expected);
    assert_int_equal(topk_jit_last_error()->domain, TOPK_JIT_DOMAIN_DRIVER);
    assert_int_equal(topk_jit_select(it->context, &call.args, NULL), expected);
    assert_host_works(it);
    assert_int_equal(nvrtc->calls("nvrtcVersion"), 0);
    assert_int_equal(tkj_test_file_count(it->root), 0);
    assert_int_equal(plan_case_statistics(it).misses, 0);
}

static void without_libcuda_the_host_works_all_the_same(void **state)
{
    libcuda_is_missing = true;
    assert_there_is_no_gpu(*state, TOPK_JIT_DRIVER_NOT_FOUND);
    libcuda_is_missing = false;
    plan_case_assert_message("libcuda.so.1");
}

static void without_a_device_the_host_works_all_the_same(void **state)
{
    cuda->set_device_count(0);
    assert_there_is_no_gpu(*state, TOPK_JIT_NO_DEVICE);
}

static void with_a_driver_too_old_the_host_works_all_the_same(void **state)
{
    cuda->set_version(11080);
    assert_there_is_no_gpu(*state, TOPK_JIT_DRIVER_TOO_OLD);
    plan_case_assert_message("11.8");
}

static void gpu_that_appears_later_is_found(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    assert_host_works(it);
}

/* ---- arguments ---- */

static void no_specs_are_no_work(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    assert_int_equal(topk_jit_prepare(it->context, NULL, 0, streams[SM90]), TOPK_JIT_OK);
    assert_int_equal(topk_jit_prepare(it->context, &spec, 0, streams[SM90]), TOPK_JIT_OK);
    assert_int_equal(cuda->total_calls(), 0);
    assert_int_equal(nvrtc->calls("nvrtcVersion"), 0);
}

static void context_and_specs_must_be_given(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    assert_int_equal(topk_jit_prepare(NULL, &spec, 1, streams[SM90]), TOPK_JIT_INVALID_ARGUMENT);
    plan_case_assert_message("context is NULL");
    assert_int_equal(topk_jit_prepare(NULL, NULL, 0, NULL), TOPK_JIT_INVALID_ARGUMENT);
    assert_int_equal(topk_jit_prepare(it->context, NULL, 3, streams[SM90]),
                     TOPK_JIT_INVALID_ARGUMENT);
    plan_case_assert_message("specs is NULL");
    plan_case_assert_message("3");
}

static void every_spec_of_an_array_is_prepared(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec specs[] = {plan_case_spec(2048), plan_case_spec(512), plan_case_spec(1024)};
    assert_int_equal(topk_jit_prepare(it->context, specs, 3, streams[SM90]), TOPK_JIT_OK);
    for (int i = 0; i < 3; i++)
        assert_non_null(plan_case_find(it, &specs[i], SM90));
}

static void same_spec_in_other_words_is_one_spec(void **state)
{
    plan_case *it = *state;
    topk_jit_spec specs[2] = {TOPK_JIT_SPEC_INIT, TOPK_JIT_SPEC_INIT};
    specs[0].deterministic = specs[1].deterministic = 1;
    specs[1].tie_break = TOPK_JIT_TIE_BREAK_SMALLEST;
    assert_int_equal(topk_jit_prepare(it->context, specs, 2, streams[SM90]), TOPK_JIT_OK);
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.compiles, plan_case_kernels(&specs[0], SM90));
    assert_int_equal(s.memory_hits, s.compiles);
}

/** Nothing was done for any of the specs. */
static void assert_untouched(const plan_case *it)
{
    const topk_jit_spec first = plan_case_spec(2048);
    assert_null(plan_case_find(it, &first, SM90));
    assert_int_equal(cuda->total_calls(), 0);
    assert_int_equal(nvrtc->calls("nvrtcVersion"), 0);
    assert_int_equal(tkj_test_file_count(it->root), 0);
}

static void one_bad_spec_and_nothing_is_prepared(void **state)
{
    plan_case *it = *state;
    topk_jit_spec specs[] = {plan_case_spec(2048), plan_case_spec(512), plan_case_spec(0)};
    assert_int_equal(topk_jit_prepare(it->context, specs, 3, streams[SM90]),
                     TOPK_JIT_INVALID_ARGUMENT);
    plan_case_assert_message("topk");
    assert_untouched(it);
    specs[2] = plan_case_spec(64);
    specs[2].struct_size = 0;
    assert_int_equal(topk_jit_prepare(it->context, specs, 3, streams[SM90]), TOPK_JIT_ABI_MISMATCH);
    assert_untouched(it);
    specs[0].struct_size = 0;
    assert_int_equal(topk_jit_prepare(it->context, specs, 3, streams[SM90]), TOPK_JIT_ABI_MISMATCH);
    assert_untouched(it);
}

/** A spec as a later version may have it. */
typedef struct larger_spec {
    topk_jit_spec known;
    uint64_t unknown[3];
} larger_spec;

static larger_spec make_larger(int64_t topk)
{
    larger_spec spec = {.known = plan_case_spec(topk)};
    spec.known.struct_size = sizeof spec;
    return spec;
}

static void array_of_larger_specs_is_walked_in_their_steps(void **state)
{
    plan_case *it = *state;
    const larger_spec specs[] = {make_larger(2048), make_larger(512), make_larger(1024)};
    assert_int_equal(topk_jit_prepare(it->context, &specs[0].known, 3, streams[SM90]), TOPK_JIT_OK);
    for (int i = 0; i < 3; i++) {
        const topk_jit_spec spec = plan_case_spec(specs[i].known.topk);
        assert_non_null(plan_case_find(it, &spec, SM90));
    }
    assert_int_equal(plan_case_statistics(it).memory_hits, 0);
}

static void larger_spec_that_asks_for_more_is_refused_before_any_work(void **state)
{
    plan_case *it = *state;
    larger_spec specs[] = {make_larger(2048), make_larger(512)};
    specs[1].unknown[2] = 1;
    assert_int_equal(topk_jit_prepare(it->context, &specs[0].known, 2, streams[SM90]),
                     TOPK_JIT_ABI_MISMATCH);
    assert_untouched(it);
}

/** A spec as an earlier version may have had it: without the options. */
static void array_of_smaller_specs_is_walked_in_their_steps(void **state)
{
    plan_case *it = *state;
    const size_t size = offsetof(topk_jit_spec, sorted);
    unsigned char specs[2 * sizeof(topk_jit_spec)];
    for (size_t i = 0; i < 2; i++) {
        topk_jit_spec spec = plan_case_spec(i == 0 ? 2048 : 512);
        spec.struct_size = size;
        memcpy(specs + i * size, &spec, size);
    }
    assert_int_equal(
        topk_jit_prepare(it->context, (const topk_jit_spec *)(void *)specs, 2, streams[SM90]),
        TOPK_JIT_OK);
    const topk_jit_spec first = plan_case_spec(2048), second = plan_case_spec(512);
    assert_non_null(plan_case_find(it, &first, SM90));
    assert_non_null(plan_case_find(it, &second, SM90));
}

static void specs_after_a_failed_one_are_not_prepared(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec specs[] = {plan_case_spec(2048), plan_case_spec(512), plan_case_spec(1024)};
    nvrtc->inject("nvrtcCompileProgram", 6, 1 + (int)plan_case_kernels(&specs[0], SM90));
    assert_int_equal(topk_jit_prepare(it->context, specs, 3, streams[SM90]),
                     TOPK_JIT_COMPILE_FAILED);
    assert_non_null(plan_case_find(it, &specs[0], SM90));
    assert_null(plan_case_find(it, &specs[1], SM90));
    assert_null(plan_case_find(it, &specs[2], SM90));
}

static void success_leaves_the_last_error_alone(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    tkj_fail_native(TOPK_JIT_OS_FAILED, 5, "an earlier failure");
    const topk_jit_error earlier = *topk_jit_last_error();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
        assert_memory_equal(topk_jit_last_error(), &earlier, sizeof earlier);
    }
}

#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, plan_case_set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(without_libcuda_the_host_works_all_the_same),
        TEST(without_a_device_the_host_works_all_the_same),
        TEST(with_a_driver_too_old_the_host_works_all_the_same),
        TEST(no_specs_are_no_work),
        TEST(context_and_specs_must_be_given),
        TEST(one_bad_spec_and_nothing_is_prepared),
        TEST(larger_spec_that_asks_for_more_is_refused_before_any_work),
        TEST(gpu_that_appears_later_is_found),
        TEST(every_spec_of_an_array_is_prepared),
        TEST(same_spec_in_other_words_is_one_spec),
        TEST(array_of_larger_specs_is_walked_in_their_steps),
        TEST(array_of_smaller_specs_is_walked_in_their_steps),
        TEST(specs_after_a_failed_one_are_not_prepared),
        TEST(success_leaves_the_last_error_alone),
    };
    return cmocka_run_group_tests_name("api_prepare", tests, NULL, NULL);
}
