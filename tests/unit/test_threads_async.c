/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads that ask for preparations, look and select on one context; meant for
 * ThreadSanitizer, with both fakes. */
#include "crew.h"

#include <semaphore.h>
#include <string.h>

#define SPECS 12

static atomic_int asked, told, failed;
static sem_t all_told;

static int set_up(void **state)
{
    atomic_store(&asked, 0);
    atomic_store(&told, 0);
    atomic_store(&failed, 0);
    sem_init(&all_told, 0, 0);
    return plan_case_set_up(state);
}

static int tear_down(void **state)
{
    const int result = plan_case_tear_down(state);
    sem_destroy(&all_told);
    return result;
}

static void hear(void *user, topk_jit_status status, const topk_jit_error *error)
{
    (void)user, (void)error;
    atomic_fetch_add(&told, 1);
    atomic_fetch_add(&failed, status != TOPK_JIT_OK);
}

static void hear_last(void *user, topk_jit_status status, const topk_jit_error *error)
{
    (void)user, (void)status, (void)error;
    sem_post(&all_told);
}

static bool ask(plan_case *it, const topk_jit_spec *spec, int ordinal)
{
    atomic_fetch_add(&asked, 1);
    return topk_jit_prepare_async(it->context, spec, 1, streams[ordinal], hear, NULL) ==
           TOPK_JIT_OK;
}

/* Everybody who asked is told, once, of a success. */
static void assert_all_told(plan_case *it, int times)
{
    assert_int_equal(topk_jit_prepare_async(it->context, NULL, 0, streams[SM90], hear_last, NULL),
                     TOPK_JIT_OK);
    sem_wait(&all_told);
    assert_int_equal(atomic_load(&asked), times);
    assert_int_equal(atomic_load(&told), times);
    assert_int_equal(atomic_load(&failed), 0);
}

/* What is loaded was compiled once and is all that the specs 1 .. SPECS need on both GPUs. */
static void assert_all_loaded_once(plan_case *it)
{
    size_t kernels = 0;
    for (int64_t topk = 1; topk <= SPECS; topk++)
        for (int ordinal = 0; ordinal < FAKE_CUDA_DEVICES; ordinal++) {
            const topk_jit_spec spec = plan_case_spec(topk);
            assert_int_equal(topk_jit_is_prepared(it->context, &spec, 1, streams[ordinal]),
                             TOPK_JIT_OK);
            kernels += plan_case_kernels(&spec, ordinal);
        }
    assert_int_equal(cuda->live_libraries(), kernels);
    assert_int_equal(plan_case_statistics(it).compiles, kernels);
}

/* ---- one spec ---- */

static bool ask_for_the_same(plan_case *it, int thread)
{
    (void)thread;
    const topk_jit_spec spec = plan_case_spec(2048);
    return ask(it, &spec, SM90);
}

static void first_preparations_at_once_start_one_thread_that_compiles_once(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    crew_assert_all_succeed(it, ask_for_the_same);
    assert_all_told(it, CREW_THREADS);
    assert_int_equal(plan_case_statistics(it).compiles, plan_case_kernels(&spec, SM90));
    assert_int_equal(nvrtc->most_at_once(), 1);
}

/* ---- everything at once ---- */

static bool look(plan_case *it, const topk_jit_spec *spec, int ordinal, topk_jit_status *status)
{
    *status = topk_jit_is_prepared(it->context, spec, 1, streams[ordinal]);
    return *status == TOPK_JIT_OK || *status == TOPK_JIT_NOT_PREPARED;
}

static bool explain(plan_case *it, const topk_jit_spec *spec, int ordinal)
{
    char text[8192];
    size_t length = 0;
    return topk_jit_explain(it->context, spec, NULL, streams[ordinal], text, sizeof text,
                            &length) == TOPK_JIT_OK &&
           length > 0 && strlen(text) == (length < sizeof text ? length : sizeof text - 1);
}

static bool select_one(plan_case *it, const topk_jit_spec *spec, int ordinal)
{
    plan_call call;
    plan_call_init(&call, ordinal, 2, 2, spec->topk);
    return topk_jit_select(it->context, &call.args, streams[ordinal]) == TOPK_JIT_OK;
}

/* Each thread walks the specs from another place; what was selected once is prepared ever after. */
static bool ask_look_explain_and_select(plan_case *it, int thread)
{
    for (int i = 0; i < SPECS; i++) {
        const topk_jit_spec spec = plan_case_spec(1 + (i + thread * SPECS / CREW_THREADS) % SPECS);
        topk_jit_status before, after;
        for (int step = 0; step < FAKE_CUDA_DEVICES; step++) {
            const int ordinal = (step + thread) % FAKE_CUDA_DEVICES;
            if (!look(it, &spec, ordinal, &before) || !ask(it, &spec, ordinal) ||
                !explain(it, &spec, ordinal) || !select_one(it, &spec, ordinal) ||
                !look(it, &spec, ordinal, &after) || after != TOPK_JIT_OK)
                return false;
        }
    }
    return true;
}

static void threads_ask_look_explain_and_select_at_once(void **state)
{
    plan_case *it = *state;
    crew_assert_all_succeed(it, ask_look_explain_and_select);
    assert_all_told(it, CREW_THREADS * SPECS * FAKE_CUDA_DEVICES);
    assert_int_equal(cuda->launches(), CREW_THREADS * SPECS * FAKE_CUDA_DEVICES);
    assert_all_loaded_once(it);
}

/* Half of the threads only look on while the others ask: what is prepared stays so. */
static bool ask_or_watch(plan_case *it, int thread)
{
    bool seen[SPECS] = {false};
    for (int i = 0; i < 10 * SPECS; i++) {
        const topk_jit_spec spec = plan_case_spec(1 + i % SPECS);
        topk_jit_status status;
        if (thread % 2 == 0) {
            if (i < SPECS && (!ask(it, &spec, SM80) || !ask(it, &spec, SM90)))
                return false;
            continue;
        }
        if (!look(it, &spec, SM90, &status) || (seen[i % SPECS] && status != TOPK_JIT_OK))
            return false;
        seen[i % SPECS] = status == TOPK_JIT_OK;
    }
    return true;
}

static void what_was_seen_prepared_stays_so(void **state)
{
    plan_case *it = *state;
    crew_assert_all_succeed(it, ask_or_watch);
    assert_all_told(it, CREW_THREADS / 2 * SPECS * FAKE_CUDA_DEVICES);
    assert_all_loaded_once(it);
}

/* ---- from the callback ---- */

/* Uses the context, on the library's thread, and asks for the next spec; the last one tells. */
static void use_and_ask_for_the_next(void *user, topk_jit_status status,
                                     const topk_jit_error *error)
{
    plan_case *it = user;
    (void)error;
    const int done = atomic_fetch_add(&told, 1) + 1;
    const topk_jit_spec spec = plan_case_spec(done), next = plan_case_spec(done + 1);
    topk_jit_status prepared;
    bool good = status == TOPK_JIT_OK && look(it, &spec, SM90, &prepared) &&
                prepared == TOPK_JIT_OK && explain(it, &spec, SM90) && select_one(it, &spec, SM90);
    if (good && done < SPECS)
        good = topk_jit_prepare_async(it->context, &next, 1, streams[SM90],
                                      use_and_ask_for_the_next, it) == TOPK_JIT_OK;
    atomic_fetch_add(&failed, !good);
    if (!good || done == SPECS)
        sem_post(&all_told);
}

static void callback_may_use_the_context_and_ask_for_more(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec first = plan_case_spec(1);
    assert_int_equal(
        topk_jit_prepare_async(it->context, &first, 1, streams[SM90], use_and_ask_for_the_next, it),
        TOPK_JIT_OK);
    sem_wait(&all_told);
    assert_int_equal(atomic_load(&failed), 0);
    assert_int_equal(atomic_load(&told), SPECS);
    assert_int_equal(cuda->launches(), SPECS);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(first_preparations_at_once_start_one_thread_that_compiles_once),
        TEST(threads_ask_look_explain_and_select_at_once),
        TEST(what_was_seen_prepared_stays_so),
        TEST(callback_may_use_the_context_and_ask_for_more),
    };
    return cmocka_run_group_tests_name("threads_async", tests, NULL, NULL);
}
