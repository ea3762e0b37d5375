/* SPDX-License-Identifier: Apache-2.0 */
/* Locks that another thread holds while a process forks: the child, in which that thread is not,
 * waits for none of them. */
#include "fork_case.h"

#include <string.h>
#include <unistd.h>

#include "state.h"

/* A spec of one kernel. */
static topk_jit_spec unknown(void)
{
    return plan_case_spec(9008);
}

/* ---- mutexes ---- */

static int use_everything(plan_case *it)
{
    const topk_jit_spec spec = unknown();
    CHECK(fork_case_host_works(it->context));
    CHECK(plan_case_prepare(it, &spec, SM90) == TOPK_JIT_OK);
    CHECK(fork_case_launch(it->context, &spec) == TOPK_JIT_OK);
    topk_jit_context_destroy(it->context);
    return 0;
}

static void assert_child_does_not_wait_for(plan_case *it, pthread_mutex_t *mutex)
{
    const topk_jit_spec spec = unknown();
    fork_case_stop_thread(it, &spec, mutex);
    const int result = fork_case_run_child(it, use_everything);
    fork_case_release_thread(); /* first: the tear-down of a test that failed would wait for it */
    assert_int_equal(result, 0);
}

static void child_does_not_wait_for_the_cache(void **state)
{
    plan_case *it = *state;
    assert_child_does_not_wait_for(it, &it->context->cache->lock);
}

static void child_does_not_wait_for_layers_to_be_found(void **state)
{
    plan_case *it = *state;
    assert_child_does_not_wait_for(it, &it->context->cache->finding);
}

static void child_does_not_wait_for_a_builder(void **state)
{
    plan_case *it = *state;
    assert_child_does_not_wait_for(it, &it->context->builder);
}

static void child_does_not_wait_for_what_is_read_once(void **state)
{
    plan_case *it = *state;
    assert_child_does_not_wait_for(it, &it->context->lazy);
}

static void child_does_not_wait_for_those_who_board(void **state)
{
    plan_case *it = *state;
    assert_child_does_not_wait_for(it, &it->context->flights.lock);
}

/* ---- the turn to compile ---- */

/* Descriptors of lock files that this process has open. */
static int open_locks(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++) {
        char name[64], target[4096];
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(name, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        count += length > 0 && strstr(target, "/topk-jit/locks") != NULL;
    }
    return count;
}

/* The parent's lock holds, though the child has closed its descriptor. */
static int drop_the_turn(plan_case *it)
{
    const topk_jit_spec spec = unknown();
    CHECK(open_locks() == 1);
    CHECK(fork_case_host_works(it->context));
    CHECK(open_locks() == 0);
    CHECK(plan_case_prepare(it, &spec, SM90) == TOPK_JIT_OK);
    CHECK(plan_case_statistics(it).lock_timeouts == 1);
    return 0;
}

static void turn_to_compile_stays_with_the_parent(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = unknown();
    topk_jit_options options = plan_case_options(it);
    options.lock_timeout_ms = 50;
    plan_case_open(it, &options);
    fork_case_stop_thread(it, &spec, NULL);
    const int locks_before = open_locks();
    const int result = fork_case_run_child(it, drop_the_turn);
    const int locks_after = open_locks();
    fork_case_release_thread();
    assert_int_equal(result, 0);
    assert_int_equal(locks_before, 1);
    assert_int_equal(locks_after, 1);
    assert_int_equal(open_locks(), 0);
}

#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, fork_case_set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(child_does_not_wait_for_the_cache),
        TEST(child_does_not_wait_for_layers_to_be_found),
        TEST(child_does_not_wait_for_a_builder),
        TEST(child_does_not_wait_for_what_is_read_once),
        TEST(child_does_not_wait_for_those_who_board),
        TEST(turn_to_compile_stays_with_the_parent),
    };
    return cmocka_run_group_tests_name("context_fork_locks", tests, NULL, NULL);
}
