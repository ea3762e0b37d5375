/* SPDX-License-Identifier: Apache-2.0 */
/* The process whose turn it is dies, fails or stands still while it compiles; others wait for it.
   (pytorch#189245, flashinfer#2262, vllm#41865) */
#include "plan_case.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "digest.h"
#include "fault_case.h"
#include "memory.h"
#include "os.h"

#define WAITERS 8

/** A test's processes. */
typedef struct scene {
    plan_case *it;
    topk_jit_spec spec;
    pid_t holder;         /* holds the lock of the first kernel */
    fault_gate compiling; /* opened by the holder, once it does */
    fault_gate proceed;   /* passed by the holder, before it is done */
    fault_gate waiting;   /* opened by each waiter, once it does */
    fault_gate go_on;     /* passed by each waiter */
    atomic_int *compiles; /* of all waiters */
} scene;

static int set_up(void **state)
{
    static scene only;
    fault_reset();
    only = (scene){
        .spec = plan_case_spec(2048),
        .compiling = fault_gate_make(),
        .proceed = fault_gate_make(),
        .waiting = fault_gate_make(),
        .go_on = fault_gate_make(),
        .compiles = fault_shared(sizeof(atomic_int)),
    };
    void *it = NULL;
    plan_case_set_up(&it);
    only.it = it;
    *state = &only;
    return 0;
}

static int tear_down(void **state)
{
    scene *s = *state;
    void *it = s->it;
    fault_gate *gates[] = {&s->compiling, &s->proceed, &s->waiting, &s->go_on};
    for (size_t i = 0; i < sizeof gates / sizeof gates[0]; i++)
        fault_gate_remove(gates[i]);
    return plan_case_tear_down(&it);
}

/* ---- the holder ---- */

/* The first time only: a spec has several kernels. */
static void stand_still(void *user, const char *entry)
{
    const scene *s = user;
    (void)entry;
    fault.on_compile = NULL;
    fault_gate_open(&s->compiling);
    fault_gate_pass(&s->proceed);
}

static void stand_still_while_compiling(scene *s)
{
    fault.on_compile = stand_still;
    fault.user = s;
}

/* The first kernel of its own, the others of those that did not wait. */
static void prepare_after_standing_still(void *user, int number)
{
    scene *s = user;
    (void)number;
    stand_still_while_compiling(s);
    assert_int_equal(plan_case_prepare(s->it, &s->spec, SM90), TOPK_JIT_OK);
    const topk_jit_statistics counts = plan_case_statistics(s->it);
    assert_int_equal(counts.compiles, 1);
    assert_int_equal(counts.stores, 1);
    assert_int_equal(counts.user_hits, plan_case_kernels(&s->spec, SM90) - 1);
    assert_int_equal(s->it->logged[TOPK_JIT_LOG_WARNING], 0);
}

static void fail_after_standing_still(void *user, int number)
{
    scene *s = user;
    (void)number;
    stand_still_while_compiling(s);
    nvrtc->inject("nvrtcCompileProgram", 6, 1);
    assert_int_equal(plan_case_prepare(s->it, &s->spec, SM90), TOPK_JIT_COMPILE_FAILED);
}

static void start_holder(scene *s, fault_work run)
{
    s->holder = fault_start(run, s, 0);
    fault_gate_pass(&s->compiling);
}

static size_t kernels(const scene *s)
{
    return plan_case_kernels(&s->spec, SM90);
}

/* ---- one waiter: this process, whose time passes in sleeps only ---- */

static void assert_prepares(scene *s)
{
    assert_int_equal(plan_case_prepare(s->it, &s->spec, SM90), TOPK_JIT_OK);
    assert_non_null(plan_case_find(s->it, &s->spec, SM90));
}

static void assert_compiled_without_a_timeout(scene *s)
{
    const topk_jit_statistics counts = plan_case_statistics(s->it);
    assert_int_equal(fault.sleeps, 1);
    assert_int_equal(counts.waits, 1);
    assert_int_equal(counts.lock_timeouts, 0);
    assert_int_equal(counts.compiles, kernels(s));
    assert_int_equal(counts.stores, kernels(s));
    assert_int_equal(plan_case_entries(s->it, 13), kernels(s));
    assert_int_equal(s->it->logged[TOPK_JIT_LOG_WARNING], 0);
}

static void kill_the_holder(void *user)
{
    const scene *s = user;
    fault.on_sleep = NULL;
    fault_kill(s->holder);
}

static void waiter_goes_on_at_once_when_the_holder_is_killed(void **state)
{
    scene *s = *state;
    start_holder(s, prepare_after_standing_still);
    fault_stop_clock();
    fault.user = s;
    fault.on_sleep = kill_the_holder;
    assert_prepares(s);
    assert_compiled_without_a_timeout(s);
}

static void let_the_holder_end(void *user)
{
    const scene *s = user;
    fault.on_sleep = NULL;
    fault_gate_open(&s->proceed);
    fault_assert_done(s->holder);
}

static void waiter_tries_for_itself_when_the_holder_fails(void **state)
{
    scene *s = *state;
    start_holder(s, fail_after_standing_still);
    fault_stop_clock();
    fault.user = s;
    fault.on_sleep = let_the_holder_end;
    assert_prepares(s);
    assert_compiled_without_a_timeout(s);
}

static void prepare_alone(void *user, int number)
{
    scene *s = user;
    (void)number;
    stand_still_while_compiling(s);
    assert_int_equal(plan_case_prepare(s->it, &s->spec, SM90), TOPK_JIT_OK);
}

static void waiter_takes_what_the_holder_stored(void **state)
{
    scene *s = *state;
    start_holder(s, prepare_alone);
    fault_stop_clock();
    fault.user = s;
    fault.on_sleep = let_the_holder_end;
    assert_prepares(s);
    assert_int_equal(fault.sleeps, 1);
    assert_int_equal(plan_case_statistics(s->it).compiles, 0);
    assert_int_equal(plan_case_statistics(s->it).user_hits, kernels(s));
}

/* ---- a holder that stands still ---- */

/** An entry's file. */
typedef struct entry_file {
    ino_t inode;
    uint8_t digest[TKJ_DIGEST_SIZE];
} entry_file;

typedef struct entry_files {
    size_t count;
    entry_file at[16];
} entry_files;

static void read_entry(const char *path, void *user)
{
    entry_files *files = user;
    struct stat status;
    tkj_blob bytes;
    assert_true(files->count < sizeof files->at / sizeof files->at[0]);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(
        tkj_os_read_file(&tkj_default_allocator, AT_FDCWD, path, TKJ_ENTRY_SIZE_MAX, &bytes), 0);
    entry_file *file = &files->at[files->count++];
    file->inode = status.st_ino;
    tkj_digest(bytes.bytes, bytes.size, file->digest);
    tkj_free(&tkj_default_allocator, bytes.bytes);
}

/** Asserts that one file is another one now, and that all have the bytes they had. */
static void assert_one_was_written_again(const entry_files *before, const entry_files *after)
{
    int others = 0;
    for (size_t i = 0; i < before->count; i++) {
        size_t same = 0;
        while (same < after->count &&
               memcmp(before->at[i].digest, after->at[same].digest, TKJ_DIGEST_SIZE) != 0)
            same++;
        assert_true(same < after->count);
        others += before->at[i].inode != after->at[same].inode;
    }
    assert_int_equal(others, 1);
}

static void stop_the_holder(scene *s)
{
    int status = 0;
    assert_int_equal(kill(s->holder, SIGSTOP), 0);
    assert_int_equal(waitpid(s->holder, &status, WUNTRACED), s->holder);
    assert_true(WIFSTOPPED(status));
}

static void waiter_goes_on_after_its_patience_while_the_holder_is_stopped(void **state)
{
    entry_files before = {0}, after = {0};
    scene *s = *state;
    topk_jit_options options = plan_case_options(s->it);
    options.lock_timeout_ms = 50;
    start_holder(s, prepare_after_standing_still);
    stop_the_holder(s);
    plan_case_open(s->it, &options);
    fault_stop_clock();
    assert_prepares(s);
    const topk_jit_statistics counts = plan_case_statistics(s->it);
    assert_in_range(counts.wait_ns, UINT64_C(50000000), UINT64_C(100000000));
    assert_int_equal(counts.lock_timeouts, 1);
    assert_int_equal(counts.stores, kernels(s));
    assert_int_equal(s->it->logged[TOPK_JIT_LOG_WARNING], 1);
    plan_case_assert_logged(s->it, TOPK_JIT_LOG_WARNING, "50 ms");
    plan_case_each_file(s->it->root, ".tkc", read_entry, &before);

    assert_int_equal(kill(s->holder, SIGCONT), 0);
    fault_gate_open(&s->proceed);
    fault_assert_done(s->holder);
    plan_case_each_file(s->it->root, ".tkc", read_entry, &after);
    assert_int_equal(before.count, kernels(s));
    assert_one_was_written_again(&before, &after);
    plan_case_reopen(s->it, "/nonexistent/libnvrtc.so");
    assert_prepares(s);
}

/* ---- many waiters: processes ---- */

static void say_and_wait(void *user)
{
    const scene *s = user;
    fault.on_sleep = NULL;
    fault_gate_open(&s->waiting);
    fault_gate_pass(&s->go_on);
}

static void wait_and_prepare(void *user, int number)
{
    scene *s = user;
    (void)number;
    fault.user = s;
    fault.on_sleep = say_and_wait;
    assert_prepares(s);
    assert_null(fault.on_sleep);
    atomic_fetch_add(s->compiles, (int)plan_case_statistics(s->it).compiles);
    assert_int_equal(plan_case_statistics(s->it).lock_timeouts, 0);
    assert_int_equal(s->it->logged[TOPK_JIT_LOG_WARNING], 0);
}

/** One of them compiles, and the others wait for that one now. */
static void waiters_of_a_holder_that_is_killed_compile_once(void **state)
{
    scene *s = *state;
    pid_t waiters[WAITERS];
    start_holder(s, prepare_after_standing_still);
    for (int i = 0; i < WAITERS; i++)
        waiters[i] = fault_start(wait_and_prepare, s, i);
    for (int i = 0; i < WAITERS; i++)
        fault_gate_pass(&s->waiting);
    fault_kill(s->holder);
    for (int i = 0; i < WAITERS; i++)
        fault_gate_open(&s->go_on);
    for (int i = 0; i < WAITERS; i++)
        fault_assert_done(waiters[i]);
    assert_int_equal(atomic_load(s->compiles), kernels(s));
    assert_int_equal(plan_case_entries(s->it, 13), kernels(s));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(waiter_goes_on_at_once_when_the_holder_is_killed),
        TEST(waiter_tries_for_itself_when_the_holder_fails),
        TEST(waiter_takes_what_the_holder_stored),
        TEST(waiter_goes_on_after_its_patience_while_the_holder_is_stopped),
        TEST(waiters_of_a_holder_that_is_killed_compile_once),
    };
    return cmocka_run_group_tests_name("lock_holder", tests, NULL, NULL);
}
