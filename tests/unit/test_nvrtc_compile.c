/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling with a loaded NVRTC. */
#include "nvrtc_case.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* ---- what the linker puts in the place of pthread_create ---- */

static bool threads_are_exhausted;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*function)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*function)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*function)(void *), void *argument)
{
    return threads_are_exhausted ? EAGAIN
                                 : __real_pthread_create(thread, attributes, function, argument);
}

/* ---- compiling ---- */

static const char good_source[] = "extern \"C\" __global__ void good(int *p) { *p = 1; }\n";
static const char bad_source[] = "FAKE_SYNTAX_ERROR\n";
static const tkj_source header = {"header.cuh", "#define TWO 2\n"};

static tkj_compile_job job_for(const char *source, bool ptx)
{
    return (tkj_compile_job){.main = {"main.cu", source},
                             .includes = &header,
                             .include_count = 1,
                             .architecture = 90,
                             .ptx = ptx};
}

/** Compiles into nothing; used where only the status matters. */
static topk_jit_status compile_status(const tkj_nvrtc *nvrtc, const tkj_compile_job *job)
{
    tkj_compile_result result;
    topk_jit_status status = tkj_nvrtc_compile(nvrtc, job, "good", &result);
    if (status != TOPK_JIT_OK) {
        assert_null(result.payload.bytes);
        assert_int_equal(result.payload.size, 0);
        assert_int_equal(topk_jit_last_error()->status, status);
    }
    tkj_free(&tkj_default_allocator, result.payload.bytes);
    assert_int_equal(fake->live_programs(), 0);
    return status;
}

static void assert_options(int major, int minor, bool ptx, const char *const *expected)
{
    fake->reset();
    fake->set_version(major, minor);
    tkj_nvrtc *nvrtc = load_fake(&silent);
    const tkj_compile_job job = job_for(good_source, ptx);
    assert_int_equal(compile_status(nvrtc, &job), TOPK_JIT_OK);
    fake_nvrtc_compile last;
    fake->last_compile(&last);
    int count = 0;
    for (; expected[count] != NULL; count++)
        assert_string_equal(last.options[count], expected[count]);
    assert_int_equal(last.option_count, count);
    tkj_nvrtc_free(nvrtc);
}

static void options_follow_the_version_in_one_order(void **state)
{
    (void)state;
    static const char *const old[] = {"-arch=sm_90",         "-std=c++17",
                                      "-default-device",     "--fmad=false",
                                      "--no-source-include", "--modify-stack-limit=false",
                                      "--ptxas-options=-v",  NULL};
    static const char *const with_cache[] = {"-arch=sm_90",
                                             "-std=c++17",
                                             "-default-device",
                                             "--fmad=false",
                                             "--no-source-include",
                                             "--no-cache",
                                             "--modify-stack-limit=false",
                                             "--ptxas-options=-v",
                                             NULL};
    assert_options(12, 0, false, old);
    assert_options(12, 8, false, old);
    assert_options(12, 9, false, with_cache);
    assert_options(13, 0, false, with_cache);
}

static void ptx_is_compiled_for_the_virtual_architecture(void **state)
{
    (void)state;
    static const char *const options[] = {"-arch=compute_90",    "-std=c++17",
                                          "-default-device",     "--fmad=false",
                                          "--no-source-include", "--modify-stack-limit=false",
                                          "--ptxas-options=-v",  NULL};
    assert_options(12, 0, true, options);
}

static void cubin_comes_with_its_usage(void **state)
{
    (void)state;
    tkj_nvrtc *nvrtc = load_fake(&silent);
    const tkj_compile_job job = job_for(good_source, false);
    tkj_compile_result result;
    assert_int_equal(tkj_nvrtc_compile(nvrtc, &job, "good", &result), TOPK_JIT_OK);
    assert_memory_equal(result.payload.bytes, "FAKECUBIN sm_90\nentry good\n", 27);
    assert_int_equal(result.payload.size, strlen((char *)result.payload.bytes) + 1);
    assert_int_equal(result.usage.registers, 40);
    assert_int_equal(result.usage.static_shared, 512);
    assert_int_equal(result.usage.stack, 16);
    assert_int_equal(result.usage.spill, 0);
    assert_int_equal(result.usage.other_spill, 24);
    tkj_free(&tkj_default_allocator, result.payload.bytes);
    tkj_nvrtc_free(nvrtc);
}

static void ptx_ends_with_a_nul_and_has_no_usage(void **state)
{
    (void)state;
    tkj_nvrtc *nvrtc = load_fake(&silent);
    const tkj_compile_job job = job_for(good_source, true);
    tkj_compile_result result;
    assert_int_equal(tkj_nvrtc_compile(nvrtc, &job, "good", &result), TOPK_JIT_OK);
    assert_memory_equal(result.payload.bytes, "FAKEPTX compute_90\n", 19);
    assert_int_equal(result.payload.bytes[result.payload.size - 1], 0);
    assert_int_equal(result.usage.registers, 0);
    tkj_free(&tkj_default_allocator, result.payload.bytes);
    tkj_nvrtc_free(nvrtc);
}

static void sources_are_passed_under_their_names(void **state)
{
    (void)state;
    tkj_nvrtc *nvrtc = load_fake(&silent);
    tkj_compile_job job = job_for(good_source, false);
    fake_nvrtc_compile last;
    assert_int_equal(compile_status(nvrtc, &job), TOPK_JIT_OK);
    fake->last_compile(&last);
    assert_string_equal(last.name, "main.cu");
    assert_int_equal(last.include_count, 1);
    assert_string_equal(last.first_include, "header.cuh");
    job.include_count = 0;
    job.includes = NULL;
    assert_int_equal(compile_status(nvrtc, &job), TOPK_JIT_OK);
    fake->last_compile(&last);
    assert_int_equal(last.include_count, 0);
    tkj_nvrtc_free(nvrtc);
}

static void compiler_runs_on_its_own_large_stack_without_signals(void **state)
{
    (void)state;
    tkj_nvrtc *nvrtc = load_fake(&silent);
    const tkj_compile_job job = job_for(good_source, false);
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_int_equal(compile_status(nvrtc, &job), TOPK_JIT_OK);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    fake_nvrtc_compile last;
    fake->last_compile(&last);
    assert_true(last.own_thread);
    assert_true(last.stack_bytes >= (size_t)16 << 20);
    static const int signals[] = {SIGINT, SIGTERM, SIGALRM, SIGCHLD, SIGUSR1, SIGPROF};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        assert_int_equal(sigismember(&last.signal_mask, signals[i]), 1);
        assert_int_equal(sigismember(&after, signals[i]), sigismember(&before, signals[i]));
    }
    tkj_nvrtc_free(nvrtc);
}

static void architecture_it_lacks_is_refused_by_name(void **state)
{
    (void)state;
    tkj_nvrtc *nvrtc = load_fake(&silent);
    tkj_compile_job job = job_for(good_source, false);
    job.architecture = 61;
    assert_int_equal(compile_status(nvrtc, &job), TOPK_JIT_NVRTC_TARGET);
    assert_message_has("sm_61");
    assert_message_has("NVRTC 13.0");
    job.ptx = true;
    assert_int_equal(compile_status(nvrtc, &job), TOPK_JIT_NVRTC_TARGET);
    assert_message_has("compute_61");
    assert_int_equal(fake->calls("nvrtcCreateProgram"), 0);
    tkj_nvrtc_free(nvrtc);
}

static void same_sources_give_the_same_bytes(void **state)
{
    (void)state;
    tkj_nvrtc *nvrtc = load_fake(&silent);
    tkj_compile_job job = job_for(good_source, false);
    tkj_compile_result first, second, other;
    assert_int_equal(tkj_nvrtc_compile(nvrtc, &job, "good", &first), TOPK_JIT_OK);
    assert_int_equal(tkj_nvrtc_compile(nvrtc, &job, "good", &second), TOPK_JIT_OK);
    job.include_count = 0;
    assert_int_equal(tkj_nvrtc_compile(nvrtc, &job, "good", &other), TOPK_JIT_OK);
    assert_int_equal(first.payload.size, second.payload.size);
    assert_memory_equal(first.payload.bytes, second.payload.bytes, first.payload.size);
    assert_memory_not_equal(first.payload.bytes, other.payload.bytes, first.payload.size);
    tkj_free(&tkj_default_allocator, first.payload.bytes);
    tkj_free(&tkj_default_allocator, second.payload.bytes);
    tkj_free(&tkj_default_allocator, other.payload.bytes);
    tkj_nvrtc_free(nvrtc);
}

/* ---- logs and failures ---- */

static void syntax_error_is_logged_whole_and_named_in_the_message(void **state)
{
    (void)state;
    const tkj_logger logger = listen_to(TOPK_JIT_LOG_ERROR);
    tkj_nvrtc *nvrtc = load_fake(&logger);
    const tkj_compile_job job = job_for(bad_source, false);
    assert_int_equal(compile_status(nvrtc, &job), TOPK_JIT_COMPILE_FAILED);
    assert_int_equal(topk_jit_last_error()->native_code, 6);
    assert_int_equal(topk_jit_last_error()->domain, TOPK_JIT_DOMAIN_NVRTC);
    assert_message_has("main.cu(2): error: identifier \"FAKE_SYNTAX_ERROR\" is undefined");
    assert_message_lacks("error_count");
    assert_message_lacks("\n");
    assert_int_equal(heard.count[TOPK_JIT_LOG_ERROR], 1);
    const char *log = heard.last[TOPK_JIT_LOG_ERROR];
    assert_memory_equal(log, "main.cu(1): warning", 19);
    assert_non_null(strstr(log, "1 error detected"));
    tkj_nvrtc_free(nvrtc);
}

static void log_of_a_success_is_for_debugging(void **state)
{
    (void)state;
    const tkj_logger logger = listen_to(TOPK_JIT_LOG_DEBUG);
    tkj_nvrtc *nvrtc = load_fake(&logger);
    const tkj_compile_job job = job_for(good_source, false);
    assert_int_equal(compile_status(nvrtc, &job), TOPK_JIT_OK);
    assert_int_equal(heard.count[TOPK_JIT_LOG_ERROR], 0);
    assert_non_null(strstr(heard.last[TOPK_JIT_LOG_DEBUG], "Compiling entry function 'good'"));
    assert_non_null(strstr(heard.last[TOPK_JIT_LOG_DEBUG], "16 bytes spill loads"));
    tkj_nvrtc_free(nvrtc);
}

static void log_of_any_length_arrives_whole(void **state)
{
    (void)state;
    enum { length = 300000 };
    char *text = malloc(length + 1);
    memset(text, 'x', length);
    memcpy(text, "odd error here\n", 15);
    text[length] = '\0';
    fake->set_log(text);
    const tkj_logger logger = listen_to(TOPK_JIT_LOG_ERROR);
    tkj_nvrtc *nvrtc = load_fake(&logger);
    const tkj_compile_job job = job_for(bad_source, false);
    assert_int_equal(compile_status(nvrtc, &job), TOPK_JIT_COMPILE_FAILED);
    assert_string_equal(heard.last[TOPK_JIT_LOG_ERROR], text);
    assert_message_has("odd error here");
    tkj_nvrtc_free(nvrtc);
    fake->set_log(NULL);
    free(text);
}

static void error_line_is_found_in_every_form(void **state)
{
    (void)state;
    static const struct {
        const char *log, *line;
    } cases[] = {
        {"a.cu(3): catastrophic error: could not open \"x.h\"\nrest", "catastrophic error: could"},
        {"an error_code\na.cu(1): error #20: bad\n", ": a.cu(1): error #20: bad"},
        {"ptxas application ptx input, line 23; error   : Unknown modifier '.bar'\nptxas fatal\n",
         ": ptxas application ptx input, line 23; error   : Unknown modifier '.bar'"},
        {"ptxas fatal   : Ptx assembly aborted\nmore\n", ": ptxas fatal   : Ptx assembly aborted"},
        {"first\nthe errors are many\nlast\n", ": the errors are many"},
        {"error: at once", ": error: at once"},
    };
    tkj_nvrtc *nvrtc = load_fake(&silent);
    const tkj_compile_job job = job_for(bad_source, false);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fake->set_log(cases[i].log);
        assert_int_equal(compile_status(nvrtc, &job), TOPK_JIT_COMPILE_FAILED);
        assert_message_has(cases[i].line);
        assert_message_lacks("\n");
        assert_message_lacks("more");
        assert_message_lacks("last");
    }
    tkj_nvrtc_free(nvrtc);
}

static void failure_without_a_log_still_has_a_message(void **state)
{
    (void)state;
    const tkj_logger logger = listen_to(TOPK_JIT_LOG_ERROR);
    tkj_nvrtc *nvrtc = load_fake(&logger);
    const tkj_compile_job job = job_for(bad_source, false);
    fake->set_log("");
    assert_int_equal(compile_status(nvrtc, &job), TOPK_JIT_COMPILE_FAILED);
    assert_message_has("NVRTC_ERROR_COMPILATION");
    assert_int_equal(heard.count[TOPK_JIT_LOG_ERROR], 0);
    tkj_nvrtc_free(nvrtc);
}

static void refused_option_is_no_error_of_the_source(void **state)
{
    (void)state;
    tkj_nvrtc *nvrtc = load_fake(&silent);
    fake->set_version(12, 0); /* behind its back: --no-cache is unknown there */
    const tkj_compile_job job = job_for(good_source, false);
    assert_int_equal(compile_status(nvrtc, &job), TOPK_JIT_NVRTC_FAILED);
    assert_int_equal(topk_jit_last_error()->native_code, 5);
    assert_message_has("unrecognized option --no-cache");
    tkj_nvrtc_free(nvrtc);
}

static void every_failed_call_is_reported_and_leaves_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *call;
        bool ptx;
    } cases[] = {
        {"nvrtcCreateProgram", false},     {"nvrtcCompileProgram", false},
        {"nvrtcGetProgramLogSize", false}, {"nvrtcGetProgramLog", false},
        {"nvrtcGetCUBINSize", false},      {"nvrtcGetCUBIN", false},
        {"nvrtcGetPTXSize", true},         {"nvrtcGetPTX", true},
        {"nvrtcDestroyProgram", false},
    };
    tkj_nvrtc *nvrtc = load_fake(&silent);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tkj_compile_job job = job_for(good_source, cases[i].ptx);
        fake->inject(cases[i].call, 11, 1);
        assert_int_equal(compile_status(nvrtc, &job), TOPK_JIT_NVRTC_FAILED);
        assert_int_equal(topk_jit_last_error()->native_code, 11);
        assert_message_has(cases[i].call);
    }
    tkj_nvrtc_free(nvrtc);
}

static void first_of_several_failures_is_reported(void **state)
{
    (void)state;
    tkj_nvrtc *nvrtc = load_fake(&silent);
    const tkj_compile_job job = job_for(good_source, false);
    fake->inject("nvrtcCompileProgram", 7, 1);
    fake->inject("nvrtcGetProgramLogSize", 11, 1);
    fake->inject("nvrtcDestroyProgram", 11, 1);
    assert_int_equal(compile_status(nvrtc, &job), TOPK_JIT_NVRTC_FAILED);
    assert_int_equal(topk_jit_last_error()->native_code, 7);
    assert_message_has("nvrtcCompileProgram");
    tkj_nvrtc_free(nvrtc);
}

static void empty_payload_is_a_failure(void **state)
{
    (void)state;
    tkj_nvrtc *nvrtc = load_fake(&silent);
    const tkj_compile_job job = job_for(good_source, false);
    fake->set_empty_payload(true);
    assert_int_equal(compile_status(nvrtc, &job), TOPK_JIT_NVRTC_FAILED);
    assert_message_has("empty");
    tkj_nvrtc_free(nvrtc);
}

static void every_failed_allocation_while_compiling_is_survived(void **state)
{
    (void)state;
    const tkj_nvrtc_search search = {.option_path = FAKE_NVRTC_PATH};
    const tkj_compile_job job = job_for(good_source, false);
    for (int nth = 3;; nth++) { /* the first two are those of loading */
        tkj_test_allocator test;
        tkj_test_allocator_init(&test, nth);
        tkj_nvrtc *nvrtc = NULL;
        assert_int_equal(tkj_nvrtc_load(&test.allocator, &silent, &search, &nvrtc), TOPK_JIT_OK);
        int held = atomic_load(&test.live);
        tkj_compile_result result;
        topk_jit_status status = tkj_nvrtc_compile(nvrtc, &job, "good", &result);
        if (status != TOPK_JIT_OK) {
            assert_int_equal(status, TOPK_JIT_OUT_OF_MEMORY);
            assert_int_equal(topk_jit_last_error()->status, TOPK_JIT_OUT_OF_MEMORY);
            assert_null(result.payload.bytes);
        }
        tkj_free(&test.allocator, result.payload.bytes);
        assert_int_equal(atomic_load(&test.live), held);
        assert_int_equal(fake->live_programs(), 0);
        tkj_nvrtc_free(nvrtc);
        if (status == TOPK_JIT_OK) {
            assert_int_equal(nth, 3 + 3); /* includes, log and payload could fail */
            return;
        }
    }
}

static void failure_to_start_a_thread_is_one_of_the_system(void **state)
{
    (void)state;
    tkj_nvrtc *nvrtc = load_fake(&silent);
    const tkj_compile_job job = job_for(good_source, false);
    threads_are_exhausted = true;
    topk_jit_status status = compile_status(nvrtc, &job);
    threads_are_exhausted = false;
    assert_int_equal(status, TOPK_JIT_OS_FAILED);
    assert_int_equal(topk_jit_last_error()->native_code, EAGAIN);
    assert_message_has("thread");
    tkj_nvrtc_free(nvrtc);
}

static void *compile_in_a_thread(void *nvrtc)
{
    const tkj_compile_job job = job_for(good_source, false);
    tkj_compile_result result;
    if (tkj_nvrtc_compile(nvrtc, &job, "good", &result) != TOPK_JIT_OK)
        return NULL;
    bool right = result.usage.registers == 40;
    tkj_free(&tkj_default_allocator, result.payload.bytes);
    return right ? nvrtc : NULL;
}

static void several_threads_compile_at_once(void **state)
{
    (void)state;
    tkj_nvrtc *nvrtc = load_fake(&silent);
    fake->set_meeting(4);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, compile_in_a_thread, nvrtc), 0);
    for (int i = 0; i < 4; i++) {
        void *done = NULL;
        pthread_join(threads[i], &done);
        assert_ptr_equal(done, nvrtc);
    }
    assert_int_equal(fake->calls("nvrtcCompileProgram"), 4);
    assert_int_equal(fake->most_at_once(), 4);
    assert_int_equal(fake->live_programs(), 0);
    tkj_nvrtc_free(nvrtc);
}

#define TEST(function) cmocka_unit_test_setup(function, nvrtc_case_start)

int main(void)
{
    if (!nvrtc_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(options_follow_the_version_in_one_order),
        TEST(ptx_is_compiled_for_the_virtual_architecture),
        TEST(cubin_comes_with_its_usage),
        TEST(ptx_ends_with_a_nul_and_has_no_usage),
        TEST(sources_are_passed_under_their_names),
        TEST(compiler_runs_on_its_own_large_stack_without_signals),
        TEST(architecture_it_lacks_is_refused_by_name),
        TEST(same_sources_give_the_same_bytes),
        TEST(syntax_error_is_logged_whole_and_named_in_the_message),
        TEST(log_of_a_success_is_for_debugging),
        TEST(log_of_any_length_arrives_whole),
        TEST(error_line_is_found_in_every_form),
        TEST(failure_without_a_log_still_has_a_message),
        TEST(refused_option_is_no_error_of_the_source),
        TEST(every_failed_call_is_reported_and_leaves_nothing),
        TEST(first_of_several_failures_is_reported),
        TEST(empty_payload_is_a_failure),
        TEST(every_failed_allocation_while_compiling_is_survived),
        TEST(failure_to_start_a_thread_is_one_of_the_system),
        TEST(several_threads_compile_at_once),
    };
    return cmocka_run_group_tests_name("nvrtc_compile", tests, NULL, NULL);
}
