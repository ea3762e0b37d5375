/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that were forked while another thread opened the driver, or before, or after. The
 * driver of this process stays closed until the last test opens it: that is done once. */
#include "driver_case.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

static bool opening_stops;
static sem_t stopped, released;

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags)
{
    if (!opening_stops)
        return __real_dlopen(name, flags);
    sem_post(&stopped);
    while (sem_wait(&released) != 0) {
    }
    return __real_dlopen("/nowhere/libcuda.so.1", flags);
}

static topk_jit_status open_driver(void)
{
    int version;
    return tkj_driver_open(&version);
}

static void *open_in_a_thread(void *unused)
{
    (void)unused;
    return (void *)(intptr_t)open_driver();
}

/** A thread that is inside tkj_driver_open until it is released, and fails then. */
static pthread_t start_thread_that_stops(void)
{
    pthread_t thread;
    opening_stops = true;
    assert_int_equal(pthread_create(&thread, NULL, open_in_a_thread, NULL), 0);
    assert_int_equal(sem_wait(&stopped), 0);
    return thread;
}

static void assert_thread_fails(pthread_t thread)
{
    void *status = NULL;
    assert_int_equal(sem_post(&released), 0);
    assert_int_equal(pthread_join(thread, &status), 0);
    assert_int_equal((intptr_t)status, TOPK_JIT_DRIVER_NOT_FOUND);
    opening_stops = false;
}

/* ---- children: 0 = as it should be ---- */

static int open_well(void *unused)
{
    (void)unused;
    return open_driver() == TOPK_JIT_OK ? 0 : 1;
}

static int open_well_in_a_child_of_the_child(void *unused)
{
    return tkj_test_run_child(open_well, unused);
}

static int be_refused(void *unused)
{
    (void)unused;
    for (int i = 0; i < 2; i++) {
        const topk_jit_status status = open_driver();
        const topk_jit_error *error = topk_jit_last_error();
        if (status != TOPK_JIT_DRIVER_FAILED || error->status != TOPK_JIT_DRIVER_FAILED)
            return 1;
        if (strstr(error->message, "forked while") == NULL || error->native_code != 0)
            return 2;
    }
    return fake->total_calls() == 0 ? 0 : 3;
}

static int be_refused_in_every_generation(void *unused)
{
    return be_refused(unused) == 0 ? tkj_test_run_child(be_refused, unused) : 4;
}

static int be_refused_in_a_child_of_the_child(void *unused)
{
    return tkj_test_run_child(be_refused, unused);
}

/* ---- tests ---- */

static void child_of_a_process_that_opens_is_refused_at_once(void **state)
{
    (void)state;
    pthread_t thread = start_thread_that_stops();
    const int result = tkj_test_run_child(be_refused, NULL);
    assert_thread_fails(thread);
    assert_int_equal(result, 0);
}

static void children_of_that_child_are_refused_too(void **state)
{
    (void)state;
    pthread_t thread = start_thread_that_stops();
    const int first = tkj_test_run_child(be_refused_in_a_child_of_the_child, NULL);
    const int second = tkj_test_run_child(be_refused_in_every_generation, NULL);
    assert_thread_fails(thread);
    assert_int_equal(first, 0);
    assert_int_equal(second, 0);
}

static void child_forked_before_or_after_the_driver_is_opened_has_it(void **state)
{
    (void)state;
    assert_int_equal(tkj_test_run_child(open_well, NULL), 0);
    assert_thread_fails(start_thread_that_stops());
    assert_int_equal(tkj_test_run_child(open_well, NULL), 0);
    assert_int_equal(tkj_test_run_child(open_well_in_a_child_of_the_child, NULL), 0);
    assert_int_equal(open_driver(), TOPK_JIT_OK);
    assert_int_equal(tkj_test_run_child(open_well, NULL), 0);
    assert_int_equal(tkj_test_run_child(open_well_in_a_child_of_the_child, NULL), 0);
}

#define TEST(function) cmocka_unit_test_setup(function, driver_case_start)

int main(void)
{
    if (!driver_case_connect() || sem_init(&stopped, 0, 0) != 0 || sem_init(&released, 0, 0) != 0)
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(child_of_a_process_that_opens_is_refused_at_once),
        TEST(children_of_that_child_are_refused_too),
        TEST(child_forked_before_or_after_the_driver_is_opened_has_it),
    };
    return cmocka_run_group_tests_name("driver_fork", tests, NULL, NULL);
}
