/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and loading NVRTC. */
#include "nvrtc_case.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "memory.h"

/* ---- what the linker puts in the place of dlopen ---- */

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

/* ---- helpers ---- */

static tkj_nvrtc_origin origin; /* of what was loaded last */

static topk_jit_status load_status(const tkj_nvrtc_search *search)
{
    tkj_nvrtc *nvrtc = (tkj_nvrtc *)&loader;
    topk_jit_status status = tkj_nvrtc_load(&tkj_default_allocator, &silent, search, &nvrtc);
    if (status != TOPK_JIT_OK) {
        assert_null(nvrtc);
        assert_int_equal(topk_jit_last_error()->status, status);
    }
    if (status == TOPK_JIT_OK)
        origin = *tkj_nvrtc_where(nvrtc);
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
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size_t size = (size_t)ftell(file);
    rewind(file);
    void *bytes = malloc(size);
    assert_int_equal(fread(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
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

static const char *expected_rule(const char *place)
{
    static const char *const rules[][2] = {
        {"mapped:", "the libraries already loaded"}, {"/own/", "beside the library"},
        {"/hint/", "the option nvrtc_hint"},         {"/cuda/", "CUDA_HOME"},
        {"/usr/local/cuda/", "/usr/local/cuda"},     {"lib", "the loader's own path"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (strncmp(place, rules[i][0], strlen(rules[i][0])) == 0)
            return rules[i][1];
    return "";
}

static void first_library_found_ends_the_search(void **state)
{
    (void)state;
    for (int i = 0; i < PLACE_COUNT; i++) {
        assert_int_equal(scripted_load(&everywhere, search_order[i]), TOPK_JIT_OK);
        assert_string_equal(loader.asked[i], search_order[i]);
        assert_string_equal(origin.rule, expected_rule(search_order[i]));
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
    assert_int_equal(scripted_load(&search, NULL), TOPK_JIT_NVRTC_NOT_FOUND);
    for (int i = 0; i < loader.asked_count; i++)
        assert_memory_not_equal(loader.asked[i], "/dd", 3);
}

static void path_of_the_option_beats_all_others(void **state)
{
    (void)state;
    tkj_nvrtc_search search = everywhere;
    search.option_path = "/option/nvrtc";
    search.environment_path = "/environment/nvrtc";
    assert_int_equal(scripted_load(&search, "/option/nvrtc"), TOPK_JIT_OK);
    assert_string_equal(loader.asked[0], "/option/nvrtc");
    assert_string_equal(origin.rule, "the option nvrtc_path");
    assert_string_equal(origin.builtins, "libnvrtc-builtins.so.13.0");
    assert_false(origin.builtins_beside);
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

/** A FIFO, for which the loader would wait; a socket, a directory, a device. */
static void make_what_is_no_file(const char *directory, const char *paths[4])
{
    const struct sockaddr_un here = {.sun_family = AF_UNIX, .sun_path = "socket"};
    char before[PATH_MAX];
    paths[0] = tkj_test_path(directory, "fifo");
    paths[1] = tkj_test_path(directory, "socket");
    paths[2] = directory;
    paths[3] = "/dev/zero";
    assert_int_equal(mkfifo(paths[0], 0600), 0);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(directory), 0); /* a socket's own path may not be long */
    assert_int_equal(bind(fd, (const struct sockaddr *)&here, sizeof here), 0);
    assert_int_equal(chdir(before), 0);
    close(fd);
}

static void what_is_no_regular_file_is_refused_and_not_waited_for(void **state)
{
    (void)state;
    char *directory = tkj_test_dir_create();
    const char *paths[4];
    make_what_is_no_file(directory, paths);
    for (size_t i = 0; i < 4; i++) {
        const tkj_nvrtc_search option = {.option_path = paths[i], .option_name = "--it"};
        assert_int_equal(load_status(&option), TOPK_JIT_NVRTC_NOT_FOUND);
        assert_message_has(paths[i]);
        assert_message_has("set by --it, cannot be loaded: it is no regular file");
        const tkj_nvrtc_search environment = {.environment_path = paths[i]};
        assert_int_equal(load_status(&environment), TOPK_JIT_NVRTC_NOT_FOUND);
        assert_message_has("set by TOPK_JIT_NVRTC, cannot be loaded: it is no regular file");
    }
    tkj_test_dir_remove(directory);
}

static void what_is_no_regular_file_is_passed_over_in_the_search(void **state)
{
    (void)state;
    char *directory = tkj_test_dir_create();
    assert_int_equal(mkfifo(tkj_test_path(directory, "libnvrtc.so.13"), 0600), 0);
    const tkj_nvrtc_search search = {.own_directory = directory, .hint_directory = "/hint"};
    assert_int_equal(scripted_load(&search, "/hint/libnvrtc.so.12"), TOPK_JIT_OK);
    tkj_test_dir_remove(directory);
}

static void builtins_that_are_no_regular_file_are_not_waited_for(void **state)
{
    (void)state;
    char *directory = tkj_test_dir_create();
    const char *path = tkj_test_path(directory, "libnvrtc.so");
    copy_file(path);
    assert_int_equal(mkfifo(tkj_test_path(directory, "libnvrtc-builtins.so.13.0"), 0600), 0);
    assert_int_equal(load_status(&(tkj_nvrtc_search){.option_path = path}), TOPK_JIT_OK);
    assert_false(origin.builtins_beside);
    tkj_test_dir_remove(directory);
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
    assert_true(origin.builtins_beside);
    tkj_test_dir_remove(directory);
    tkj_test_dir_remove(elsewhere);
}

static void missing_builtins_are_logged_and_no_error(void **state)
{
    (void)state;
    fake->set_version(12, 4);
    const tkj_logger logger = listen_to(TOPK_JIT_LOG_DEBUG);
    tkj_nvrtc *nvrtc = load_fake(&logger);
    assert_non_null(strstr(heard.all, "libnvrtc-builtins.so.12.4"));
    assert_int_equal(heard.count[TOPK_JIT_LOG_ERROR], 0);
    assert_int_equal(heard.count[TOPK_JIT_LOG_WARNING], 0);
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

#define TEST(function) cmocka_unit_test_setup(function, nvrtc_case_start)

int main(void)
{
    if (!nvrtc_case_connect())
        return 1;
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
        TEST(what_is_no_regular_file_is_refused_and_not_waited_for),
        TEST(what_is_no_regular_file_is_passed_over_in_the_search),
        TEST(builtins_that_are_no_regular_file_are_not_waited_for),
        TEST(path_with_spaces_works),
        TEST(builtins_beside_the_real_library_are_loaded_first),
        TEST(missing_builtins_are_logged_and_no_error),
        TEST(identity_is_version_and_build_id),
        TEST(known_architectures_are_those_it_lists),
        TEST(failed_call_while_loading_is_reported),
        TEST(every_failed_allocation_while_loading_is_survived),
        TEST(freeing_nothing_is_harmless),
    };
    return cmocka_run_group_tests_name("nvrtc", tests, NULL, NULL);
}
