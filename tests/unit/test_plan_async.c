/* SPDX-License-Identifier: Apache-2.0 */
/* topk_jit_prepare_async and topk_jit_is_prepared. */
#include "plan_case.h"

#include <semaphore.h>
#include <string.h>

typedef struct answer {
    sem_t told;
    int times;
    topk_jit_status status;
    topk_jit_error error;
    pthread_t thread;
} answer;

static answer told;

static void hear(void *user, topk_jit_status status, const topk_jit_error *error)
{
    answer *it = user;
    it->times++;
    it->status = status;
    it->error = *error;
    it->thread = pthread_self();
    sem_post(&it->told);
}

static int set_up(void **state)
{
    told = (answer){.times = 0};
    sem_init(&told.told, 0, 0);
    return plan_case_set_up(state);
}

static int tear_down(void **state)
{
    const int result = plan_case_tear_down(state);
    sem_destroy(&told.told);
    return result;
}

static topk_jit_status begin(plan_case *it, const topk_jit_spec *specs, size_t count,
                             CUstream stream)
{
    return topk_jit_prepare_async(it->context, specs, count, stream, hear, &told);
}

static void specs_are_prepared_on_another_thread_and_the_caller_is_told(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec specs[] = {plan_case_spec(2048), plan_case_spec(512)};
    assert_int_equal(topk_jit_is_prepared(it->context, specs, 2, streams[SM90]),
                     TOPK_JIT_NOT_PREPARED);
    assert_int_equal(begin(it, specs, 2, streams[SM90]), TOPK_JIT_OK);
    sem_wait(&told.told);
    assert_int_equal(told.status, TOPK_JIT_OK);
    assert_int_equal(told.error.status, TOPK_JIT_OK);
    assert_false(pthread_equal(told.thread, pthread_self()));
    assert_int_equal(topk_jit_is_prepared(it->context, specs, 2, streams[SM90]), TOPK_JIT_OK);
    assert_int_equal(topk_jit_is_prepared(it->context, specs, 2, streams[SM80]),
                     TOPK_JIT_NOT_PREPARED);
    plan_case_assert_message("is not prepared on CUDA device 0");
    assert_int_equal(told.times, 1);
}

static void failure_is_told_with_its_detail_and_leaves_this_thread_alone(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    const topk_jit_error before = *topk_jit_last_error();
    nvrtc->inject("nvrtcCompileProgram", 6, 1);
    assert_int_equal(begin(it, &spec, 1, streams[SM90]), TOPK_JIT_OK);
    sem_wait(&told.told);
    assert_int_equal(told.status, TOPK_JIT_COMPILE_FAILED);
    assert_int_equal(told.error.status, TOPK_JIT_COMPILE_FAILED);
    assert_true(strlen(told.error.message) > 0);
    assert_memory_equal(topk_jit_last_error(), &before, sizeof before);
}

static void without_a_stream_it_is_the_context_that_is_current_where_it_was_asked_for(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    cuda->set_current(contexts[SM90]);
    assert_int_equal(begin(it, &spec, 1, NULL), TOPK_JIT_OK);
    sem_wait(&told.told);
    cuda->set_current(NULL);
    assert_int_equal(told.status, TOPK_JIT_OK);
    assert_non_null(plan_case_find(it, &spec, SM90));
    assert_null(plan_case_find(it, &spec, SM80));
}

static void specs_are_copied_and_checked_before_the_call_returns(void **state)
{
    plan_case *it = *state;
    topk_jit_spec specs[] = {plan_case_spec(2048), plan_case_spec(512)};
    specs[1].topk = 0;
    assert_int_equal(begin(it, specs, 2, streams[SM90]), TOPK_JIT_INVALID_ARGUMENT);
    assert_int_equal(begin(it, NULL, 2, streams[SM90]), TOPK_JIT_INVALID_ARGUMENT);
    specs[1].topk = 512;
    const topk_jit_spec kept = specs[1];
    assert_int_equal(begin(it, specs, 2, streams[SM90]), TOPK_JIT_OK);
    memset(specs, 0xff, sizeof specs);
    sem_wait(&told.told);
    assert_int_equal(told.status, TOPK_JIT_OK);
    assert_int_equal(told.times, 1);
    assert_non_null(plan_case_find(it, &kept, SM90));
}

static void no_specs_tell_when_all_before_them_are_done(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    assert_int_equal(topk_jit_prepare_async(it->context, &spec, 1, streams[SM90], NULL, NULL),
                     TOPK_JIT_OK);
    assert_int_equal(begin(it, NULL, 0, streams[SM90]), TOPK_JIT_OK);
    sem_wait(&told.told);
    assert_int_equal(topk_jit_is_prepared(it->context, &spec, 1, streams[SM90]), TOPK_JIT_OK);
    assert_int_equal(topk_jit_is_prepared(it->context, NULL, 0, streams[SM90]), TOPK_JIT_OK);
}

static void destroying_the_context_tells_everybody_exactly_once(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    nvrtc->set_delay_ms(5);
    for (int i = 0; i < 10; i++)
        assert_int_equal(begin(it, &spec, 1, streams[SM90]), TOPK_JIT_OK);
    plan_case_close(it);
    assert_int_equal(told.times, 10);
    assert_true(told.status == TOPK_JIT_CANCELLED || told.status == TOPK_JIT_OK);
}

static void what_both_want_is_compiled_once(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    nvrtc->set_delay_ms(2);
    assert_int_equal(begin(it, &spec, 1, streams[SM90]), TOPK_JIT_OK);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    sem_wait(&told.told);
    assert_int_equal(told.status, TOPK_JIT_OK);
    assert_int_equal(plan_case_statistics(it).compiles, plan_case_kernels(&spec, SM90));
}

static void without_memory_nothing_begins_and_nothing_is_left(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    for (int n = 1; n <= 2; n++) {
        it->memory.fail_at = atomic_load(&it->memory.asked) + n;
        assert_int_equal(begin(it, &spec, 1, streams[SM90]), TOPK_JIT_OUT_OF_MEMORY);
    }
    it->memory.fail_at = 0;
    assert_int_equal(begin(it, &spec, 1, streams[SM90]), TOPK_JIT_OK);
    sem_wait(&told.told);
    assert_int_equal(told.times, 1);
}

/* Whichever stream it is for: the one that captures, or the current context. */
static void capture_of_the_asking_thread_stays_intact(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec specs[] = {plan_case_spec(2048), plan_case_spec(512)};
    CUstream const asked_for[] = {streams[SM90], NULL};
    cuda->set_current(contexts[SM90]);
    for (int i = 0; i < 2; i++) {
        cuda->capture_begin(streams[SM90]);
        assert_int_equal(begin(it, &specs[i], 1, asked_for[i]), TOPK_JIT_OK);
        sem_wait(&told.told);
        assert_int_equal(told.status, TOPK_JIT_OK);
        assert_int_equal(topk_jit_is_prepared(it->context, &specs[i], 1, asked_for[i]),
                         TOPK_JIT_OK);
        assert_true(cuda->capture_end(streams[SM90]));
    }
    cuda->set_current(NULL);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(specs_are_prepared_on_another_thread_and_the_caller_is_told),
        TEST(failure_is_told_with_its_detail_and_leaves_this_thread_alone),
        TEST(without_a_stream_it_is_the_context_that_is_current_where_it_was_asked_for),
        TEST(specs_are_copied_and_checked_before_the_call_returns),
        TEST(no_specs_tell_when_all_before_them_are_done),
        TEST(destroying_the_context_tells_everybody_exactly_once),
        TEST(what_both_want_is_compiled_once),
        TEST(capture_of_the_asking_thread_stays_intact),
        TEST(without_memory_nothing_begins_and_nothing_is_left),
    };
    return cmocka_run_group_tests_name("plan_async", tests, NULL, NULL);
}
