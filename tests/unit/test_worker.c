/* SPDX-License-Identifier: Apache-2.0 */
#include "testing.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "worker.h"

static int thread_creation_fails; /* the errno of it; 0 = it works */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument)
{
    return thread_creation_fails != 0 ? thread_creation_fails
                                      : __real_pthread_create(thread, attributes, start, argument);
}

/* A task that notes its number, after it was let go. */
typedef struct noting {
    tkj_task task;
    int number;
} noting;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int done[64];
    size_t done_count;
    int cancelled;
    bool held; /* a task waits until this is false */
    bool at_it;
    bool signals_blocked;
    pthread_t thread;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static bool all_signals_are_blocked(void)
{
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    return sigismember(&blocked, SIGTERM) == 1 && sigismember(&blocked, SIGUSR1) == 1;
}

static void run_noting(tkj_task *task, bool cancelled)
{
    pthread_mutex_lock(&seen.lock);
    seen.at_it = true;
    pthread_cond_broadcast(&seen.changed);
    while (seen.held && !cancelled)
        pthread_cond_wait(&seen.changed, &seen.lock);
    seen.cancelled += cancelled;
    if (!cancelled) {
        seen.done[seen.done_count++] = ((noting *)task)->number;
        seen.signals_blocked = all_signals_are_blocked();
        seen.thread = pthread_self();
    }
    pthread_cond_broadcast(&seen.changed);
    pthread_mutex_unlock(&seen.lock);
    free(task);
}

static topk_jit_status add(tkj_worker *worker, int number)
{
    noting *task = malloc(sizeof *task);
    assert_non_null(task);
    *task = (noting){{NULL, run_noting}, number};
    topk_jit_status status = tkj_worker_add(worker, &task->task);
    if (status != TOPK_JIT_OK)
        free(task);
    return status;
}

static void await_done(size_t count)
{
    pthread_mutex_lock(&seen.lock);
    while (seen.done_count < count)
        pthread_cond_wait(&seen.changed, &seen.lock);
    pthread_mutex_unlock(&seen.lock);
}

static void let_go(void)
{
    pthread_mutex_lock(&seen.lock);
    seen.held = false;
    pthread_cond_broadcast(&seen.changed);
    pthread_mutex_unlock(&seen.lock);
}

static int set_up(void **state)
{
    static tkj_worker worker;
    seen.done_count = 0;
    seen.cancelled = 0;
    seen.held = seen.at_it = false;
    thread_creation_fails = 0;
    tkj_worker_init(&worker);
    *state = &worker;
    return 0;
}

static void tasks_are_done_in_their_order_on_one_thread_of_its_own(void **state)
{
    for (int i = 0; i < 20; i++)
        assert_int_equal(add(*state, i), TOPK_JIT_OK);
    await_done(20);
    for (int i = 0; i < 20; i++)
        assert_int_equal(seen.done[i], i);
    assert_false(pthread_equal(seen.thread, pthread_self()));
    assert_true(seen.signals_blocked);
    tkj_worker_stop(*state);
    assert_int_equal(seen.cancelled, 0);
}

static void no_task_means_no_thread(void **state)
{
    thread_creation_fails = EAGAIN;
    tkj_worker_stop(*state);
    assert_int_equal(seen.done_count, 0);
}

static void stopping_ends_the_task_under_way_and_cancels_those_behind_it(void **state)
{
    seen.held = true;
    for (int i = 0; i < 3; i++)
        assert_int_equal(add(*state, i), TOPK_JIT_OK);
    pthread_mutex_lock(&seen.lock);
    while (!seen.at_it)
        pthread_cond_wait(&seen.changed, &seen.lock);
    pthread_mutex_unlock(&seen.lock);
    /* `stopping` is set here, as tkj_worker_stop does first, so that no other task begins */
    tkj_worker *worker = *state;
    pthread_mutex_lock(&worker->lock);
    worker->stopping = true;
    pthread_mutex_unlock(&worker->lock);
    let_go();
    tkj_worker_stop(*state);
    assert_int_equal(seen.done_count, 1);
    assert_int_equal(seen.done[0], 0);
    assert_int_equal(seen.cancelled, 2);
}

static void without_a_thread_the_task_stays_the_callers_and_the_next_one_tries_again(void **state)
{
    thread_creation_fails = EAGAIN;
    assert_int_equal(add(*state, 1), TOPK_JIT_OS_FAILED);
    assert_int_equal(topk_jit_last_error()->native_code, EAGAIN);
    thread_creation_fails = 0;
    assert_int_equal(add(*state, 2), TOPK_JIT_OK);
    await_done(1);
    assert_int_equal(seen.done[0], 2);
    tkj_worker_stop(*state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(tasks_are_done_in_their_order_on_one_thread_of_its_own, set_up),
        cmocka_unit_test_setup(no_task_means_no_thread, set_up),
        cmocka_unit_test_setup(stopping_ends_the_task_under_way_and_cancels_those_behind_it,
                               set_up),
        cmocka_unit_test_setup(
            without_a_thread_the_task_stays_the_callers_and_the_next_one_tries_again, set_up),
    };
    return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
