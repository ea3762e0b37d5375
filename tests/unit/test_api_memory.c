/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation fails once: the call says so or gets round it, nothing leaks, no output is
 * touched, and the same context serves the next call. */
#include "plan_case.h"

#include <string.h>

/* More allocations than any call makes. */
#define ALLOCATIONS_MAX 500

/** One call on a context; host calls write to the case's slots. */
typedef topk_jit_status (*step)(plan_case *it);

static int32_t slots[3][4];
static int64_t long_slots[3][4];
static float values[3][4];

static void poison_outputs(void)
{
    memset(slots, 0x77, sizeof slots);
    memset(long_slots, 0x77, sizeof long_slots);
    memset(values, 0x77, sizeof values);
}

static void assert_outputs_are_untouched(void)
{
    for (size_t i = 0; i < sizeof slots; i++)
        assert_int_equal(((unsigned char *)slots)[i], 0x77);
    for (size_t i = 0; i < sizeof long_slots; i++)
        assert_int_equal(((unsigned char *)long_slots)[i], 0x77);
    for (size_t i = 0; i < sizeof values; i++)
        assert_int_equal(((unsigned char *)values)[i], 0x77);
}

/** A fresh context on an empty cache, or on one that has the spec. */
static void start(plan_case *it, bool cached)
{
    const topk_jit_spec spec = plan_case_spec(2048);
    plan_case_reopen(it, FAKE_NVRTC_PATH);
    plan_case_each_file(it->root, ".tkc", plan_case_remove_file, NULL);
    if (cached)
        assert_int_equal(plan_case_warm(it, &spec, 90, "sm_90"), TOPK_JIT_OK);
    if (cached)
        plan_case_reopen(it, FAKE_NVRTC_PATH);
    poison_outputs();
}

/** Fails the first, second, ... allocation of a step. @return how many times it said so */
static int fail_every_allocation(plan_case *it, bool cached, step run)
{
    int said = 0;
    for (int nth = 1; nth < ALLOCATIONS_MAX; nth++) {
        start(it, cached);
        it->memory.fail_at = atomic_load(&it->memory.asked) + nth;
        const int launches = cuda->launches();
        topk_jit_status status = run(it);
        const bool failed = tkj_test_allocator_failed(&it->memory);
        it->memory.fail_at = 0;
        if (!failed) {
            assert_int_equal(status, TOPK_JIT_OK);
            return said;
        }
        if (status != TOPK_JIT_OK) {
            said++;
            assert_int_equal(status, TOPK_JIT_OUT_OF_MEMORY);
            assert_int_equal(topk_jit_last_error()->status, TOPK_JIT_OUT_OF_MEMORY);
            assert_int_equal(cuda->launches(), launches);
            assert_outputs_are_untouched();
        }
        assert_int_equal(run(it), TOPK_JIT_OK);
    }
    fail_msg("a call makes more than %d allocations", ALLOCATIONS_MAX);
    return 0;
}

/* ---- the steps ---- */

static topk_jit_status prepare(plan_case *it)
{
    const topk_jit_spec spec = plan_case_spec(2048);
    return plan_case_prepare(it, &spec, SM90);
}

static topk_jit_status select_on_gpu(plan_case *it)
{
    plan_call call;
    plan_call_init(&call, SM90, 3, 3, 2048);
    return topk_jit_select(it->context, &call.args, streams[SM90]);
}

static float scores[3][8] = {{1, 7, 2, 8, 3, 6, 4, 5}, {8, 7, 6, 5, 4, 3, 2, 1}, {0}};
static int64_t score_shape[2] = {3, 8}, index_shape[2] = {3, 4};

static DLTensor host_tensor(void *data, int64_t *shape, uint8_t code, uint8_t bits)
{
    return (DLTensor){data, {kDLCPU, 0}, 2, {code, bits, 1}, shape, NULL, 0};
}

static topk_jit_status select_on_host(plan_case *it)
{
    DLTensor score = host_tensor(scores, score_shape, kDLFloat, 32);
    DLTensor indices = host_tensor(slots, index_shape, kDLInt, 32);
    DLTensor out_values = host_tensor(values, index_shape, kDLFloat, 32);
    topk_jit_select_args args = TOPK_JIT_SELECT_ARGS_INIT;
    args.score = &score;
    args.indices = &indices;
    args.values = &out_values;
    args.topk = 4;
    args.sorted = 1;
    return topk_jit_select(it->context, &args, NULL);
}

static topk_jit_status fast_topk_on_host(plan_case *it)
{
    DLTensor in = host_tensor(scores, score_shape, kDLFloat, 32);
    DLTensor indices = host_tensor(long_slots, index_shape, kDLInt, 64);
    DLTensor out_values = host_tensor(values, index_shape, kDLFloat, 32);
    return topk_jit_fast_topk(it->context, &in, 4, 1, &out_values, &indices, NULL);
}

/* ---- the tests ---- */

static void preparation_that_misses_survives(void **state)
{
    assert_true(fail_every_allocation(*state, false, prepare) > 5);
}

static void preparation_that_hits_survives(void **state)
{
    assert_true(fail_every_allocation(*state, true, prepare) > 2);
}

static void unprepared_selection_on_the_gpu_survives(void **state)
{
    assert_true(fail_every_allocation(*state, false, select_on_gpu) > 5);
}

static void selection_on_the_host_survives(void **state)
{
    assert_true(fail_every_allocation(*state, false, select_on_host) > 0);
    assert_int_equal(slots[0][0], 3);
    assert_int_equal(slots[1][3], 3);
}

static void fast_topk_on_the_host_survives(void **state)
{
    assert_true(fail_every_allocation(*state, false, fast_topk_on_host) > 0);
    assert_int_equal(long_slots[0][0], 3);
    assert_int_equal(long_slots[1][3], 3);
}

static void destroying_after_any_failure_releases_everything(void **state)
{
    plan_case *it = *state;
    for (int nth = 1;; nth++) {
        start(it, false);
        it->memory.fail_at = atomic_load(&it->memory.asked) + nth;
        topk_jit_status status = prepare(it);
        const bool failed = tkj_test_allocator_failed(&it->memory);
        it->memory.fail_at = 0;
        plan_case_close(it); /* asserts that neither memory nor a library is left */
        if (!failed)
            break;
        assert_true(status == TOPK_JIT_OK || status == TOPK_JIT_OUT_OF_MEMORY);
        assert_in_range(nth, 1, ALLOCATIONS_MAX);
    }
}

#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, plan_case_set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(preparation_that_misses_survives),
        TEST(preparation_that_hits_survives),
        TEST(unprepared_selection_on_the_gpu_survives),
        TEST(selection_on_the_host_survives),
        TEST(fast_topk_on_the_host_survives),
        TEST(destroying_after_any_failure_releases_everything),
    };
    return cmocka_run_group_tests_name("api_memory", tests, NULL, NULL);
}
