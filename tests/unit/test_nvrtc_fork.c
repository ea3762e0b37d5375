/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that were forked while another thread compiled, or before, or after. */
#include "nvrtc_case.h"

#include <pthread.h>
#include <string.h>

#include "memory.h"

/* Children of this process have threads of their own. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "die_after_fork=0";
}

static tkj_nvrtc *loaded;

static int set_up(void **state)
{
    nvrtc_case_start(state);
    loaded = load_fake(&silent);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tkj_nvrtc_free(loaded);
    return 0;
}

static topk_jit_status compile_good(void)
{
    const tkj_compile_job job = {.main = {"good.cu", "extern \"C\" __global__ void good() {}\n"},
                                 .architecture = 90};
    tkj_compile_result result;
    topk_jit_status status = tkj_nvrtc_compile(loaded, &job, "good", &result);
    tkj_free(&tkj_default_allocator, result.payload.bytes);
    return status;
}

static void *compile_in_a_thread(void *unused)
{
    (void)unused;
    return (void *)(intptr_t)compile_good();
}

/** A thread that compiles until another compilation begins in this process. */
static pthread_t start_thread_that_stays_in_nvrtc(void)
{
    pthread_t thread;
    fake->set_meeting(2);
    assert_int_equal(pthread_create(&thread, NULL, compile_in_a_thread, NULL), 0);
    for (int i = 0; i < 10000 && fake->calls("nvrtcCompileProgram") == 0; i++)
        tkj_os_sleep_ns(1000000);
    assert_int_equal(fake->calls("nvrtcCompileProgram"), 1);
    return thread;
}

/** Compiles, too, and waits for the thread: both are successes. */
static void assert_thread_ends_well(pthread_t thread)
{
    void *status = NULL;
    assert_int_equal(compile_good(), TOPK_JIT_OK);
    assert_int_equal(pthread_join(thread, &status), 0);
    assert_int_equal((intptr_t)status, TOPK_JIT_OK);
    assert_int_equal(fake->live_programs(), 0);
}

/* ---- children: 0 = as it should be ---- */

static int compile_well(void *unused)
{
    (void)unused;
    return compile_good() == TOPK_JIT_OK ? 0 : 1;
}

static int compile_well_in_every_generation(void *unused)
{
    return compile_well(unused) == 0 ? tkj_test_run_child(compile_well, unused) : 2;
}

static int be_refused(void *unused)
{
    (void)unused;
    const int calls = fake->calls("nvrtcCreateProgram");
    for (int i = 0; i < 2; i++) {
        if (compile_good() != TOPK_JIT_NVRTC_FAILED)
            return 1;
        const topk_jit_error *error = topk_jit_last_error();
        if (error->status != TOPK_JIT_NVRTC_FAILED || strstr(error->message, "good.cu") == NULL ||
            strstr(error->message, "forked while NVRTC was compiling") == NULL)
            return 2;
    }
    return fake->calls("nvrtcCreateProgram") == calls ? 0 : 3;
}

static int be_refused_in_a_child_of_the_child(void *unused)
{
    return tkj_test_run_child(be_refused, unused);
}

static int be_refused_in_every_generation(void *unused)
{
    return be_refused(unused) == 0 ? tkj_test_run_child(be_refused, unused) : 4;
}

/* ---- tests ---- */

static void child_of_a_process_that_compiles_is_refused_at_once(void **state)
{
    (void)state;
    pthread_t thread = start_thread_that_stays_in_nvrtc();
    const int result = tkj_test_run_child(be_refused, NULL);
    assert_thread_ends_well(thread);
    assert_int_equal(result, 0);
}

static void children_of_that_child_are_refused_too(void **state)
{
    (void)state;
    pthread_t thread = start_thread_that_stays_in_nvrtc();
    const int first = tkj_test_run_child(be_refused_in_a_child_of_the_child, NULL);
    const int second = tkj_test_run_child(be_refused_in_every_generation, NULL);
    assert_thread_ends_well(thread);
    assert_int_equal(first, 0);
    assert_int_equal(second, 0);
}

static void child_forked_before_or_after_a_compilation_compiles(void **state)
{
    (void)state;
    assert_int_equal(tkj_test_run_child(compile_well_in_every_generation, NULL), 0);
    assert_thread_ends_well(start_thread_that_stays_in_nvrtc());
    assert_int_equal(tkj_test_run_child(compile_well_in_every_generation, NULL), 0);
    assert_int_equal(compile_good(), TOPK_JIT_OK);
}

static void failed_compilation_is_over(void **state)
{
    (void)state;
    fake->inject("nvrtcCompileProgram", 7, 1);
    assert_int_equal(compile_good(), TOPK_JIT_NVRTC_FAILED);
    assert_int_equal(tkj_test_run_child(compile_well, NULL), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    if (!nvrtc_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(child_of_a_process_that_compiles_is_refused_at_once),
        TEST(children_of_that_child_are_refused_too),
        TEST(child_forked_before_or_after_a_compilation_compiles),
        TEST(failed_compilation_is_over),
    };
    return cmocka_run_group_tests_name("nvrtc_fork", tests, NULL, NULL);
}
