/* SPDX-License-Identifier: Apache-2.0 */
/* The library is a guest in a process: small stacks, signals, limits, exit and fork are the host's.
 */
#include "fork_case.h"

#include <limits.h>
#include <locale.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOW_MS 100
#define ONE_KERNEL 9020 /* this k and those that follow: one kernel each on sm_90 */

/* ---- preparations that tell ---- */

static struct {
    sem_t told;
    atomic_int times;
    topk_jit_status status;
    pthread_t thread;
    sigset_t mask; /* of that thread */
} heard;

static void hear(void *user, topk_jit_status status, const topk_jit_error *error)
{
    (void)user, (void)error;
    heard.times++;
    heard.status = status;
    heard.thread = pthread_self();
    pthread_sigmask(SIG_SETMASK, NULL, &heard.mask);
    sem_post(&heard.told);
}

static int set_up(void **state)
{
    memset(&heard, 0, sizeof heard);
    sem_init(&heard.told, 0, 0);
    return fork_case_set_up(state);
}

static topk_jit_status begin(plan_case *it, int64_t topk)
{
    const topk_jit_spec spec = plan_case_spec(topk);
    return topk_jit_prepare_async(it->context, &spec, 1, streams[SM90], hear, NULL);
}

static void wait_until_told(void)
{
    while (sem_wait(&heard.told) != 0) { /* a signal came */
    }
}

/* A preparation whose compilation has begun and will last. */
static topk_jit_status begin_slowly(plan_case *it, int64_t topk)
{
    const int before = nvrtc->calls("nvrtcCompileProgram");
    nvrtc->set_delay_ms(SLOW_MS);
    const topk_jit_status status = begin(it, topk);
    while (status == TOPK_JIT_OK && nvrtc->calls("nvrtcCompileProgram") == before &&
           heard.times == 0)
        tkj_os_sleep_ns(100000);
    return status;
}

/* ---- stacks ---- */

typedef struct visit {
    plan_case *it;
    topk_jit_options options;
    topk_jit_options offline;
    const char *failed; /* the first step that did */
    void *stack;        /* its lowest address */
} visit;

static char explained[8192];

static void must(visit *v, bool good, const char *step)
{
    if (!good && v->failed == NULL)
        v->failed = step;
}

static topk_jit_status explain(topk_jit_context *context, const topk_jit_spec *spec)
{
    return topk_jit_explain(context, spec, NULL, streams[SM90], explained, sizeof explained, NULL);
}

static void visit_offline(visit *v)
{
    topk_jit_context *context = NULL;
    const topk_jit_spec spec = plan_case_spec(300);
    must(v, topk_jit_context_create(&context, &v->offline) == TOPK_JIT_OK, "create offline");
    must(v, topk_jit_prepare(context, &spec, 1, streams[SM90]) == TOPK_JIT_OFFLINE_MISS,
         "miss offline");
    must(v, explain(context, &spec) == TOPK_JIT_OK, "explain a miss");
    topk_jit_context_destroy(context);
}

static void *do_everything(void *argument)
{
    visit *v = argument;
    topk_jit_context *context = NULL;
    const topk_jit_spec cold = plan_case_spec(2048), lazy = plan_case_spec(512);
    must(v, topk_jit_context_create(&context, &v->options) == TOPK_JIT_OK, "create");
    must(v, explain(context, &cold) == TOPK_JIT_OK, "explain");
    must(v, topk_jit_prepare(context, &cold, 1, streams[SM90]) == TOPK_JIT_OK, "prepare");
    must(v, topk_jit_prepare_async(context, &cold, 1, streams[SM80], hear, NULL) == TOPK_JIT_OK,
         "prepare later");
    wait_until_told();
    must(v, heard.status == TOPK_JIT_OK, "be told");
    must(v, fork_case_launch(context, &cold) == TOPK_JIT_OK, "select on the GPU");
    must(v, fork_case_launch(context, &lazy) == TOPK_JIT_OK, "select unprepared");
    must(v, fork_case_host_works(context), "select on the host");
    topk_jit_context_destroy(context);
    visit_offline(v);
    return NULL;
}

#define WHOLE_STACK ((size_t)2 << 20) /* what the test's thread-local variables take lies in it */

/* From here on CALLER_STACK bytes are left; what lies below may not be touched. */
static void *do_everything_on_a_small_stack(void *argument)
{
    visit *v = argument;
    char here;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t floor = ((uintptr_t)&here - CALLER_STACK) / page * page;
    if (mprotect(v->stack, floor - (uintptr_t)v->stack, PROT_NONE) != 0)
        v->failed = "end the stack";
    return do_everything(v);
}

static void small_stack_is_enough_for_every_call(void **state)
{
    plan_case *it = *state;
    visit v = {it, plan_case_options(it), plan_case_options(it), NULL, NULL};
    pthread_attr_t attributes;
    pthread_t thread;
    v.offline.mode = TOPK_JIT_MODE_OFFLINE;
    v.stack = mmap(NULL, WHOLE_STACK, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    assert_ptr_not_equal(v.stack, MAP_FAILED);
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstack(&attributes, v.stack, WHOLE_STACK), 0);
    assert_int_equal(pthread_create(&thread, &attributes, do_everything_on_a_small_stack, &v), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    if (v.failed != NULL)
        fail_msg("could not %s", v.failed);
    assert_int_equal(munmap(v.stack, WHOLE_STACK), 0);
}

/* ---- what belongs to the process and to its threads ---- */

typedef struct surroundings {
    sigset_t mask;
    struct rlimit stack;
    char locale[128];
    char directory[PATH_MAX];
    mode_t umask;
} surroundings;

static surroundings look_around(void)
{
    surroundings s;
    memset(&s, 0, sizeof s);
    pthread_sigmask(SIG_SETMASK, NULL, &s.mask);
    assert_int_equal(getrlimit(RLIMIT_STACK, &s.stack), 0);
    snprintf(s.locale, sizeof s.locale, "%s", setlocale(LC_ALL, NULL));
    assert_non_null(getcwd(s.directory, sizeof s.directory));
    s.umask = umask(0);
    umask(s.umask);
    return s;
}

static void put_back(const surroundings *s)
{
    pthread_sigmask(SIG_SETMASK, &s->mask, NULL);
    assert_int_equal(setrlimit(RLIMIT_STACK, &s->stack), 0);
    assert_non_null(setlocale(LC_ALL, s->locale));
    assert_int_equal(chdir(s->directory), 0);
    umask(s->umask);
}

/* Nothing as a process has it by default. */
static void move_in(const char *directory)
{
    surroundings s = look_around();
    sigemptyset(&s.mask);
    sigaddset(&s.mask, SIGUSR2);
    s.stack.rlim_cur = (rlim_t)3 << 20;
    strcpy(s.locale, "C.UTF-8");
    snprintf(s.directory, sizeof s.directory, "%s", directory);
    s.umask = 0027;
    put_back(&s);
}

static void assert_untouched(const surroundings *before, const char *step)
{
    const surroundings after = look_around();
    if (memcmp(&after.mask, &before->mask, sizeof after.mask) != 0 ||
        after.stack.rlim_cur != before->stack.rlim_cur ||
        after.stack.rlim_max != before->stack.rlim_max ||
        strcmp(after.locale, before->locale) != 0 ||
        strcmp(after.directory, before->directory) != 0 || after.umask != before->umask)
        fail_msg("to %s changed the mask, the stack's limit, the locale, the directory (%s) or "
                 "the umask",
                 step, after.directory);
}

static void surroundings_of_every_call_stay_as_they_are(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    const topk_jit_options options = plan_case_options(it);
    const surroundings at_home = look_around();
    move_in(it->directory);
    const surroundings before = look_around();
    topk_jit_context_destroy(it->context);
    assert_untouched(&before, "destroy");
    assert_int_equal(topk_jit_context_create(&it->context, &options), TOPK_JIT_OK);
    assert_untouched(&before, "create");
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    assert_untouched(&before, "prepare cold");
    plan_case_reopen(it, FAKE_NVRTC_PATH);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    assert_int_equal(plan_case_statistics(it).user_hits, plan_case_kernels(&spec, SM90));
    assert_untouched(&before, "prepare warm");
    assert_int_equal(begin_slowly(it, ONE_KERNEL), TOPK_JIT_OK);
    assert_untouched(&before, "begin to prepare");
    wait_until_told();
    assert_untouched(&before, "prepare on another thread");
    assert_int_equal(fork_case_launch(it->context, &spec), TOPK_JIT_OK);
    assert_true(fork_case_host_works(it->context));
    assert_untouched(&before, "select");
    plan_case_close(it);
    assert_untouched(&before, "destroy");
    put_back(&at_home);
}

/* ---- signals ---- */

static atomic_int handled;
static atomic_bool handled_elsewhere;
static pthread_t host;

static void handle(int number)
{
    (void)number;
    atomic_fetch_add(&handled, 1);
    if (!pthread_equal(pthread_self(), host))
        atomic_store(&handled_elsewhere, true);
}

static void assert_all_blocked(const sigset_t *mask)
{
    for (int number = 1; number < 32; number++)
        if (number != SIGKILL && number != SIGSTOP && sigismember(mask, number) != 1)
            fail_msg("signal %d can run on a thread of the library", number);
}

static void threads_of_the_library_block_every_signal(void **state)
{
    plan_case *it = *state;
    fake_nvrtc_compile compile;
    assert_int_equal(begin(it, 2048), TOPK_JIT_OK);
    wait_until_told();
    assert_int_equal(heard.status, TOPK_JIT_OK);
    assert_false(pthread_equal(heard.thread, pthread_self()));
    assert_all_blocked(&heard.mask);
    nvrtc->last_compile(&compile);
    assert_true(compile.own_thread);
    assert_all_blocked(&compile.signal_mask);
}

/* While no thread of the host takes it, a signal waits, although the library's threads run. */
static void signals_run_on_the_hosts_threads_only(void **state)
{
    plan_case *it = *state;
    const struct sigaction action = {.sa_handler = handle};
    struct sigaction before;
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    host = pthread_self();
    atomic_store(&handled, 0);
    atomic_store(&handled_elsewhere, false);
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    assert_int_equal(begin_slowly(it, ONE_KERNEL), TOPK_JIT_OK);
    pthread_sigmask(SIG_BLOCK, &usr1, NULL);
    assert_int_equal(kill(getpid(), SIGUSR1), 0);
    wait_until_told();
    assert_int_equal(atomic_load(&handled), 0);
    pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
    assert_int_equal(atomic_load(&handled), 1);
    assert_false(atomic_load(&handled_elsewhere));
    assert_int_equal(heard.status, TOPK_JIT_OK);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

/* ---- the end of the process ---- */

#define ENDED 42

static int exit_while_preparing(plan_case *it)
{
    CHECK(begin_slowly(it, ONE_KERNEL) == TOPK_JIT_OK);
    CHECK(begin(it, ONE_KERNEL + 1) == TOPK_JIT_OK);
    exit(ENDED);
}

static topk_jit_context *left_open;

static void destroy_at_exit(void)
{
    topk_jit_context_destroy(left_open);
    if (heard.times != 2)
        _exit(1);
}

/* Other specs: the child before may have stored its own. */
static int exit_and_destroy_while_preparing(plan_case *it)
{
    left_open = it->context;
    CHECK(atexit(destroy_at_exit) == 0);
    CHECK(begin_slowly(it, ONE_KERNEL + 2) == TOPK_JIT_OK);
    CHECK(begin(it, ONE_KERNEL + 3) == TOPK_JIT_OK);
    exit(ENDED);
}

static void exit_while_preparing_neither_hangs_nor_crashes(void **state)
{
    fflush(NULL); /* or the child would print it again */
    assert_int_equal(fork_case_run_child(*state, exit_while_preparing), ENDED);
    assert_int_equal(fork_case_run_child(*state, exit_and_destroy_while_preparing), ENDED);
}

static void *close_it(void *argument)
{
    plan_case *it = argument;
    topk_jit_context_destroy(it->context);
    it->context = NULL;
    return NULL;
}

static void another_thread_than_its_creator_may_destroy_a_busy_context(void **state)
{
    plan_case *it = *state;
    pthread_t thread;
    assert_int_equal(begin_slowly(it, ONE_KERNEL), TOPK_JIT_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(begin(it, ONE_KERNEL + 1 + i), TOPK_JIT_OK);
    assert_int_equal(pthread_create(&thread, NULL, close_it, it), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(heard.times, 4);
    assert_int_equal(heard.status, TOPK_JIT_CANCELLED);
    assert_true(pthread_equal(heard.thread, thread));
}

/* ---- fork ---- */

/* The child has no worker; its first preparation starts one. What the parent's had to do is told to
   nobody here. */
static int prepare_in_the_child(plan_case *it)
{
    CHECK(fork_case_host_works(it->context));
    CHECK(heard.times == 0);
    CHECK(begin(it, 9004) == TOPK_JIT_OK);
    wait_until_told();
    CHECK(heard.status == TOPK_JIT_OK);
    CHECK(!pthread_equal(heard.thread, pthread_self()));
    CHECK(begin(it, 9016) == TOPK_JIT_OK); /* the compiler's locks are a thread's of the parent */
    wait_until_told();
    CHECK(heard.status == TOPK_JIT_NVRTC_FAILED);
    CHECK(fork_case_host_works(it->context));
    topk_jit_context_destroy(it->context);
    CHECK(heard.times == 2);
    return 0;
}

static void child_of_a_process_that_prepares_has_a_worker_of_its_own(void **state)
{
#if defined(__SANITIZE_THREAD__)
    skip(); /* it takes the child's worker for the parent's: "dup thread with used id" */
#endif
    plan_case *it = *state;
    const topk_jit_spec known = plan_case_spec(9004);
    assert_int_equal(plan_case_prepare(it, &known, SM90), TOPK_JIT_OK);
    assert_int_equal(begin_slowly(it, ONE_KERNEL), TOPK_JIT_OK);
    assert_int_equal(begin(it, ONE_KERNEL + 1), TOPK_JIT_OK);
    fork_case_assert_child(it, prepare_in_the_child);
    wait_until_told();
    wait_until_told();
    assert_int_equal(heard.status, TOPK_JIT_OK);
    assert_int_equal(heard.times, 2);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(small_stack_is_enough_for_every_call),
        TEST(surroundings_of_every_call_stay_as_they_are),
        TEST(threads_of_the_library_block_every_signal),
        TEST(signals_run_on_the_hosts_threads_only),
        TEST(exit_while_preparing_neither_hangs_nor_crashes),
        TEST(another_thread_than_its_creator_may_destroy_a_busy_context),
        TEST(child_of_a_process_that_prepares_has_a_worker_of_its_own),
    };
    return cmocka_run_group_tests_name("guest", tests, NULL, NULL);
}
