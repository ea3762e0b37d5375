/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_case.h"

#include <stdlib.h>
#include <string.h>

/* ---- creating and destroying ---- */

static void creation_touches_no_gpu_no_compiler_and_no_file(void **state)
{
    const plan_case *it = *state;
    assert_non_null(it->context);
    assert_int_equal(cuda->total_calls(), 0);
    assert_int_equal(nvrtc->calls("nvrtcVersion"), 0);
    assert_int_equal(tkj_test_file_count(it->root), 0);
    const topk_jit_statistics statistics = plan_case_statistics(it);
    const topk_jit_statistics nothing = TOPK_JIT_STATISTICS_INIT;
    assert_memory_equal(&statistics, &nothing, sizeof nothing);
}

static void context_needs_no_options(void **state)
{
    (void)state;
    topk_jit_context *context = NULL;
    assert_int_equal(topk_jit_context_create(&context, NULL), TOPK_JIT_OK);
    assert_non_null(context);
    topk_jit_context_destroy(context);
}

static void relative_variable_of_the_cache_is_ignored_with_a_warning(void **state)
{
    plan_case *it = *state;
    topk_jit_options options = plan_case_options(it);
    options.cache_dir = NULL;
    assert_int_equal(setenv("TOPK_JIT_CACHE_DIR", "below/here", 1), 0);
    plan_case_open(it, &options);
    assert_int_equal(unsetenv("TOPK_JIT_CACHE_DIR"), 0);
    assert_int_equal(it->logged[TOPK_JIT_LOG_WARNING], 1);
    assert_non_null(strstr(it->text[TOPK_JIT_LOG_WARNING], "TOPK_JIT_CACHE_DIR is \"below/here\""));
}

static void destroying_nothing_is_harmless(void **state)
{
    (void)state;
    topk_jit_context_destroy(NULL);
    assert_int_equal(cuda->total_calls(), 0);
}

static void place_for_the_context_must_be_given(void **state)
{
    (void)state;
    assert_int_equal(topk_jit_context_create(NULL, NULL), TOPK_JIT_INVALID_ARGUMENT);
    plan_case_assert_message("out is NULL");
}

static void assert_refused(const topk_jit_options *options, topk_jit_status expected,
                           const char *part)
{
    topk_jit_context *context = (topk_jit_context *)(uintptr_t)8;
    assert_int_equal(topk_jit_context_create(&context, options), expected);
    assert_null(context);
    plan_case_assert_message(part);
}

static void wrong_options_give_no_context(void **state)
{
    (void)state;
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    options.cache_dir = "relative";
    assert_refused(&options, TOPK_JIT_INVALID_ARGUMENT, "relative");
    options = (topk_jit_options)TOPK_JIT_OPTIONS_INIT;
    options.struct_size = 0;
    assert_refused(&options, TOPK_JIT_ABI_MISMATCH, "struct_size");
    options = (topk_jit_options)TOPK_JIT_OPTIONS_INIT;
    options.allocator.release = ((plan_case *)*state)->memory.allocator.release;
    assert_refused(&options, TOPK_JIT_INVALID_ARGUMENT, "allocate");
}

static void creation_survives_every_failed_allocation(void **state)
{
    plan_case *it = *state;
    topk_jit_options options = plan_case_options(it);
    tkj_test_allocator memory;
    options.allocator = (topk_jit_allocator){0};
    for (int fail_at = 1;; fail_at++) {
        tkj_test_allocator_init(&memory, fail_at);
        options.allocator = memory.allocator;
        topk_jit_context *context = (topk_jit_context *)(uintptr_t)8;
        topk_jit_status status = topk_jit_context_create(&context, &options);
        if (status == TOPK_JIT_OK) {
            assert_false(tkj_test_allocator_failed(&memory));
            topk_jit_context_destroy(context);
        } else {
            assert_int_equal(status, TOPK_JIT_OUT_OF_MEMORY);
            assert_int_equal(topk_jit_last_error()->status, TOPK_JIT_OUT_OF_MEMORY);
            assert_null(context);
        }
        assert_int_equal(atomic_load(&memory.live), 0);
        if (status == TOPK_JIT_OK)
            return;
        assert_in_range(fail_at, 1, 50);
    }
}

/* ---- where the cache is ---- */

static void assert_cache_root(plan_case *it, const char *option, const char *expected)
{
    topk_jit_options options = plan_case_options(it);
    options.cache_dir = option;
    plan_case_open(it, &options);
    const char *root = tkj_cache_root(it->context->cache);
    if (expected == NULL)
        assert_null(root);
    else
        assert_string_equal(root, expected);
}

static void cache_is_where_the_option_else_the_environment_says(void **state)
{
    plan_case *it = *state;
    assert_cache_root(it, NULL, NULL); /* HOME=/ */
    assert_int_equal(setenv("HOME", "/home/somebody", 1), 0);
    assert_cache_root(it, NULL, "/home/somebody/.cache/topk-jit");
    assert_int_equal(setenv("XDG_CACHE_HOME", "/xdg", 1), 0);
    assert_cache_root(it, NULL, "/xdg/topk-jit");
    assert_int_equal(setenv("TOPK_JIT_CACHE_DIR", "/variable", 1), 0);
    assert_cache_root(it, NULL, "/variable");
    assert_cache_root(it, it->root, it->root);
}

/* ---- templates ---- */

static void templates_are_read_once(void **state)
{
    plan_case *it = *state;
    const tkj_template_set *first = NULL, *second = NULL;
    assert_int_equal(tkj_context_templates(it->context, &first), TOPK_JIT_OK);
    int asked = atomic_load(&it->memory.asked);
    assert_int_equal(tkj_context_templates(it->context, &second), TOPK_JIT_OK);
    assert_ptr_equal(first, second);
    assert_int_equal(atomic_load(&it->memory.asked), asked);
    assert_non_null(first->files[0].text);
}

static void write_template(const char *directory, const tkj_source *file)
{
    tkj_test_file_write(tkj_test_path(directory, file->name), file->text, strlen(file->text));
}

static void missing_templates_are_looked_for_again(void **state)
{
    plan_case *it = *state;
    const tkj_template_set *set = NULL;
    topk_jit_options options = plan_case_options(it);
    options.template_dir = it->directory;
    plan_case_open(it, &options);
    for (int attempt = 0; attempt < 2; attempt++)
        assert_int_equal(tkj_context_templates(it->context, &set), TOPK_JIT_TEMPLATE_NOT_FOUND);
    plan_case_assert_message(it->directory);
    for (size_t i = 0; i < tkj_embedded_template_count; i++)
        write_template(it->directory, &tkj_embedded_templates[i]);
    assert_int_equal(tkj_context_templates(it->context, &set), TOPK_JIT_OK);
    assert_string_equal(set->files[0].text, tkj_embedded_templates[0].text);
}

static void environment_names_templates_unless_the_option_does(void **state)
{
    plan_case *it = *state;
    const tkj_template_set *set = NULL;
    assert_int_equal(setenv("TOPK_JIT_TEMPLATE_DIR", "/nowhere/variable", 1), 0);
    topk_jit_options options = plan_case_options(it);
    plan_case_open(it, &options);
    assert_int_equal(tkj_context_templates(it->context, &set), TOPK_JIT_TEMPLATE_NOT_FOUND);
    plan_case_assert_message("/nowhere/variable");
    options.template_dir = "/nowhere/option";
    plan_case_open(it, &options);
    assert_int_equal(tkj_context_templates(it->context, &set), TOPK_JIT_TEMPLATE_NOT_FOUND);
    plan_case_assert_message("/nowhere/option");
}

/* ---- NVRTC ---- */

static void nvrtc_is_loaded_once(void **state)
{
    plan_case *it = *state;
    const tkj_nvrtc *first = NULL, *second = NULL;
    assert_int_equal(tkj_context_nvrtc(it->context, &first), TOPK_JIT_OK);
    assert_int_equal(tkj_context_nvrtc(it->context, &second), TOPK_JIT_OK);
    assert_non_null(first);
    assert_ptr_equal(first, second);
    assert_int_equal(nvrtc->calls("nvrtcVersion"), 1);
}

static void failed_nvrtc_is_tried_again(void **state)
{
    plan_case *it = *state;
    const tkj_nvrtc *found = (const tkj_nvrtc *)(uintptr_t)8;
    nvrtc->inject("nvrtcGetNumSupportedArchs", 11, 1);
    assert_int_equal(tkj_context_nvrtc(it->context, &found), TOPK_JIT_NVRTC_FAILED);
    assert_null(found);
    assert_int_equal(tkj_context_nvrtc(it->context, &found), TOPK_JIT_OK);
    assert_int_equal(tkj_nvrtc_major(found), 13);
}

static void environment_names_nvrtc_unless_the_option_does(void **state)
{
    plan_case *it = *state;
    const tkj_nvrtc *found = NULL;
    assert_int_equal(setenv("TOPK_JIT_NVRTC", "/nowhere/variable.so", 1), 0);
    plan_case_reopen(it, NULL);
    assert_int_equal(tkj_context_nvrtc(it->context, &found), TOPK_JIT_NVRTC_NOT_FOUND);
    plan_case_assert_message("/nowhere/variable.so");
    plan_case_reopen(it, FAKE_NVRTC_PATH);
    assert_int_equal(tkj_context_nvrtc(it->context, &found), TOPK_JIT_OK);
}

/* ---- statistics and version ---- */

static void statistics_are_those_of_the_counters(void **state)
{
    const plan_case *it = *state;
    tkj_counters *counters = &it->context->counters;
    tkj_cache_counters *cache = tkj_cache_counts(it->context->cache);
    *cache = (tkj_cache_counters){.hits = {1, 2, 3, 4}};
    cache->corrupt = 11;
    cache->stores = 9;
    cache->failed_stores = 10;
    cache->evictions = 12;
    cache->waits = 5;
    cache->lock_timeouts = 7;
    cache->bytes_read = 13;
    cache->bytes_written = 14;
    cache->bytes_evicted = 15;
    cache->lookup_ns = 16;
    cache->wait_ns = 16;
    cache->store_ns = 19;
    counters->memory_hits = 100;
    counters->misses = 5;
    counters->waits = 1;
    counters->compiles = 8;
    counters->wait_ns = 1;
    counters->compile_ns = 18;
    counters->load_ns = 20;
    const topk_jit_statistics expected = {
        sizeof expected, 101, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
    const topk_jit_statistics statistics = plan_case_statistics(it);
    assert_memory_equal(&statistics, &expected, sizeof expected);
}

static void older_callers_get_the_statistics_they_know(void **state)
{
    const plan_case *it = *state;
    it->context->counters.memory_hits = 1;
    tkj_cache_counts(it->context->cache)->hits[TKJ_LAYER_PACK] = 2;
    topk_jit_statistics statistics = TOPK_JIT_STATISTICS_INIT;
    statistics.struct_size = offsetof(topk_jit_statistics, pack_hits);
    statistics.pack_hits = 99;
    assert_int_equal(topk_jit_get_statistics(it->context, &statistics), TOPK_JIT_OK);
    assert_int_equal(statistics.memory_hits, 1);
    assert_int_equal(statistics.pack_hits, 99);
}

static void newer_callers_get_zeros_for_what_is_not_known(void **state)
{
    const plan_case *it = *state;
    struct {
        topk_jit_statistics known;
        uint64_t unknown;
    } larger = {{.struct_size = sizeof larger}, 99};
    it->context->counters.load_ns = 12;
    assert_int_equal(topk_jit_get_statistics(it->context, &larger.known), TOPK_JIT_OK);
    assert_int_equal(larger.known.struct_size, sizeof larger);
    assert_int_equal(larger.known.load_ns, 12);
    assert_int_equal(larger.unknown, 0);
}

static void statistics_need_a_context_and_a_place(void **state)
{
    const plan_case *it = *state;
    topk_jit_statistics statistics = TOPK_JIT_STATISTICS_INIT;
    assert_int_equal(topk_jit_get_statistics(NULL, &statistics), TOPK_JIT_INVALID_ARGUMENT);
    plan_case_assert_message("context is NULL");
    assert_int_equal(topk_jit_get_statistics(it->context, NULL), TOPK_JIT_INVALID_ARGUMENT);
    statistics.struct_size = 0;
    assert_int_equal(topk_jit_get_statistics(it->context, &statistics), TOPK_JIT_ABI_MISMATCH);
}

static void running_version_is_that_of_the_header(void **state)
{
    (void)state;
    assert_string_equal(topk_jit_version(), TOPK_JIT_VERSION_STRING);
}

#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, plan_case_set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(creation_touches_no_gpu_no_compiler_and_no_file),
        TEST(context_needs_no_options),
        TEST(relative_variable_of_the_cache_is_ignored_with_a_warning),
        TEST(destroying_nothing_is_harmless),
        TEST(place_for_the_context_must_be_given),
        TEST(wrong_options_give_no_context),
        TEST(creation_survives_every_failed_allocation),
        TEST(cache_is_where_the_option_else_the_environment_says),
        TEST(templates_are_read_once),
        TEST(missing_templates_are_looked_for_again),
        TEST(environment_names_templates_unless_the_option_does),
        TEST(nvrtc_is_loaded_once),
        TEST(failed_nvrtc_is_tried_again),
        TEST(environment_names_nvrtc_unless_the_option_does),
        TEST(statistics_are_those_of_the_counters),
        TEST(older_callers_get_the_statistics_they_know),
        TEST(newer_callers_get_zeros_for_what_is_not_known),
        TEST(statistics_need_a_context_and_a_place),
        TEST(running_version_is_that_of_the_header),
    };
    return cmocka_run_group_tests_name("context", tests, NULL, NULL);
}
