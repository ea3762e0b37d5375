/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads on one context; meant for ThreadSanitizer, with both fakes. */
#include "crew.h"
#include "memory.h"

#define SPECS 40 /* more than the map's first tables hold */

/* ---- one spec ---- */

static bool prepare_the_same(plan_case *it, int thread)
{
    (void)thread;
    const topk_jit_spec spec = plan_case_spec(2048);
    return plan_case_prepare(it, &spec, SM90) == TOPK_JIT_OK &&
           plan_case_find(it, &spec, SM90) != NULL;
}

/** cutile-rs#205, flashinfer#4062: N times the same compilation. */
static void threads_that_want_one_spec_compile_it_once(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    const size_t kernels = plan_case_kernels(&spec, SM90);
    crew_assert_all_succeed(it, prepare_the_same);
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.misses, kernels);
    assert_int_equal(s.compiles, kernels);
    assert_int_equal(s.stores, kernels);
    assert_int_equal(s.memory_hits, (CREW_THREADS - 1) * kernels);
    assert_int_equal(cuda->live_libraries(), kernels);
    assert_int_equal(nvrtc->calls("nvrtcCompileProgram"), kernels);
    assert_int_equal(nvrtc->calls("nvrtcVersion"), 1);
}

static bool select_the_same(plan_case *it, int thread)
{
    plan_call call;
    plan_call_init(&call, SM90, 3 + thread, 3 + thread, 2048);
    for (int i = 0; i < 20; i++)
        if (topk_jit_select(it->context, &call.args, streams[SM90]) != TOPK_JIT_OK)
            return false;
    return true;
}

static void unprepared_calls_at_once_compile_once_and_all_launch(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    crew_assert_all_succeed(it, select_the_same);
    assert_int_equal(plan_case_statistics(it).compiles, plan_case_kernels(&spec, SM90));
    assert_int_equal(cuda->launches(), CREW_THREADS * 20);
}

static bool fail_or_prepare(plan_case *it, int thread)
{
    (void)thread;
    const topk_jit_spec spec = plan_case_spec(2048);
    topk_jit_status status = plan_case_prepare(it, &spec, SM90);
    return status == TOPK_JIT_OK || status == TOPK_JIT_COMPILE_FAILED;
}

/** Who waits for a thread gets its failure; who comes later tries anew. */
static void failure_is_shared_by_those_who_wait_and_by_nobody_else(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    nvrtc->inject("nvrtcCompileProgram", 6, 1);
    crew_assert_all_succeed(it, fail_or_prepare);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    assert_non_null(plan_case_find(it, &spec, SM90));
    assert_int_equal(plan_case_statistics(it).compiles, 1 + plan_case_kernels(&spec, SM90));
}

/* ---- many specs ---- */

/** Each thread walks the specs from another place, on both GPUs. */
static bool prepare_and_select_many(plan_case *it, int thread)
{
    for (int i = 0; i < SPECS; i++) {
        const int ordinal = (i + thread) % FAKE_CUDA_DEVICES;
        const topk_jit_spec spec = plan_case_spec(1 + (i + thread * SPECS / CREW_THREADS) % SPECS);
        plan_call call;
        plan_call_init(&call, ordinal, 2, 2, spec.topk);
        if (plan_case_prepare(it, &spec, ordinal) != TOPK_JIT_OK ||
            topk_jit_select(it->context, &call.args, streams[ordinal]) != TOPK_JIT_OK)
            return false;
    }
    return true;
}

static void threads_prepare_and_select_while_the_map_grows(void **state)
{
    plan_case *it = *state;
    size_t libraries = 0;
    crew_assert_all_succeed(it, prepare_and_select_many);
    assert_int_equal(cuda->launches(), CREW_THREADS * SPECS);
    for (int64_t topk = 1; topk <= SPECS; topk++)
        for (int ordinal = 0; ordinal < FAKE_CUDA_DEVICES; ordinal++) {
            const topk_jit_spec spec = plan_case_spec(topk);
            const tkj_prepared *prepared = plan_case_find(it, &spec, ordinal);
            libraries += prepared != NULL ? prepared->count : 0;
        }
    assert_int_equal(cuda->live_libraries(), libraries);
    assert_int_equal(plan_case_statistics(it).compiles, libraries);
    assert_true(libraries >= SPECS);
}

/* ---- the map alone: one writer, many readers ---- */

static tkj_kernel_map map;
static atomic_int entered; /* specs 1 .. entered are in the map */

static bool write_one_after_the_other(plan_case *it)
{
    for (int i = 1; i <= 10 * SPECS; i++) {
        tkj_prepared *prepared = tkj_alloc_zeroed(&it->memory.allocator, 1, sizeof *prepared);
        if (prepared == NULL)
            return false;
        prepared->spec = plan_case_spec(i);
        if (tkj_kernel_map_insert(&it->memory.allocator, &map, prepared) != TOPK_JIT_OK)
            return false;
        atomic_store_explicit(&entered, i, memory_order_release);
    }
    return true;
}

static bool is_found(int64_t topk)
{
    const topk_jit_spec spec = plan_case_spec(topk);
    const tkj_prepared *prepared = tkj_kernel_map_find(&map, &spec, 0);
    return prepared != NULL && prepared->spec.topk == topk;
}

/** What was entered once is found ever after, and nothing else is. */
static bool write_or_read(plan_case *it, int thread)
{
    if (thread == 0)
        return write_one_after_the_other(it);
    for (int last = 0; last < 10 * SPECS;) {
        last = atomic_load_explicit(&entered, memory_order_acquire);
        for (int i = last; i > 0 && i > last - 20; i--)
            if (!is_found(i))
                return false;
        if (is_found(10 * SPECS + 1))
            return false;
    }
    return true;
}

static void readers_find_every_entry_while_a_writer_grows_the_map(void **state)
{
    plan_case *it = *state;
    atomic_store(&entered, 0);
    crew_assert_all_succeed(it, write_or_read);
    for (int i = 1; i <= 10 * SPECS; i++)
        assert_true(is_found(i));
    tkj_kernel_map_release(&it->memory.allocator, &map);
}

/* ---- builders that warm, and whoever looks on ---- */

static bool warm_one_each(plan_case *it, int thread)
{
    const topk_jit_spec spec = plan_case_spec(100000 + thread);
    return plan_case_warm(it, &spec, 90, "sm_90") == TOPK_JIT_OK;
}

static void builders_compile_at_the_same_time(void **state)
{
    plan_case *it = *state;
    nvrtc->set_meeting(CREW_THREADS);
    crew_assert_all_succeed(it, warm_one_each);
    assert_int_equal(nvrtc->most_at_once(), CREW_THREADS);
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.stores, plan_case_entries(it, 13));
    assert_true(s.stores >= CREW_THREADS);
    assert_int_equal(s.bytes_written, plan_case_entry_bytes(it));
    assert_int_equal(nvrtc->calls("nvrtcVersion"), 1);
}

static bool warm_the_same(plan_case *it, int thread)
{
    (void)thread;
    const topk_jit_spec spec = plan_case_spec(2048);
    return plan_case_warm(it, &spec, 90, "sm_90") == TOPK_JIT_OK;
}

static void builders_of_one_kernel_leave_one_sound_entry(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    const size_t kernels = plan_case_kernels(&spec, SM90);
    crew_assert_all_succeed(it, warm_the_same);
    assert_int_equal(plan_case_entries(it, 13), kernels);
    plan_case_reopen(it, "/nonexistent/libnvrtc.so");
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    assert_int_equal(plan_case_statistics(it).user_hits, kernels);
}

static bool prepare_or_watch(plan_case *it, int thread)
{
    if (thread % 2 == 0)
        return prepare_and_select_many(it, thread);
    for (int i = 0; i < 1000; i++) {
        topk_jit_statistics s = TOPK_JIT_STATISTICS_INIT;
        if (topk_jit_get_statistics(it->context, &s) != TOPK_JIT_OK || s.failed_stores != 0)
            return false;
    }
    return true;
}

static void statistics_are_read_while_others_count(void **state)
{
    plan_case *it = *state;
    crew_assert_all_succeed(it, prepare_or_watch);
    assert_true(plan_case_statistics(it).stores > 0);
}

static bool prepare_elsewhere(plan_case *it, int thread)
{
    topk_jit_options options = plan_case_options(it);
    topk_jit_context *context = NULL;
    const topk_jit_spec spec = plan_case_spec(2048);
    (void)thread;
    bool good = topk_jit_context_create(&context, &options) == TOPK_JIT_OK &&
                topk_jit_prepare(context, &spec, 1, streams[SM90]) == TOPK_JIT_OK;
    topk_jit_context_destroy(context);
    return good;
}

/** DeepGEMM#301, DeepEP#683: ranks that race on one directory. */
static void contexts_that_share_a_cache_do_not_disturb_each_other(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    crew_assert_all_succeed(it, prepare_elsewhere);
    assert_int_equal(plan_case_entries(it, 13), plan_case_kernels(&spec, SM90));
    assert_int_equal(it->logged[TOPK_JIT_LOG_WARNING], 0);
}

#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, plan_case_set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(threads_that_want_one_spec_compile_it_once),
        TEST(unprepared_calls_at_once_compile_once_and_all_launch),
        TEST(failure_is_shared_by_those_who_wait_and_by_nobody_else),
        TEST(threads_prepare_and_select_while_the_map_grows),
        TEST(readers_find_every_entry_while_a_writer_grows_the_map),
        TEST(builders_compile_at_the_same_time),
        TEST(builders_of_one_kernel_leave_one_sound_entry),
        TEST(statistics_are_read_while_others_count),
        TEST(contexts_that_share_a_cache_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
