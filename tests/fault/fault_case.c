/* SPDX-License-Identifier: Apache-2.0 */
#include "fault_case.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nvrtc.h"
#include "os.h"

#define PASS_MS_MAX 20000

fault_time fault;

/* ---- processes ---- */

void *fault_shared(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

/* cmocka's assertions would go on with the next test, in the child; with this they abort. */
static void become_a_child(pid_t parent)
{
    static const int caught[] = {SIGFPE, SIGILL, SIGSEGV, SIGBUS, SIGSYS}; /* by cmocka */
    const struct rlimit no_core = {0, 0};
    assert_int_equal(setenv("CMOCKA_TEST_ABORT", "1", 1), 0);
    for (size_t i = 0; i < sizeof caught / sizeof caught[0]; i++)
        signal(caught[i], SIG_DFL);
    setrlimit(RLIMIT_CORE, &no_core);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
}

pid_t fault_start(fault_work run, void *user, int number)
{
    const pid_t parent = getpid();
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child != 0)
        return child;
    become_a_child(parent);
    run(user, number);
    _exit(0);
}

static int await(pid_t child)
{
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void assert_returned(int status)
{
    if (WIFSIGNALED(status))
        fail_msg("a process died of %s", strsignal(WTERMSIG(status)));
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

void fault_assert_done(pid_t child)
{
    assert_returned(await(child));
}

bool fault_was_killed(pid_t child)
{
    const int status = await(child);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return true;
    assert_returned(status);
    return false;
}

void fault_kill(pid_t child)
{
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_true(fault_was_killed(child));
}

typedef struct crew {
    pthread_barrier_t *start;
    fault_work run;
    void *user;
} crew;

static void run_with_the_others(void *user, int number)
{
    const crew *c = user;
    pthread_barrier_wait(c->start);
    c->run(c->user, number);
}

void fault_assert_all_done(int count, fault_work run, void *user)
{
    crew c = {fault_shared(sizeof *c.start), run, user};
    pid_t *children = calloc((size_t)count, sizeof *children);
    assert_non_null(children);
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    assert_int_equal(pthread_barrier_init(c.start, &attributes, (unsigned)count), 0);
    for (int i = 0; i < count; i++)
        children[i] = fault_start(run_with_the_others, &c, i);
    for (int i = 0; i < count; i++)
        fault_assert_done(children[i]);
    pthread_barrierattr_destroy(&attributes);
    free(children);
}

/* ---- gates ---- */

fault_gate fault_gate_make(void)
{
    fault_gate gate;
    assert_int_equal(pipe(gate.ends), 0);
    return gate;
}

void fault_gate_open(const fault_gate *gate)
{
    assert_int_equal(write(gate->ends[1], "", 1), 1);
}

void fault_gate_pass(const fault_gate *gate)
{
    char byte;
    struct pollfd opened = {.fd = gate->ends[0], .events = POLLIN};
    assert_int_equal(poll(&opened, 1, PASS_MS_MAX), 1);
    assert_int_equal(read(gate->ends[0], &byte, 1), 1);
}

void fault_gate_remove(fault_gate *gate)
{
    close(gate->ends[0]);
    close(gate->ends[1]);
}

/* ---- time, and what happens in it ---- */

void fault_reset(void)
{
    memset(&fault, 0, sizeof fault);
}

void fault_stop_clock(void)
{
    fault.stopped = true;
    fault.now_ns = 1;
    fault.sleeps = 0;
}

uint64_t __real_tkj_os_now_ns(void);
uint64_t __wrap_tkj_os_now_ns(void);
uint64_t __wrap_tkj_os_now_ns(void)
{
    return fault.stopped ? fault.now_ns : __real_tkj_os_now_ns();
}

void __real_tkj_os_sleep_ns(uint64_t nanoseconds);
void __wrap_tkj_os_sleep_ns(uint64_t nanoseconds);
void __wrap_tkj_os_sleep_ns(uint64_t nanoseconds)
{
    if (fault.on_sleep != NULL)
        fault.on_sleep(fault.user);
    if (!fault.stopped) {
        __real_tkj_os_sleep_ns(nanoseconds);
        return;
    }
    fault.sleeps++;
    fault.now_ns += nanoseconds;
}

topk_jit_status __real_tkj_nvrtc_compile(const tkj_nvrtc *nvrtc, const tkj_compile_job *job,
                                         const char *entry, tkj_compile_result *out);
topk_jit_status __wrap_tkj_nvrtc_compile(const tkj_nvrtc *nvrtc, const tkj_compile_job *job,
                                         const char *entry, tkj_compile_result *out);
topk_jit_status __wrap_tkj_nvrtc_compile(const tkj_nvrtc *nvrtc, const tkj_compile_job *job,
                                         const char *entry, tkj_compile_result *out)
{
    if (fault.on_compile != NULL)
        fault.on_compile(fault.user, entry);
    return __real_tkj_nvrtc_compile(nvrtc, job, entry, out);
}
