/* SPDX-License-Identifier: Apache-2.0 */
#include "testing.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_nvrtc.h"
#include "memory.h"
#include "nvrtc.h"

static const fake_nvrtc *fake;

static int start(void **state)
{
    (void)state;
    fake->reset();
    return 0;
}

/* ---- what the linker puts in the place of dlopen and pthread_create ---- */

#define ASKED_MAX 64

/** While active, only what is listed as present can be opened, and every attempt is noted. */
static struct {
    bool active;
    int asked_count;
    char asked[ASKED_MAX][160]; /* name, after "mapped:" if it must be loaded already */
    struct {
        const char *asked, *path;
    } present[2];
} loader;

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);

void *__wrap_dlopen(const char *name, int flags)
{
    if (!loader.active)
        return __real_dlopen(name, flags);
    char *asked = loader.asked[loader.asked_count++ % ASKED_MAX];
    snprintf(asked, sizeof loader.asked[0], "%s%s", (flags & RTLD_NOLOAD) != 0 ? "mapped:" : "",
             name);
    for (size_t i = 0; i < sizeof loader.present / sizeof loader.present[0]; i++)
        if (loader.present[i].asked != NULL && strcmp(loader.present[i].asked, asked) == 0)
            return __real_dlopen(loader.present[i].path, RTLD_NOW | RTLD_LOCAL);
    char nowhere[200];
    snprintf(nowhere, sizeof nowhere, "/nowhere/%s", asked);
    return __real_dlopen(nowhere, RTLD_NOW);
}

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

/* ---- helpers ---- */

/** What the log callback was given. */
typedef struct heard {
    int count[TOPK_JIT_LOG_DEBUG + 1];
    char *last[TOPK_JIT_LOG_DEBUG + 1];
    char all[8192];
} heard;

static heard heard_text;

static void hear(void *user, topk_jit_log_level level, const char *text)
{
    heard *h = user;
    h->count[level]++;
    free(h->last[level]);
    h->last[level] = strdup(text);
    size_t used = strlen(h->all);
    snprintf(h->all + used, sizeof h->all - used, "%s\n", text);
}

static const tkj_logger silent = {0};

static tkj_logger listen(topk_jit_log_level level)
{
    for (int i = 0; i <= TOPK_JIT_LOG_DEBUG; i++)
        free(heard_text.last[i]);
    heard_text = (heard){0};
    return (tkj_logger){hear, &heard_text, level};
}

static void assert_message_has(const char *text)
{
    if (strstr(topk_jit_last_error()->message, text) == NULL)
        fail_msg("'%s' is not in '%s'", text, topk_jit_last_error()->message);
}

static void assert_message_lacks(const char *text)
{
    if (strstr(topk_jit_last_error()->message, text) != NULL)
        fail_msg("'%s' is in '%s'", text, topk_jit_last_error()->message);
}

static tkj_nvrtc *load_fake(const tkj_logger *logger)
{
    tkj_nvrtc *nvrtc = NULL;
    const tkj_nvrtc_search search = {.option_path = FAKE_NVRTC_PATH};
    assert_int_equal(tkj_nvrtc_load(&tkj_default_allocator, logger, &search, &nvrtc), TOPK_JIT_OK);
    return nvrtc;
}

static topk_jit_status load_status(const tkj_nvrtc_search *search)
{
    tkj_nvrtc *nvrtc = (tkj_nvrtc *)&loader;
    topk_jit_status status = tkj_nvrtc_load(&tkj_default_allocator, &silent, search, &nvrtc);
    if (status != TOPK_JIT_OK) {
        assert_null(nvrtc);
        assert_int_equal(topk_jit_last_error()->status, status);
    }
    tkj_nvrtc_free(nvrtc);
    return status;
}

/** A search in a world where only `present` (NULL = nothing) can be loaded. */
static topk_jit_status scripted_load(const tkj_nvrtc_search *search, const char *present)
{
    memset(&loader, 0, sizeof loader);
    loader.active = true;
    loader.present[0].asked = present;
    loader.present[0].path = FAKE_NVRTC_PATH;
    topk_jit_status status = load_status(search);
    loader.active = false;
    return status;
}

static void copy_file(const char *path)
{
    FILE *file = fopen(FAKE_NVRTC_PATH, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    void *bytes = malloc(size);
    assert_int_equal(fread(bytes, 1, size, file), size);
    fclose(file);
    tkj_test_file_write(path, bytes, size);
    free(bytes);
}

/** A copy of the fake in a file of its own: another NVRTC, with controls of its own. */
static const fake_nvrtc *copy_fake(const char *path)
{
    copy_file(path);
    return fake_nvrtc_connect(path);
}

/* ---- searching ---- */

static const tkj_nvrtc_search everywhere = {
    .own_directory = "/own", .hint_directory = "/hint", .cuda_home = "/cuda"};

static const char *const search_order[] = {
    "mapped:libnvrtc.so.13",
    "mapped:libnvrtc.so.12",
    "mapped:libnvrtc.so",
    "/own/libnvrtc.so.13",
    "/own/libnvrtc.so.12",
    "/own/libnvrtc.so",
    "/hint/libnvrtc.so.13",
    "/hint/libnvrtc.so.12",
    "/hint/libnvrtc.so",
    "/cuda/lib64/libnvrtc.so.13",
    "/cuda/lib64/libnvrtc.so.12",
    "/cuda/lib64/libnvrtc.so",
    "/cuda/lib/libnvrtc.so.13",
    "/cuda/lib/libnvrtc.so.12",
    "/cuda/lib/libnvrtc.so",
    "/usr/local/cuda/lib64/libnvrtc.so.13",
    "/usr/local/cuda/lib64/libnvrtc.so.12",
    "/usr/local/cuda/lib64/libnvrtc.so",
    "/usr/local/cuda/lib/libnvrtc.so.13",
    "/usr/local/cuda/lib/libnvrtc.so.12",
    "/usr/local/cuda/lib/libnvrtc.so",
    "libnvrtc.so.13",
    "libnvrtc.so.12",
    "libnvrtc.so",
};
#define PLACE_COUNT ((int)(sizeof search_order / sizeof search_order[0]))

static void every_place_is_searched_in_order(void **state)
{
    (void)state;
    assert_int_equal(scripted_load(&everywhere, NULL), TOPK_JIT_NVRTC_NOT_FOUND);
    assert_int_equal(loader.asked_count, PLACE_COUNT);
    for (int i = 0; i < PLACE_COUNT; i++)
        assert_string_equal(loader.asked[i], search_order[i]);
}

static void every_place_searched_is_named(void **state)
{
    (void)state;
    static const char *const places[] = {"already loaded", "/own",          "/hint",
                                         "/cuda/lib64",    "/cuda/lib",     "/usr/local/cuda/lib64",
                                         "loader's own",   "TOPK_JIT_NVRTC"};
    assert_int_equal(scripted_load(&everywhere, NULL), TOPK_JIT_NVRTC_NOT_FOUND);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        assert_message_has(places[i]);
}

static void first_library_found_ends_the_search(void **state)
{
    (void)state;
    for (int i = 0; i < PLACE_COUNT; i++) {
        assert_int_equal(scripted_load(&everywhere, search_order[i]), TOPK_JIT_OK);
        assert_string_equal(loader.asked[i], search_order[i]);
        for (int later = i + 1; later < loader.asked_count; later++)
            assert_non_null(strstr(loader.asked[later], "libnvrtc-builtins"));
    }
}

static void directories_not_given_are_not_searched(void **state)
{
    (void)state;
    assert_int_equal(scripted_load(&(tkj_nvrtc_search){0}, NULL), TOPK_JIT_NVRTC_NOT_FOUND);
    assert_int_equal(loader.asked_count, 3 + 2 * 3 + 3);
    for (int i = 0; i < loader.asked_count; i++)
        assert_null(strstr(loader.asked[i], "(null)"));
}

static void relative_directories_are_never_searched(void **state)
{
    (void)state;
    const tkj_nvrtc_search search = {.hint_directory = "lib", .cuda_home = ""};
    assert_int_equal(scripted_load(&search, NULL), TOPK_JIT_NVRTC_NOT_FOUND);
    assert_int_equal(loader.asked_count, 3 + 2 * 3 + 3);
    for (int i = 3; i < loader.asked_count - 3; i++)
        assert_memory_equal(loader.asked[i], "/usr/local/cuda/", 16);
}

static void directory_beyond_the_longest_path_is_passed_over(void **state)
{
    (void)state;
    char directory[5000];
    memset(directory, 'd', sizeof directory);
    directory[0] = '/';
    directory[sizeof directory - 1] = '\0';
    const tkj_nvrtc_search search = {.own_directory = directory, .cuda_home = directory};
    assert_int_equal(scripted_load(&search, "libnvrtc.so.12"), TOPK_JIT_OK);
    assert_int_equal(scripted_load(&search, NULL), TOPK_JIT_NVRTC_NOT_FOUND);
}

static void path_of_the_option_beats_all_others(void **state)
{
    (void)state;
    tkj_nvrtc_search search = everywhere;
    search.option_path = "/option/nvrtc";
    search.environment_path = "/environment/nvrtc";
    assert_int_equal(scripted_load(&search, "/option/nvrtc"), TOPK_JIT_OK);
    assert_string_equal(loader.asked[0], "/option/nvrtc");
}

static void path_of_the_environment_beats_the_search(void **state)
{
    (void)state;
    tkj_nvrtc_search search = everywhere;
    search.environment_path = "/environment/nvrtc";
    assert_int_equal(scripted_load(&search, "/environment/nvrtc"), TOPK_JIT_OK);
    assert_string_equal(loader.asked[0], "/environment/nvrtc");
}

static void option_that_cannot_be_loaded_is_an_error_without_fall_through(void **state)
{
    (void)state;
    tkj_nvrtc_search search = everywhere;
    search.option_path = "/option/nvrtc";
    search.environment_path = "/environment/nvrtc";
    assert_int_equal(scripted_load(&search, "mapped:libnvrtc.so.13"), TOPK_JIT_NVRTC_NOT_FOUND);
    assert_int_equal(loader.asked_count, 1);
    assert_message_has("'/option/nvrtc'");
    assert_message_has("nvrtc_path");
    assert_message_has("No such file"); /* the loader's own reason */
}

static void environment_that_cannot_be_loaded_is_an_error_without_fall_through(void **state)
{
    (void)state;
    tkj_nvrtc_search search = everywhere;
    search.environment_path = "/environment/nvrtc";
    assert_int_equal(scripted_load(&search, "mapped:libnvrtc.so.13"), TOPK_JIT_NVRTC_NOT_FOUND);
    assert_int_equal(loader.asked_count, 1);
    assert_message_has("'/environment/nvrtc'");
    assert_message_has("TOPK_JIT_NVRTC");
    assert_message_has("No such file");
}

static void library_older_than_12_0_is_named(void **state)
{
    (void)state;
    const tkj_nvrtc_search search = {.option_path = FAKE_NVRTC_PATH};
    fake->set_version(11, 8);
    assert_int_equal(load_status(&search), TOPK_JIT_NVRTC_TOO_OLD);
    assert_message_has(FAKE_NVRTC_PATH);
    assert_message_has("11.8");
    assert_message_has("12.0");
}

static void search_goes_on_after_an_old_library(void **state)
{
    (void)state;
    char *directory = tkj_test_dir_create();
    const char *old_path = tkj_test_path(directory, "old.so");
    const fake_nvrtc *old = copy_fake(old_path);
    old->set_version(11, 8);
    const topk_jit_error before = *topk_jit_last_error();
    memset(&loader, 0, sizeof loader);
    loader.active = true;
    loader.present[0].asked = "mapped:libnvrtc.so";
    loader.present[0].path = old_path;
    loader.present[1].asked = "/cuda/lib64/libnvrtc.so.12";
    loader.present[1].path = FAKE_NVRTC_PATH;
    assert_int_equal(load_status(&everywhere), TOPK_JIT_OK);
    assert_memory_equal(topk_jit_last_error(), &before, sizeof before);
    loader.present[1].asked = NULL;
    assert_int_equal(load_status(&everywhere), TOPK_JIT_NVRTC_TOO_OLD);
    loader.active = false;
    assert_message_has("11.8");
    assert_message_has("/hint");
    tkj_test_dir_remove(directory);
}

static void library_that_is_no_nvrtc_is_refused(void **state)
{
    (void)state;
    const tkj_nvrtc_search search = {.option_path = "libm.so.6"};
    assert_int_equal(load_status(&search), TOPK_JIT_NVRTC_NOT_FOUND);
    assert_message_has("libm.so.6");
    assert_message_has("nvrtcVersion");
}

static void path_with_spaces_works(void **state)
{
    (void)state;
    char *directory = tkj_test_dir_create();
    const char *path = tkj_test_path(directory, "lib nvrtc with spaces.so");
    assert_non_null(copy_fake(path));
    assert_int_equal(load_status(&(tkj_nvrtc_search){.option_path = path}), TOPK_JIT_OK);
    tkj_test_dir_remove(directory);
}

/* ---- builtins and identity ---- */

static void builtins_beside_the_real_library_are_loaded_first(void **state)
{
    (void)state;
    char *directory = tkj_test_dir_create();
    const char *real = tkj_test_path(directory, "real nvrtc");
    const char *builtins = tkj_test_path(directory, "libnvrtc-builtins.so.13.0");
    char *elsewhere = tkj_test_dir_create();
    const char *link = tkj_test_path(elsewhere, "libnvrtc.so");
    copy_file(real);
    copy_file(builtins); /* any library will do */
    assert_int_equal(symlink(real, link), 0);
    assert_null(dlopen(builtins, RTLD_NOW | RTLD_NOLOAD));
    assert_int_equal(load_status(&(tkj_nvrtc_search){.option_path = link}), TOPK_JIT_OK);
    assert_non_null(dlopen(builtins, RTLD_NOW | RTLD_NOLOAD));
    tkj_test_dir_remove(directory);
    tkj_test_dir_remove(elsewhere);
}

static void missing_builtins_are_logged_and_no_error(void **state)
{
    (void)state;
    fake->set_version(12, 4);
    const tkj_logger logger = listen(TOPK_JIT_LOG_DEBUG);
    tkj_nvrtc *nvrtc = load_fake(&logger);
    assert_non_null(strstr(heard_text.all, "libnvrtc-builtins.so.12.4"));
    assert_int_equal(heard_text.count[TOPK_JIT_LOG_ERROR], 0);
    assert_int_equal(heard_text.count[TOPK_JIT_LOG_WARNING], 0);
    tkj_nvrtc_free(nvrtc);
}

static void identity_is_version_and_build_id(void **state)
{
    (void)state;
    fake->set_version(12, 8);
    tkj_nvrtc *nvrtc = load_fake(&silent);
    assert_string_equal(tkj_nvrtc_identity(nvrtc), "nvrtc 12.8 build-id 0123456789abcdef");
    assert_int_equal(tkj_nvrtc_major(nvrtc), 12);
    tkj_nvrtc_free(nvrtc);
}

static void known_architectures_are_those_it_lists(void **state)
{
    (void)state;
    fake->set_architectures((const int[]){80, 90, 121}, 3);
    tkj_nvrtc *nvrtc = load_fake(&silent);
    assert_true(tkj_nvrtc_knows(nvrtc, 80));
    assert_true(tkj_nvrtc_knows(nvrtc, 121));
    assert_false(tkj_nvrtc_knows(nvrtc, 86));
    assert_false(tkj_nvrtc_knows(nvrtc, 0));
    tkj_nvrtc_free(nvrtc);
}

static void failed_call_while_loading_is_reported(void **state)
{
    (void)state;
    static const char *const calls[] = {"nvrtcVersion", "nvrtcGetNumSupportedArchs",
                                        "nvrtcGetSupportedArchs"};
    const tkj_nvrtc_search search = {.option_path = FAKE_NVRTC_PATH};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        fake->reset();
        fake->inject(calls[i], 11, 1);
        assert_int_equal(load_status(&search), TOPK_JIT_NVRTC_FAILED);
        assert_int_equal(topk_jit_last_error()->native_code, 11);
        assert_message_has(calls[i]);
    }
    fake->set_architectures((const int[]){90}, 0);
    assert_int_equal(load_status(&search), TOPK_JIT_NVRTC_FAILED);
}

static void every_failed_allocation_while_loading_is_survived(void **state)
{
    (void)state;
    const tkj_nvrtc_search search = {.option_path = FAKE_NVRTC_PATH};
    for (int nth = 1;; nth++) {
        tkj_test_allocator test;
        tkj_test_allocator_init(&test, nth);
        tkj_nvrtc *nvrtc = NULL;
        topk_jit_status status = tkj_nvrtc_load(&test.allocator, &silent, &search, &nvrtc);
        assert_true(status ==
                    (tkj_test_allocator_failed(&test) ? TOPK_JIT_OUT_OF_MEMORY : TOPK_JIT_OK));
        tkj_nvrtc_free(nvrtc);
        assert_int_equal(atomic_load(&test.live), 0);
        if (status == TOPK_JIT_OK) {
            assert_true(nth > 2);
            return;
        }
    }
}

static void freeing_nothing_is_harmless(void **state)
{
    (void)state;
    tkj_nvrtc_free(NULL);
    assert_int_equal(fake->calls("nvrtcVersion"), 0);
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
    const tkj_logger logger = listen(TOPK_JIT_LOG_ERROR);
    tkj_nvrtc *nvrtc = load_fake(&logger);
    const tkj_compile_job job = job_for(bad_source, false);
    assert_int_equal(compile_status(nvrtc, &job), TOPK_JIT_COMPILE_FAILED);
    assert_int_equal(topk_jit_last_error()->native_code, 6);
    assert_int_equal(topk_jit_last_error()->domain, TOPK_JIT_DOMAIN_NVRTC);
    assert_message_has("main.cu(2): error: identifier \"FAKE_SYNTAX_ERROR\" is undefined");
    assert_message_lacks("error_count");
    assert_message_lacks("\n");
    assert_int_equal(heard_text.count[TOPK_JIT_LOG_ERROR], 1);
    const char *log = heard_text.last[TOPK_JIT_LOG_ERROR];
    assert_memory_equal(log, "main.cu(1): warning", 19);
    assert_non_null(strstr(log, "1 error detected"));
    tkj_nvrtc_free(nvrtc);
}

static void log_of_a_success_is_for_debugging(void **state)
{
    (void)state;
    const tkj_logger logger = listen(TOPK_JIT_LOG_DEBUG);
    tkj_nvrtc *nvrtc = load_fake(&logger);
    const tkj_compile_job job = job_for(good_source, false);
    assert_int_equal(compile_status(nvrtc, &job), TOPK_JIT_OK);
    assert_int_equal(heard_text.count[TOPK_JIT_LOG_ERROR], 0);
    assert_non_null(strstr(heard_text.last[TOPK_JIT_LOG_DEBUG], "Compiling entry function 'good'"));
    assert_non_null(strstr(heard_text.last[TOPK_JIT_LOG_DEBUG], "16 bytes spill loads"));
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
    const tkj_logger logger = listen(TOPK_JIT_LOG_ERROR);
    tkj_nvrtc *nvrtc = load_fake(&logger);
    const tkj_compile_job job = job_for(bad_source, false);
    assert_int_equal(compile_status(nvrtc, &job), TOPK_JIT_COMPILE_FAILED);
    assert_string_equal(heard_text.last[TOPK_JIT_LOG_ERROR], text);
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
    const tkj_logger logger = listen(TOPK_JIT_LOG_ERROR);
    tkj_nvrtc *nvrtc = load_fake(&logger);
    const tkj_compile_job job = job_for(bad_source, false);
    fake->set_log("");
    assert_int_equal(compile_status(nvrtc, &job), TOPK_JIT_COMPILE_FAILED);
    assert_message_has("NVRTC_ERROR_COMPILATION");
    assert_int_equal(heard_text.count[TOPK_JIT_LOG_ERROR], 0);
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

#define TEST(function) cmocka_unit_test_setup(function, start)

int main(void)
{
    fake = fake_nvrtc_connect(FAKE_NVRTC_PATH);
    if (fake == NULL) {
        print_error("%s is not the fake NVRTC\n", FAKE_NVRTC_PATH);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        TEST(every_place_is_searched_in_order),
        TEST(every_place_searched_is_named),
        TEST(first_library_found_ends_the_search),
        TEST(directories_not_given_are_not_searched),
        TEST(relative_directories_are_never_searched),
        TEST(directory_beyond_the_longest_path_is_passed_over),
        TEST(path_of_the_option_beats_all_others),
        TEST(path_of_the_environment_beats_the_search),
        TEST(option_that_cannot_be_loaded_is_an_error_without_fall_through),
        TEST(environment_that_cannot_be_loaded_is_an_error_without_fall_through),
        TEST(library_older_than_12_0_is_named),
        TEST(search_goes_on_after_an_old_library),
        TEST(library_that_is_no_nvrtc_is_refused),
        TEST(path_with_spaces_works),
        TEST(builtins_beside_the_real_library_are_loaded_first),
        TEST(missing_builtins_are_logged_and_no_error),
        TEST(identity_is_version_and_build_id),
        TEST(known_architectures_are_those_it_lists),
        TEST(failed_call_while_loading_is_reported),
        TEST(every_failed_allocation_while_loading_is_survived),
        TEST(freeing_nothing_is_harmless),
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
        TEST(empty_payload_is_a_failure),
        TEST(every_failed_allocation_while_compiling_is_survived),
        TEST(failure_to_start_a_thread_is_one_of_the_system),
        TEST(several_threads_compile_at_once),
    };
    return cmocka_run_group_tests_name("nvrtc", tests, NULL, NULL);
}
