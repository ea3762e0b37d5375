/* SPDX-License-Identifier: Apache-2.0 */
/* With the NVRTC of the machine; skipped where there is none. */
#include "testing.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "memory.h"
#include "nvrtc.h"

#define SKIPPED 77

static tkj_nvrtc *nvrtc;
static const tkj_logger silent = {0};

static const char kernel[] = "#include \"scale.cuh\"\n"
                             "extern \"C\" __global__ void scale(float *p, int n)\n"
                             "{\n"
                             "    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);\n"
                             "    if (i < n)\n"
                             "        p[i] = scaled(p[i]);\n"
                             "}\n";
static const tkj_source scale_header = {
    "scale.cuh", "inline float scaled(float x) { return x * 3.0f + 1.0f; }\n"};

/* Two functions that are not inlined, and too many registers for 1024 threads twice. */
static const char spilling_kernel[] =
    "__noinline__ float spill(float *x, int n)\n"
    "{\n"
    "    float a[64], sum = 0;\n"
    "    for (int i = 0; i < 64; i++) a[i] = x[i * n];\n"
    "    for (int r = 0; r < n; r++)\n"
    "        for (int i = 0; i < 64; i++) a[i] = a[i] * a[(i + 7) % 64] + x[r];\n"
    "    for (int i = 0; i < 64; i++) sum += a[i] * x[i];\n"
    "    return sum;\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(1024) crowded(float *x, int n)\n"
    "{\n"
    "    __shared__ float s[100];\n"
    "    s[threadIdx.x % 100] = x[threadIdx.x];\n"
    "    __syncthreads();\n"
    "    x[0] = spill(x, n) + s[n];\n"
    "}\n";

static tkj_compile_job job_for(const char *source, int architecture)
{
    return (tkj_compile_job){.main = {"kernel.cu", source},
                             .includes = &scale_header,
                             .include_count = 1,
                             .architecture = architecture};
}

static tkj_compile_result compile(const tkj_compile_job *job, const char *entry)
{
    tkj_compile_result result;
    topk_jit_status status = tkj_nvrtc_compile(nvrtc, job, entry, &result);
    if (status != TOPK_JIT_OK)
        fail_msg("%s", topk_jit_last_error()->message);
    return result;
}

static void release(tkj_compile_result *result)
{
    tkj_free(&tkj_default_allocator, result->payload.bytes);
}

static void assert_message_has(const char *text)
{
    if (strstr(topk_jit_last_error()->message, text) == NULL)
        fail_msg("'%s' is not in '%s'", text, topk_jit_last_error()->message);
}

static void identity_has_version_and_build_id(void **state)
{
    (void)state;
    static const char mark[] = " build-id ";
    char prefix[32];
    assert_true(tkj_nvrtc_major(nvrtc) >= 12);
    snprintf(prefix, sizeof prefix, "nvrtc %d.", tkj_nvrtc_major(nvrtc));
    assert_int_equal(strncmp(tkj_nvrtc_identity(nvrtc), prefix, strlen(prefix)), 0);
    const char *id = strstr(tkj_nvrtc_identity(nvrtc), mark);
    assert_non_null(id);
    assert_int_equal(strlen(id + strlen(mark)), 40);
    assert_int_equal(strspn(id + strlen(mark), "0123456789abcdef"), 40);
}

static void every_architecture_from_75_is_compiled_for(void **state)
{
    (void)state;
    int compiled = 0;
    for (int architecture = 75; architecture < 200; architecture++) {
        if (!tkj_nvrtc_knows(nvrtc, architecture))
            continue;
        const tkj_compile_job job = job_for(kernel, architecture);
        tkj_compile_result result = compile(&job, "scale");
        assert_memory_equal(result.payload.bytes, "\177ELF", 4);
        assert_in_range(result.usage.registers, 1, 255);
        assert_int_equal(result.usage.spill, 0);
        release(&result);
        compiled++;
    }
    assert_true(compiled >= 6);
}

static void two_compilations_give_the_same_cubin(void **state)
{
    (void)state;
    const tkj_compile_job job = job_for(kernel, 90);
    tkj_compile_result first = compile(&job, "scale");
    tkj_compile_result second = compile(&job, "scale");
    assert_int_equal(first.payload.size, second.payload.size);
    assert_memory_equal(first.payload.bytes, second.payload.bytes, first.payload.size);
    release(&first);
    release(&second);
}

static void ptx_is_text_for_the_virtual_architecture(void **state)
{
    (void)state;
    tkj_compile_job job = job_for(kernel, 80);
    job.ptx = true;
    tkj_compile_result result = compile(&job, "scale");
    assert_int_equal(result.payload.bytes[result.payload.size - 1], 0);
    assert_non_null(strstr((const char *)result.payload.bytes, ".target sm_80"));
    assert_non_null(strstr((const char *)result.payload.bytes, ".entry scale("));
    release(&result);
}

static void usage_is_read_from_the_log(void **state)
{
    (void)state;
    const tkj_compile_job job = job_for(spilling_kernel, 80);
    tkj_compile_result result = compile(&job, "crowded");
    assert_in_range(result.usage.registers, 8, 64);
    assert_int_equal(result.usage.static_shared, 400);
    assert_true(result.usage.other_spill > 0);
    assert_true(result.usage.stack > 0);
    release(&result);
}

static void multiply_and_add_are_not_contracted(void **state)
{
    (void)state;
    tkj_compile_job job = job_for(kernel, 90);
    job.ptx = true;
    tkj_compile_result result = compile(&job, "scale");
    assert_non_null(strstr((const char *)result.payload.bytes, "mul"));
    assert_null(strstr((const char *)result.payload.bytes, "fma"));
    release(&result);
}

static void syntax_error_is_named_with_file_and_line(void **state)
{
    (void)state;
    const tkj_compile_job job = job_for("int unused;\nextern \"C\" __global__ void k(int *p)\n"
                                        "{\n    *p = undeclared;\n}\n",
                                        90);
    tkj_compile_result result;
    assert_int_equal(tkj_nvrtc_compile(nvrtc, &job, "k", &result), TOPK_JIT_COMPILE_FAILED);
    assert_message_has("kernel.cu(4): error: identifier \"undeclared\" is undefined");
    assert_null(result.payload.bytes);
}

static void error_of_the_assembler_is_named(void **state)
{
    (void)state;
    const tkj_compile_job job =
        job_for("extern \"C\" __global__ void k() { asm(\"no.such.instruction;\"); }\n", 90);
    tkj_compile_result result;
    assert_int_equal(tkj_nvrtc_compile(nvrtc, &job, "k", &result), TOPK_JIT_COMPILE_FAILED);
    assert_message_has("error   : ");
}

static void include_never_reads_the_working_directory(void **state)
{
    (void)state;
    char *directory = tkj_test_dir_create();
    char before[4096], after[4096];
    assert_non_null(getcwd(before, sizeof before));
    tkj_test_file_write(tkj_test_path(directory, "planted.cuh"), "\n", 1);
    assert_int_equal(chdir(directory), 0);
    const tkj_compile_job job =
        job_for("#include \"planted.cuh\"\nextern \"C\" __global__ void k() {}\n", 90);
    tkj_compile_result result;
    topk_jit_status status = tkj_nvrtc_compile(nvrtc, &job, "k", &result);
    assert_non_null(getcwd(after, sizeof after));
    assert_int_equal(chdir(before), 0);
    assert_int_equal(status, TOPK_JIT_COMPILE_FAILED);
    assert_message_has("planted.cuh");
    assert_string_equal(after, directory);
    tkj_test_dir_remove(directory);
}

/** What a watching thread sees of the stack limit while others compile. */
static atomic_bool watching;

static void *watch_stack_limit(void *expected)
{
    const struct rlimit *limit = expected;
    bool changed = false;
    while (atomic_load(&watching)) {
        struct rlimit now;
        getrlimit(RLIMIT_STACK, &now);
        changed = changed || now.rlim_cur != limit->rlim_cur || now.rlim_max != limit->rlim_max;
        usleep(100);
    }
    return changed ? expected : NULL;
}

static void stack_limit_of_the_process_is_left_alone(void **state)
{
    (void)state;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_STACK, &before), 0);
    if (before.rlim_cur == before.rlim_max) { /* else NVRTC would have nothing to lift */
        before.rlim_cur = 4 << 20;
        assert_int_equal(setrlimit(RLIMIT_STACK, &before), 0);
    }
    pthread_t watcher;
    void *changed = &watcher;
    atomic_store(&watching, true);
    assert_int_equal(pthread_create(&watcher, NULL, watch_stack_limit, &before), 0);
    const tkj_compile_job job = job_for(spilling_kernel, 90);
    tkj_compile_result result = compile(&job, "crowded");
    atomic_store(&watching, false);
    pthread_join(watcher, &changed);
    assert_null(changed);
    release(&result);
}

static void *compile_on_small_stack(void *succeeded)
{
    const tkj_compile_job job = job_for(spilling_kernel, 90);
    tkj_compile_result result;
    if (tkj_nvrtc_compile(nvrtc, &job, "crowded", &result) != TOPK_JIT_OK)
        return NULL;
    release(&result);
    return succeeded;
}

static void caller_with_a_stack_of_64_kib_can_compile(void **state)
{
    (void)state;
    pthread_attr_t attributes;
    pthread_t thread;
    void *done = NULL;
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, (size_t)64 * 1024), 0);
    assert_int_equal(pthread_create(&thread, &attributes, compile_on_small_stack, &done), 0);
    pthread_join(thread, &done);
    pthread_attr_destroy(&attributes);
    assert_non_null(done);
}

/** Its libcuda would show up among the libraries mapped. */
static void compiling_does_not_touch_the_driver(void **state)
{
    (void)state;
    const tkj_compile_job job = job_for(kernel, 90);
    tkj_compile_result result = compile(&job, "scale");
    release(&result);
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL)
        assert_null(strstr(line, "libcuda.so"));
    assert_int_equal(fclose(maps), 0);
}

static void unknown_architecture_is_refused(void **state)
{
    (void)state;
    const tkj_compile_job job = job_for(kernel, 35);
    tkj_compile_result result;
    assert_int_equal(tkj_nvrtc_compile(nvrtc, &job, "scale", &result), TOPK_JIT_NVRTC_TARGET);
    assert_message_has("sm_35");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identity_has_version_and_build_id),
        cmocka_unit_test(every_architecture_from_75_is_compiled_for),
        cmocka_unit_test(two_compilations_give_the_same_cubin),
        cmocka_unit_test(ptx_is_text_for_the_virtual_architecture),
        cmocka_unit_test(usage_is_read_from_the_log),
        cmocka_unit_test(multiply_and_add_are_not_contracted),
        cmocka_unit_test(syntax_error_is_named_with_file_and_line),
        cmocka_unit_test(error_of_the_assembler_is_named),
        cmocka_unit_test(include_never_reads_the_working_directory),
        cmocka_unit_test(stack_limit_of_the_process_is_left_alone),
        cmocka_unit_test(caller_with_a_stack_of_64_kib_can_compile),
        cmocka_unit_test(compiling_does_not_touch_the_driver),
        cmocka_unit_test(unknown_architecture_is_refused),
    };
    const tkj_nvrtc_search search = {.environment_path = getenv("TOPK_JIT_NVRTC"),
                                     .cuda_home = getenv("CUDA_HOME")};
    if (tkj_nvrtc_load(&tkj_default_allocator, &silent, &search, &nvrtc) ==
        TOPK_JIT_NVRTC_NOT_FOUND) {
        printf("%zu tests\n%s\n", sizeof tests / sizeof tests[0], topk_jit_last_error()->message);
        return SKIPPED;
    }
    int failed = nvrtc == NULL ? 1 : cmocka_run_group_tests_name("nvrtc_real", tests, NULL, NULL);
    tkj_nvrtc_free(nvrtc);
    return failed;
}
