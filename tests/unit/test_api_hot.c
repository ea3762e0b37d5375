/* SPDX-License-Identifier: Apache-2.0 */
/* A prepared call: one driver call, or two where it is two launches, and nothing else. */
#include "plan_case.h"

#include <time.h>

/* ---- what a prepared call must not do; linked with --wrap ---- */

static atomic_int forbidden_calls;

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    forbidden_calls++;
    return __real_pthread_mutex_lock(mutex);
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    forbidden_calls++;
    return __real_malloc(size);
}

char *__real_secure_getenv(const char *name);
char *__wrap_secure_getenv(const char *name);
char *__wrap_secure_getenv(const char *name)
{
    forbidden_calls++;
    return __real_secure_getenv(name);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = va_arg(arguments, int);
    va_end(arguments);
    forbidden_calls++;
    return __real_open(path, flags, mode);
}

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    forbidden_calls++;
    return __real_clock_gettime(clock, time);
}

void *__real_dlsym(void *library, const char *symbol);
void *__wrap_dlsym(void *library, const char *symbol);
void *__wrap_dlsym(void *library, const char *symbol)
{
    forbidden_calls++;
    return __real_dlsym(library, symbol);
}

/* ---- calls ---- */

/** Runs one prepared call. */
typedef topk_jit_status (*hot_call)(topk_jit_context *context, const plan_call *call);

static topk_jit_status select_once(topk_jit_context *context, const plan_call *call)
{
    return topk_jit_select(context, &call->args, streams[SM90]);
}

static topk_jit_status plain_once(topk_jit_context *context, const plan_call *call)
{
    return topk_jit_fast_topk_v2(context, &call->score, NULL, call->args.topk, NULL, &call->indices,
                                 streams[SM90]);
}

static topk_jit_status fast_topk_once(topk_jit_context *context, const plan_call *call)
{
    DLTensor indices = call->indices;
    DLTensor values = call->indices;
    indices.dtype = (DLDataType){kDLInt, 64, 1};
    values.dtype = call->score.dtype;
    values.data = (void *)(1ULL << 42);
    return topk_jit_fast_topk(context, &call->score, call->args.topk, 1, &values, &indices,
                              streams[SM90]);
}

/** Long rows, and a workspace with which a GPU without clusters takes them in two launches. */
static topk_jit_status split_once(topk_jit_context *context, const plan_call *call)
{
    plan_call split;
    plan_call_init(&split, SM80, call->score_shape[0], call->index_shape[0], call->args.topk);
    split.args.workspace = (void *)(1ULL << 45);
    split.args.workspace_size = 1 << 20;
    return topk_jit_select(context, &split.args, streams[SM80]);
}

/** Makes the call once, which prepares it, then watches it. */
static void assert_launches_and_nothing_else(plan_case *it, hot_call run, int expected)
{
    plan_call call;
    plan_call_init(&call, SM90, 7, 7, 2048);
    assert_int_equal(run(it->context, &call), TOPK_JIT_OK);
    const topk_jit_statistics before = plan_case_statistics(it);
    const int driver_calls = cuda->total_calls();
    const int launches = cuda->calls("cuLaunchKernelEx");
    const int allocations = atomic_load(&it->memory.asked);
    const int lines = it->logged[TOPK_JIT_LOG_DEBUG] + it->logged[TOPK_JIT_LOG_INFO];
    forbidden_calls = 0;
    topk_jit_status status = run(it->context, &call);
    const int forbidden = forbidden_calls;
    assert_int_equal(status, TOPK_JIT_OK);
    assert_int_equal(forbidden, 0);
    assert_int_equal(cuda->total_calls(), driver_calls + expected);
    assert_int_equal(cuda->calls("cuLaunchKernelEx"), launches + expected);
    assert_int_equal(atomic_load(&it->memory.asked), allocations);
    assert_int_equal(it->logged[TOPK_JIT_LOG_DEBUG] + it->logged[TOPK_JIT_LOG_INFO], lines);
    const topk_jit_statistics after = plan_case_statistics(it);
    assert_memory_equal(&after, &before, sizeof before);
}

static void what_is_forbidden_is_noticed_where_it_happens(void **state)
{
    plan_case *it = *state;
    plan_call call;
    plan_call_init(&call, SM90, 7, 7, 2048);
    forbidden_calls = 0;
    assert_int_equal(select_once(it->context, &call), TOPK_JIT_OK); /* the cold path does it all */
    assert_true(forbidden_calls > 5);
}

static void prepared_selection_launches_and_does_nothing_else(void **state)
{
    assert_launches_and_nothing_else(*state, select_once, 1);
}

static void prepared_plain_operation_launches_and_does_nothing_else(void **state)
{
    assert_launches_and_nothing_else(*state, plain_once, 1);
}

static void prepared_fast_topk_launches_and_does_nothing_else(void **state)
{
    assert_launches_and_nothing_else(*state, fast_topk_once, 1);
}

static void prepared_split_launches_twice_and_does_nothing_else(void **state)
{
    assert_launches_and_nothing_else(*state, split_once, 2);
}

static void prepared_call_is_captured_into_a_graph(void **state)
{
    plan_case *it = *state;
    fake_cuda_launch launch;
    plan_call call;
    plan_call_init(&call, SM90, 7, 7, 2048);
    const topk_jit_spec spec = plan_case_spec(2048);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    const int driver_calls = cuda->total_calls();
    cuda->capture_begin(streams[SM90]);
    assert_int_equal(select_once(it->context, &call), TOPK_JIT_OK);
    assert_true(cuda->capture_end(streams[SM90]));
    assert_int_equal(cuda->total_calls(), driver_calls + 1);
    cuda->last_launch(&launch);
    assert_true(launch.captured);
}

#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, plan_case_set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(what_is_forbidden_is_noticed_where_it_happens),
        TEST(prepared_selection_launches_and_does_nothing_else),
        TEST(prepared_plain_operation_launches_and_does_nothing_else),
        TEST(prepared_fast_topk_launches_and_does_nothing_else),
        TEST(prepared_split_launches_twice_and_does_nothing_else),
        TEST(prepared_call_is_captured_into_a_graph),
    };
    return cmocka_run_group_tests_name("api_hot", tests, NULL, NULL);
}
