/* SPDX-License-Identifier: Apache-2.0 */
/* A context in a child after fork: what was the parent's is left alone, what is memory is kept. */
#include "fork_case.h"

#define NOT_INITIALIZED 3 /* what CUDA says in a child of a process that has used it */

/* A spec of one kernel. */
static topk_jit_spec known(void)
{
    return plan_case_spec(9004);
}

static void prepare_known(plan_case *it)
{
    const topk_jit_spec spec = known();
    assert_int_equal(plan_case_kernels(&spec, SM90), 1);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    assert_int_equal(fork_case_launch(it->context, &spec), TOPK_JIT_OK);
}

/* The parent goes on as if nothing had been. */
static void assert_parent_is_unharmed(plan_case *it)
{
    const topk_jit_spec spec = known();
    const int loads = cuda->calls("cuLibraryLoadData"), launches = cuda->launches();
    assert_non_null(plan_case_find(it, &spec, SM90));
    assert_int_equal(fork_case_launch(it->context, &spec), TOPK_JIT_OK);
    assert_int_equal(cuda->calls("cuLibraryLoadData"), loads);
    assert_int_equal(cuda->launches(), launches + 1);
    assert_true(fork_case_host_works(it->context));
}

/* ---- kernels ---- */

static int compute_and_destroy(plan_case *it)
{
    const int calls = cuda->total_calls();
    CHECK(fork_case_host_works(it->context));
    topk_jit_context_destroy(it->context);
    CHECK(cuda->total_calls() == calls);
    return 0;
}

static int destroy_at_once(plan_case *it)
{
    const int calls = cuda->total_calls();
    topk_jit_context_destroy(it->context);
    CHECK(cuda->calls("cuLibraryUnload") == 0);
    CHECK(cuda->total_calls() == calls);
    return 0;
}

static void child_computes_on_the_host_and_unloads_nothing(void **state)
{
    prepare_known(*state);
    fork_case_assert_child(*state, compute_and_destroy);
    fork_case_assert_child(*state, destroy_at_once);
    assert_parent_is_unharmed(*state);
}

static int launch_in_vain(plan_case *it)
{
    const topk_jit_spec spec = known();
    const int launches = cuda->launches();
    cuda->inject_any(NOT_INITIALIZED, 1);
    CHECK(fork_case_launch(it->context, &spec) == TOPK_JIT_DRIVER_FAILED);
    CHECK(topk_jit_last_error()->native_code == NOT_INITIALIZED);
    CHECK(cuda->launches() == launches);
    CHECK(fork_case_host_works(it->context));
    return 0;
}

static void gpu_call_of_a_child_is_the_drivers_to_refuse(void **state)
{
    prepare_known(*state);
    fork_case_assert_child(*state, launch_in_vain);
    assert_parent_is_unharmed(*state);
}

static int load_anew(plan_case *it)
{
    const topk_jit_spec spec = known();
    const int loads = cuda->calls("cuLibraryLoadData"), launches = cuda->launches();
    CHECK(fork_case_launch(it->context, &spec) == TOPK_JIT_OK);
    CHECK(fork_case_launch(it->context, &spec) == TOPK_JIT_OK);
    CHECK(cuda->calls("cuLibraryLoadData") == loads + 1);
    CHECK(cuda->launches() == launches + 2);
    topk_jit_context_destroy(it->context);
    CHECK(cuda->calls("cuLibraryUnload") == 1);
    return 0;
}

/* Where a driver does serve a child, it is by kernels of its own. */
static void child_launches_what_it_has_loaded_itself(void **state)
{
    prepare_known(*state);
    fork_case_assert_child(*state, load_anew);
    assert_parent_is_unharmed(*state);
}

static int load_anew_in_a_child_of_the_child(plan_case *it)
{
    const topk_jit_spec spec = known();
    CHECK(fork_case_launch(it->context, &spec) == TOPK_JIT_OK);
    return fork_case_run_child(it, load_anew);
}

static void child_of_a_child_is_one_too(void **state)
{
    prepare_known(*state);
    fork_case_assert_child(*state, load_anew_in_a_child_of_the_child);
    assert_parent_is_unharmed(*state);
}

static int create_and_use(plan_case *it)
{
    topk_jit_context *context = NULL;
    const topk_jit_options options = plan_case_options(it);
    const topk_jit_spec spec = known();
    const int unloads = cuda->calls("cuLibraryUnload");
    CHECK(topk_jit_context_create(&context, &options) == TOPK_JIT_OK);
    CHECK(fork_case_launch(context, &spec) == TOPK_JIT_OK);
    CHECK(fork_case_host_works(context));
    topk_jit_context_destroy(context);
    CHECK(cuda->calls("cuLibraryUnload") == unloads + 1);
    return 0;
}

static void context_created_in_the_child_works(void **state)
{
    prepare_known(*state);
    fork_case_assert_child(*state, create_and_use);
}

/* ---- memory ---- */

static int find_in_memory(plan_case *it)
{
    const topk_jit_spec spec = known();
    const topk_jit_statistics before = plan_case_statistics(it);
    CHECK(plan_case_prepare(it, &spec, SM90) == TOPK_JIT_OK);
    const topk_jit_statistics after = plan_case_statistics(it);
    CHECK(after.memory_hits == before.memory_hits + 1);
    CHECK(after.compiles == before.compiles);
    return 0;
}

static void entries_held_in_memory_are_still_there(void **state)
{
    plan_case *it = *state;
    topk_jit_options options = plan_case_options(it);
    options.mode = TOPK_JIT_MODE_OFF;
    plan_case_open(it, &options);
    prepare_known(it);
    fork_case_assert_child(it, find_in_memory);
}

/* ---- a process that compiles ---- */

static void *prepare_another(void *argument)
{
    const topk_jit_spec spec = plan_case_spec(9012);
    return plan_case_prepare(argument, &spec, SM90) == TOPK_JIT_OK ? NULL : argument;
}

static int hit_and_miss(plan_case *it)
{
    const topk_jit_spec hit = known(), miss = plan_case_spec(9016);
    CHECK(plan_case_prepare(it, &miss, SM90) == TOPK_JIT_NVRTC_FAILED);
    CHECK(fork_case_host_works(it->context));
    CHECK(plan_case_prepare(it, &hit, SM90) == TOPK_JIT_OK);
    CHECK(fork_case_launch(it->context, &hit) == TOPK_JIT_OK);
    topk_jit_context_destroy(it->context);
    return 0;
}

static void child_that_cannot_compile_has_all_that_is_compiled(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec last = plan_case_spec(9020);
    pthread_t thread;
    void *failed = NULL;
    prepare_known(it);
    const int compiles = nvrtc->calls("nvrtcCompileProgram");
    nvrtc->set_meeting(2); /* the thread waits for the last one */
    assert_int_equal(pthread_create(&thread, NULL, prepare_another, it), 0);
    for (int i = 0; i < 10000 && nvrtc->calls("nvrtcCompileProgram") == compiles; i++)
        tkj_os_sleep_ns(1000000);
    const int result = fork_case_run_child(it, hit_and_miss);
    assert_int_equal(plan_case_prepare(it, &last, SM90), TOPK_JIT_OK);
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
    assert_int_equal(result, 0);
    assert_parent_is_unharmed(it);
}

/* ---- threads of the child ---- */

static pthread_barrier_t start;
static int loads_of_the_parent;

static void *compute_and_prepare(void *argument)
{
    plan_case *it = argument;
    const topk_jit_spec spec = known();
    pthread_barrier_wait(&start);
    bool good = fork_case_host_works(it->context) &&
                plan_case_prepare(it, &spec, SM90) == TOPK_JIT_OK &&
                cuda->calls("cuLibraryLoadData") > loads_of_the_parent &&
                fork_case_launch(it->context, &spec) == TOPK_JIT_OK;
    return good ? NULL : argument;
}

static int race_into_the_first_call(plan_case *it)
{
    pthread_t threads[2];
    void *failed[2] = {NULL, NULL};
    loads_of_the_parent = cuda->calls("cuLibraryLoadData");
    pthread_barrier_init(&start, NULL, 2);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, compute_and_prepare, it) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], &failed[i]) == 0);
    CHECK(failed[0] == NULL && failed[1] == NULL);
    CHECK(cuda->calls("cuLibraryLoadData") == loads_of_the_parent + 1);
    topk_jit_context_destroy(it->context);
    CHECK(cuda->calls("cuLibraryUnload") == 1);
    return 0;
}

static void two_threads_of_a_child_may_come_first(void **state)
{
    prepare_known(*state);
    for (int i = 0; i < 20; i++) {
        fork_case_slow = i < 3;
        fork_case_assert_child(*state, race_into_the_first_call);
    }
    assert_parent_is_unharmed(*state);
}

/* ---- systems that do not wipe ---- */

static int compute(plan_case *it)
{
    CHECK(fork_case_host_works(it->context));
    return 0;
}

static void context_works_where_nothing_is_wiped(void **state)
{
    plan_case *it = *state;
    fork_case_no_wipe = true;
    plan_case_reopen(it, FAKE_NVRTC_PATH);
    assert_null(it->context->alive);
    prepare_known(it);
    fork_case_assert_child(it, compute);
    assert_parent_is_unharmed(it);
}

#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, fork_case_set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(child_computes_on_the_host_and_unloads_nothing),
        TEST(gpu_call_of_a_child_is_the_drivers_to_refuse),
        TEST(child_launches_what_it_has_loaded_itself),
        TEST(child_of_a_child_is_one_too),
        TEST(context_created_in_the_child_works),
        TEST(entries_held_in_memory_are_still_there),
        TEST(child_that_cannot_compile_has_all_that_is_compiled),
        TEST(two_threads_of_a_child_may_come_first),
        TEST(context_works_where_nothing_is_wiped),
    };
    return cmocka_run_group_tests_name("context_fork", tests, NULL, NULL);
}
