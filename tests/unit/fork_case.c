/* SPDX-License-Identifier: Apache-2.0 */
#include "fork_case.h"

#include <errno.h>
#include <semaphore.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_SECONDS 15

/* Children of this process have threads of their own. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "die_after_fork=0";
}

/* ---- what the linker puts in the place of calls ---- */

bool fork_case_no_wipe, fork_case_slow;

static _Thread_local bool may_stop;
static _Atomic(pthread_mutex_t *) stops_at;
static atomic_bool stops_before_compiling;
static sem_t stopped, released;

static void stop_here(void)
{
    may_stop = false;
    sem_post(&stopped);
    while (sem_wait(&released) != 0) {
    }
}

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    int result = __real_pthread_mutex_lock(mutex);
    if (may_stop && mutex == atomic_load(&stops_at))
        stop_here();
    return result;
}

topk_jit_status __real_tkj_nvrtc_compile(const tkj_nvrtc *with, const tkj_compile_job *job,
                                         const char *entry, tkj_compile_result *out);
topk_jit_status __wrap_tkj_nvrtc_compile(const tkj_nvrtc *with, const tkj_compile_job *job,
                                         const char *entry, tkj_compile_result *out);
topk_jit_status __wrap_tkj_nvrtc_compile(const tkj_nvrtc *with, const tkj_compile_job *job,
                                         const char *entry, tkj_compile_result *out)
{
    if (may_stop && atomic_load(&stops_before_compiling))
        stop_here();
    return __real_tkj_nvrtc_compile(with, job, entry, out);
}

int __real_madvise(void *address, size_t length, int advice);
int __wrap_madvise(void *address, size_t length, int advice);
int __wrap_madvise(void *address, size_t length, int advice)
{
    if (!fork_case_no_wipe)
        return __real_madvise(address, length, advice);
    errno = EINVAL; /* as Linux before 4.14 */
    return -1;
}

void __real_tkj_kernel_map_forget(const topk_jit_allocator *allocator, tkj_kernel_map *map);
void __wrap_tkj_kernel_map_forget(const topk_jit_allocator *allocator, tkj_kernel_map *map);
void __wrap_tkj_kernel_map_forget(const topk_jit_allocator *allocator, tkj_kernel_map *map)
{
    if (fork_case_slow)
        tkj_os_sleep_ns(20000000); /* so that another thread comes while this one is at it */
    __real_tkj_kernel_map_forget(allocator, map);
}

int fork_case_set_up(void **state)
{
    fork_case_no_wipe = fork_case_slow = false;
    assert_int_equal(sem_init(&stopped, 0, 0), 0);
    assert_int_equal(sem_init(&released, 0, 0), 0);
    return plan_case_set_up(state);
}

/* ---- children ---- */

int fork_case_run_child(plan_case *it, int (*work)(plan_case *it))
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE_SECONDS);
        _exit(work(it));
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

void fork_case_assert_child(plan_case *it, int (*work)(plan_case *it))
{
    assert_int_equal(fork_case_run_child(it, work), 0);
}

/* ---- a thread of the parent ---- */

static struct {
    pthread_t thread;
    plan_case *it;
    topk_jit_spec spec;
    topk_jit_status status;
} stopping;

static void *prepare_and_stop(void *argument)
{
    (void)argument;
    may_stop = true;
    stopping.status = plan_case_prepare(stopping.it, &stopping.spec, SM90);
    may_stop = false;
    return NULL;
}

void fork_case_stop_thread(plan_case *it, const topk_jit_spec *spec, pthread_mutex_t *at)
{
    struct timespec until;
    stopping.it = it;
    stopping.spec = *spec;
    atomic_store(&stops_at, at);
    atomic_store(&stops_before_compiling, at == NULL);
    assert_int_equal(pthread_create(&stopping.thread, NULL, prepare_and_stop, NULL), 0);
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &until), 0);
    until.tv_sec += PATIENCE_SECONDS;
    assert_int_equal(sem_timedwait(&stopped, &until), 0); /* it was there at all */
}

void fork_case_release_thread(void)
{
    assert_int_equal(sem_post(&released), 0);
    assert_int_equal(pthread_join(stopping.thread, NULL), 0);
    assert_int_equal(stopping.status, TOPK_JIT_OK);
}

/* ---- calls ---- */

bool fork_case_host_works(topk_jit_context *context)
{
    float scores[2][4] = {{0.5F, 2.0F, -1.0F, 1.0F}, {3.0F, 0.0F, 4.0F, 9.0F}};
    int64_t score_shape[2] = {2, 4}, index_shape[2] = {2, 2};
    int32_t slots[2][2] = {{0}};
    const int32_t expected[2][2] = {{1, 3}, {3, 2}};
    DLTensor score = {scores, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, score_shape, NULL, 0};
    DLTensor indices = {slots, {kDLCPU, 0}, 2, {kDLInt, 32, 1}, index_shape, NULL, 0};
    topk_jit_select_args args = TOPK_JIT_SELECT_ARGS_INIT;
    args.score = &score;
    args.indices = &indices;
    args.topk = 2;
    args.sorted = 1;
    return topk_jit_select(context, &args, NULL) == TOPK_JIT_OK &&
           memcmp(slots, expected, sizeof expected) == 0;
}

topk_jit_status fork_case_launch(topk_jit_context *context, const topk_jit_spec *spec)
{
    plan_call call;
    plan_call_init(&call, SM90, 3, 3, spec->topk);
    return topk_jit_select(context, &call.args, streams[SM90]);
}
