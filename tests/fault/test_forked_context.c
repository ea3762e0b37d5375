/* SPDX-License-Identifier: Apache-2.0 */
/* A process with a context forks: the child uses neither what was loaded nor waits for threads that
   it does not have, and the parent notices nothing. (pytorch#184643, vllm#32611) */
#include "plan_case.h"

#include <unistd.h>

#include "fault_case.h"

/** A thread of this process that stands still in a compilation, and the gates around it. */
typedef struct scene {
    plan_case *it;
    topk_jit_spec spec;
    pthread_t thread;
    topk_jit_status status; /* of what the thread prepared */
    fault_gate compiling;   /* opened by the thread, once it does */
    fault_gate proceed;     /* passed by the thread, before it is done */
} scene;

static int set_up(void **state)
{
    static scene only;
    void *it = NULL;
    fault_reset();
    plan_case_set_up(&it);
    only = (scene){
        .it = it,
        .spec = plan_case_spec(2048),
        .compiling = fault_gate_make(),
        .proceed = fault_gate_make(),
    };
    *state = &only;
    return 0;
}

static int tear_down(void **state)
{
    scene *s = *state;
    void *it = s->it;
    fault_gate_remove(&s->compiling);
    fault_gate_remove(&s->proceed);
    return plan_case_tear_down(&it);
}

static size_t kernels(const scene *s)
{
    return plan_case_kernels(&s->spec, SM90);
}

static void assert_prepares(scene *s)
{
    assert_int_equal(plan_case_prepare(s->it, &s->spec, SM90), TOPK_JIT_OK);
    assert_non_null(plan_case_find(s->it, &s->spec, SM90));
}

/* ---- a child of a process at rest ---- */

static void prepare_what_the_parent_has(void *user, int number)
{
    scene *s = user;
    const topk_jit_statistics before = plan_case_statistics(s->it);
    const int unloads = cuda->calls("cuLibraryUnload");
    (void)number;
    assert_prepares(s);
    const topk_jit_statistics after = plan_case_statistics(s->it);
    assert_int_equal(after.memory_hits, before.memory_hits);
    assert_int_equal(after.user_hits - before.user_hits, kernels(s));
    assert_int_equal(after.compiles, before.compiles);
    assert_int_equal(cuda->calls("cuLibraryUnload"), unloads);
}

static void child_loads_anew_what_its_parent_had_loaded(void **state)
{
    scene *s = *state;
    assert_prepares(s);
    fault_assert_done(fault_start(prepare_what_the_parent_has, s, 0));
    assert_prepares(s);
    assert_int_equal(plan_case_statistics(s->it).memory_hits, kernels(s));
}

static void destroy_at_once(void *user, int number)
{
    scene *s = user;
    const int unloads = cuda->calls("cuLibraryUnload");
    (void)number;
    topk_jit_context_destroy(s->it->context);
    assert_int_equal(cuda->calls("cuLibraryUnload"), unloads);
    assert_int_equal(atomic_load(&s->it->memory.live), 0);
}

static void child_that_destroys_the_context_leaves_the_parents_alone(void **state)
{
    scene *s = *state;
    assert_prepares(s);
    fault_assert_done(fault_start(destroy_at_once, s, 0));
    assert_prepares(s);
    assert_int_equal(cuda->live_libraries(), kernels(s));
}

/* ---- a child of a process that compiles ---- */

/* The first compilation only. */
static void stand_still(void *user, const char *entry)
{
    const scene *s = user;
    (void)entry;
    fault.on_compile = NULL;
    fault_gate_open(&s->compiling);
    fault_gate_pass(&s->proceed);
}

static void *prepare_in_a_thread(void *user)
{
    scene *s = user;
    s->status = plan_case_prepare(s->it, &s->spec, SM90);
    return NULL;
}

static void start_thread_that_stands_still(scene *s)
{
    fault.user = s;
    fault.on_compile = stand_still;
    assert_int_equal(pthread_create(&s->thread, NULL, prepare_in_a_thread, s), 0);
    fault_gate_pass(&s->compiling);
}

static void assert_thread_is_done(scene *s)
{
    assert_int_equal(pthread_join(s->thread, NULL), 0);
    assert_int_equal(s->status, TOPK_JIT_OK);
    assert_int_equal(s->it->logged[TOPK_JIT_LOG_WARNING], 0);
}

static void let_the_parent_proceed(void *user)
{
    const scene *s = user;
    fault.on_sleep = NULL;
    fault_gate_open(&s->proceed);
}

static void wait_for_the_parent(void *user, int number)
{
    scene *s = user;
    (void)number;
    fault.on_sleep = let_the_parent_proceed;
    assert_prepares(s);
    assert_null(fault.on_sleep);
    const topk_jit_statistics counts = plan_case_statistics(s->it);
    assert_true(counts.user_hits > 0); /* of the others each may compile some */
    assert_int_equal(counts.user_hits + counts.compiles, kernels(s));
    assert_true(counts.waits > 0);
    assert_int_equal(counts.lock_timeouts, 0);
}

/** The child waits as another process does: for the lock. */
static void child_of_a_compiling_process_takes_what_its_parent_stores(void **state)
{
    scene *s = *state;
    start_thread_that_stands_still(s);
    pid_t child = fault_start(wait_for_the_parent, s, 0);
    assert_thread_is_done(s);
    fault_assert_done(child);
}

static void compile_by_itself(void *user, int number)
{
    scene *s = user;
    (void)number;
    assert_prepares(s);
    assert_int_equal(plan_case_statistics(s->it).compiles, kernels(s));
}

/** The parent's thread is in nobody's way: it is not there. */
static void child_of_a_process_that_compiles_without_a_cache_compiles_by_itself(void **state)
{
    scene *s = *state;
    topk_jit_options options = plan_case_options(s->it);
    options.mode = TOPK_JIT_MODE_OFF;
    plan_case_open(s->it, &options);
    start_thread_that_stands_still(s);
    fault_assert_done(fault_start(compile_by_itself, s, 0));
    fault_gate_open(&s->proceed);
    assert_thread_is_done(s);
    assert_int_equal(plan_case_statistics(s->it).compiles, kernels(s));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(child_loads_anew_what_its_parent_had_loaded),
        TEST(child_that_destroys_the_context_leaves_the_parents_alone),
        TEST(child_of_a_compiling_process_takes_what_its_parent_stores),
        TEST(child_of_a_process_that_compiles_without_a_cache_compiles_by_itself),
    };
    return cmocka_run_group_tests_name("forked_context", tests, NULL, NULL);
}
