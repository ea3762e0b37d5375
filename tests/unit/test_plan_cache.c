/* SPDX-License-Identifier: Apache-2.0 */
/* The cold path and the cache: what is done, in which order, and what it costs. */
#include "plan_case.h"

#include <stdio.h>
#include <string.h>

#include "status.h"

/* ---- the steps, noted by what the linker puts in their place ---- */

static char steps[512];
static const char *remove_before_load; /* a directory whose entries go away just then */

static void note(const char *step)
{
    size_t used = strlen(steps);
    size_t length = strlen(step);
    if (used >= length && strcmp(steps + used - length, step) == 0)
        return; /* one place searched after the other */
    snprintf(steps + used, sizeof steps - used, "%s", step);
}

tkj_cache_outcome __real_tkj_cache_get(tkj_cache *cache, const tkj_cache_query *query,
                                       size_t *layer, tkj_blob *bytes, tkj_entry *entry);
tkj_cache_outcome __wrap_tkj_cache_get(tkj_cache *cache, const tkj_cache_query *query,
                                       size_t *layer, tkj_blob *bytes, tkj_entry *entry);
tkj_cache_outcome __wrap_tkj_cache_get(tkj_cache *cache, const tkj_cache_query *query,
                                       size_t *layer, tkj_blob *bytes, tkj_entry *entry)
{
    note("get ");
    return __real_tkj_cache_get(cache, query, layer, bytes, entry);
}

topk_jit_status __real_tkj_cache_put(tkj_cache *cache, const tkj_cache_key *key, int major,
                                     const tkj_blob *bytes);
topk_jit_status __wrap_tkj_cache_put(tkj_cache *cache, const tkj_cache_key *key, int major,
                                     const tkj_blob *bytes);
topk_jit_status __wrap_tkj_cache_put(tkj_cache *cache, const tkj_cache_key *key, int major,
                                     const tkj_blob *bytes)
{
    note("put ");
    return __real_tkj_cache_put(cache, key, major, bytes);
}

topk_jit_status __real_tkj_nvrtc_load(const topk_jit_allocator *allocator, const tkj_logger *logger,
                                      const tkj_nvrtc_search *search, tkj_nvrtc **out);
topk_jit_status __wrap_tkj_nvrtc_load(const topk_jit_allocator *allocator, const tkj_logger *logger,
                                      const tkj_nvrtc_search *search, tkj_nvrtc **out);
topk_jit_status __wrap_tkj_nvrtc_load(const topk_jit_allocator *allocator, const tkj_logger *logger,
                                      const tkj_nvrtc_search *search, tkj_nvrtc **out)
{
    note("nvrtc ");
    return __real_tkj_nvrtc_load(allocator, logger, search, out);
}

topk_jit_status __real_tkj_nvrtc_compile(const tkj_nvrtc *with, const tkj_compile_job *job,
                                         const char *entry, tkj_compile_result *out);
topk_jit_status __wrap_tkj_nvrtc_compile(const tkj_nvrtc *with, const tkj_compile_job *job,
                                         const char *entry, tkj_compile_result *out);
topk_jit_status __wrap_tkj_nvrtc_compile(const tkj_nvrtc *with, const tkj_compile_job *job,
                                         const char *entry, tkj_compile_result *out)
{
    note("compile ");
    return __real_tkj_nvrtc_compile(with, job, entry, out);
}

topk_jit_status __real_tkj_driver_load(const void *image, const char *entry, uint32_t shared_bytes,
                                       int ordinal, CUstream stream, tkj_kernel *out);
topk_jit_status __wrap_tkj_driver_load(const void *image, const char *entry, uint32_t shared_bytes,
                                       int ordinal, CUstream stream, tkj_kernel *out);
topk_jit_status __wrap_tkj_driver_load(const void *image, const char *entry, uint32_t shared_bytes,
                                       int ordinal, CUstream stream, tkj_kernel *out)
{
    note("load ");
    if (remove_before_load != NULL)
        assert_true(plan_case_each_file(remove_before_load, ".tkc", plan_case_remove_file, NULL) >
                    0);
    return __real_tkj_driver_load(image, entry, shared_bytes, ordinal, stream, out);
}

static int set_up(void **state)
{
    steps[0] = '\0';
    remove_before_load = NULL;
    return plan_case_set_up(state);
}

/** Steps of a first kernel, then those of each further one. */
static void assert_steps(size_t kernels, const char *first, const char *further)
{
    char expected[sizeof steps] = "";
    for (size_t i = 0; i < kernels; i++) {
        size_t used = strlen(expected);
        snprintf(expected + used, sizeof expected - used, "%s", i == 0 ? first : further);
    }
    assert_string_equal(steps, expected);
}

/* ---- hits and misses ---- */

static void cold_path_takes_its_steps_in_order(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    assert_steps(plan_case_kernels(&spec, SM90), "get nvrtc compile put load ",
                 "get compile put load ");
}

static void miss_counts_what_each_step_costs(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    const size_t kernels = plan_case_kernels(&spec, SM90);
    nvrtc->set_delay_ms(1);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.memory_hits, 0);
    assert_int_equal(s.user_hits, 0);
    assert_int_equal(s.misses, kernels);
    assert_int_equal(s.compiles, kernels);
    assert_int_equal(s.stores, kernels);
    assert_int_equal(s.failed_stores, 0);
    assert_int_equal(s.corrupt_entries, 0);
    assert_int_equal(s.bytes_read, 0);
    assert_int_equal(s.bytes_written, plan_case_entry_bytes(it));
    assert_true(s.lookup_ns > 0 && s.load_ns > 0);
    assert_true(s.compile_ns >= kernels * 1000000);
    assert_int_equal(plan_case_entries(it, 13), kernels);
    assert_int_equal(cuda->live_libraries(), kernels);
}

static void prepared_spec_takes_no_step_again(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    const tkj_prepared *prepared = plan_case_find(it, &spec, SM90);
    const topk_jit_statistics before = plan_case_statistics(it);
    steps[0] = '\0';
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    assert_string_equal(steps, "");
    topk_jit_statistics expected = before;
    expected.memory_hits = prepared->count;
    const topk_jit_statistics after = plan_case_statistics(it);
    assert_memory_equal(&after, &expected, sizeof expected);
    assert_ptr_equal(plan_case_find(it, &spec, SM90), prepared);
}

static void second_context_hits_and_touches_no_nvrtc(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    const size_t kernels = plan_case_kernels(&spec, SM90);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    plan_case_reopen(it, "/nonexistent/libnvrtc.so");
    nvrtc->reset();
    steps[0] = '\0';
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    assert_steps(kernels, "get load ", "get load ");
    assert_int_equal(nvrtc->calls("nvrtcVersion") + nvrtc->calls("nvrtcCreateProgram"), 0);
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.user_hits, kernels);
    assert_int_equal(s.misses + s.compiles + s.stores + s.failed_stores + s.compile_ns, 0);
    assert_int_equal(s.bytes_read, plan_case_entry_bytes(it));
    assert_int_equal(s.bytes_written, 0);
    assert_true(s.lookup_ns > 0 && s.load_ns > 0);
}

static void kernel_is_loaded_from_memory_though_its_file_is_gone(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    remove_before_load = it->root;
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    assert_int_equal(plan_case_entries(it, 13), 0);
    assert_int_equal(cuda->live_libraries(), plan_case_kernels(&spec, SM90));
    assert_int_equal(plan_case_statistics(it).stores, plan_case_kernels(&spec, SM90));
}

/* ---- a cache that cannot be used ---- */

static void unwritable_cache_costs_one_warning_and_nothing_else(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec specs[] = {plan_case_spec(2048), plan_case_spec(512)};
    const size_t kernels = plan_case_kernels(&specs[0], SM90) + plan_case_kernels(&specs[1], SM90);
    topk_jit_options options = plan_case_options(it);
    tkj_test_file_write(tkj_test_path(it->directory, "file"), "", 0);
    options.cache_dir = tkj_test_path(it->directory, "file/cache");
    plan_case_open(it, &options);
    tkj_fail(TOPK_JIT_NOT_SUPPORTED, "an earlier failure");
    const topk_jit_error earlier = *topk_jit_last_error();
    assert_int_equal(topk_jit_prepare(it->context, specs, 2, streams[SM90]), TOPK_JIT_OK);
    assert_memory_equal(topk_jit_last_error(), &earlier, sizeof earlier);
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.failed_stores, kernels);
    assert_int_equal(s.stores + s.bytes_written, 0);
    assert_int_equal(it->logged[TOPK_JIT_LOG_WARNING], 1);
    assert_int_equal(it->logged[TOPK_JIT_LOG_ERROR], 0);
    plan_case_assert_logged(it, TOPK_JIT_LOG_WARNING, "not stored");

    plan_call call;
    plan_call_init(&call, SM90, 3, 3, 512);
    assert_int_equal(topk_jit_select(it->context, &call.args, streams[SM90]), TOPK_JIT_OK);
    assert_int_equal(cuda->launches(), 1);
}

static void without_a_cache_kernels_live_in_memory(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    const size_t kernels = plan_case_kernels(&spec, SM90);
    topk_jit_options options = plan_case_options(it);
    options.cache_dir = NULL; /* and HOME is /, which is nobody's */
    plan_case_open(it, &options);
    assert_null(tkj_cache_root(it->context->cache));
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.misses, kernels);
    assert_int_equal(s.compiles, kernels);
    assert_int_equal(s.memory_hits, kernels);
    assert_int_equal(s.stores + s.failed_stores, 0);
    assert_int_equal(it->logged[TOPK_JIT_LOG_WARNING], 0);
    assert_int_equal(tkj_test_file_count(it->directory), 0);
}

static void hit_writes_nothing(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    const size_t files = tkj_test_file_count(it->root);
    const uint64_t bytes = plan_case_entry_bytes(it);
    plan_case_reopen(it, FAKE_NVRTC_PATH);
    steps[0] = '\0';
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    assert_null(strstr(steps, "put"));
    assert_int_equal(tkj_test_file_count(it->root), files);
    assert_int_equal(plan_case_entry_bytes(it), bytes);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(cold_path_takes_its_steps_in_order),
        TEST(miss_counts_what_each_step_costs),
        TEST(prepared_spec_takes_no_step_again),
        TEST(second_context_hits_and_touches_no_nvrtc),
        TEST(kernel_is_loaded_from_memory_though_its_file_is_gone),
        TEST(unwritable_cache_costs_one_warning_and_nothing_else),
        TEST(without_a_cache_kernels_live_in_memory),
        TEST(hit_writes_nothing),
    };
    return cmocka_run_group_tests_name("plan_cache", tests, NULL, NULL);
}
