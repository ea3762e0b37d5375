/* SPDX-License-Identifier: Apache-2.0 */
/* Filling the cache without a driver or a GPU. */
#include "plan_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

static const tkj_target sm_90 = {90, false};

/** The first kernel of a spec. */
static tkj_variant first_variant(const topk_jit_spec *spec)
{
    tkj_variant variants[TKJ_VARIANTS_MAX];
    assert_true(tkj_variants_enumerate(spec, 90, variants) > 0);
    return variants[0];
}

static topk_jit_status warm_flagged(plan_case *it, const topk_jit_spec *spec, tkj_target target,
                                    unsigned flags, tkj_warm_result *result)
{
    const tkj_variant variant = first_variant(spec);
    return tkj_plan_warm(it->context, spec, &variant, target, flags, result);
}

static topk_jit_status warm_one(plan_case *it, const topk_jit_spec *spec, tkj_target target,
                                tkj_warm_result *result)
{
    return warm_flagged(it, spec, target, 0, result);
}

static void warming_needs_no_driver(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    tkj_warm_result result;
    assert_int_equal(warm_one(it, &spec, sm_90, &result), TOPK_JIT_OK);
    assert_true(result.compiled);
    assert_int_equal(result.bytes, plan_case_entry_bytes(it));
    assert_true(result.nanoseconds > 0);
    assert_int_equal(cuda->total_calls(), 0);
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.misses, 1);
    assert_int_equal(s.compiles, 1);
    assert_int_equal(s.stores, 1);
    assert_int_equal(s.bytes_written, result.bytes);
}

static void kernel_that_is_there_is_not_compiled_again(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    tkj_warm_result first, second;
    assert_int_equal(warm_one(it, &spec, sm_90, &first), TOPK_JIT_OK);
    plan_case_reopen(it, FAKE_NVRTC_PATH);
    assert_int_equal(warm_one(it, &spec, sm_90, &second), TOPK_JIT_OK);
    assert_false(second.compiled);
    assert_int_equal(second.bytes, first.bytes);
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.user_hits, 1);
    assert_int_equal(s.compiles + s.stores, 0);
}

static void what_was_warmed_is_what_is_launched(void **state)
{
    plan_case *it = *state;
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.deterministic = 1; /* not canonical: it implies a tie break */
    assert_int_equal(plan_case_warm(it, &spec, 90, "sm_90a"), TOPK_JIT_OK);
    plan_case_reopen(it, "/nonexistent/libnvrtc.so");
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    assert_int_equal(plan_case_statistics(it).user_hits, plan_case_kernels(&spec, SM90));
}

static void only_the_major_of_the_nvrtc_found_counts_as_there(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    tkj_warm_result result;
    assert_int_equal(warm_one(it, &spec, sm_90, &result), TOPK_JIT_OK);
    nvrtc->set_version(12, 8);
    plan_case_reopen(it, FAKE_NVRTC_PATH);
    assert_int_equal(warm_one(it, &spec, sm_90, &result), TOPK_JIT_OK);
    assert_true(result.compiled);
    assert_int_equal(plan_case_entries(it, 13), 1);
    assert_int_equal(plan_case_entries(it, 12), 1);
}

static void make_empty(const char *path, void *user)
{
    (void)user;
    tkj_test_file_write(path, "", 0);
}

static void broken_entry_is_compiled_anew(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    tkj_warm_result result;
    assert_int_equal(warm_one(it, &spec, sm_90, &result), TOPK_JIT_OK);
    plan_case_each_file(it->root, ".tkc", make_empty, NULL);
    assert_int_equal(warm_one(it, &spec, sm_90, &result), TOPK_JIT_OK);
    assert_true(result.compiled);
    assert_int_equal(plan_case_statistics(it).corrupt_entries, 1);
    assert_int_equal(plan_case_entry_bytes(it), result.bytes);
}

/* ---- two runs ---- */

typedef struct other_root {
    char *root;
    size_t length_of_first; /* strlen of the first root */
    size_t compared;
} other_root;

static tkj_blob read_whole(const char *path)
{
    tkj_blob blob = {0};
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    blob.size = (size_t)ftell(file);
    rewind(file);
    blob.bytes = malloc(blob.size);
    assert_non_null(blob.bytes);
    assert_int_equal(fread(blob.bytes, 1, blob.size, file), blob.size);
    assert_int_equal(fclose(file), 0);
    return blob;
}

static void compare_with_other(const char *path, void *user)
{
    other_root *other = user;
    tkj_blob first = read_whole(path);
    tkj_blob second = read_whole(tkj_test_path(other->root, path + other->length_of_first + 1));
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.bytes, second.bytes, first.size);
    free(first.bytes);
    free(second.bytes);
    other->compared++;
}

static void refreshing_compiles_what_is_there(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    tkj_warm_result result;
    for (uint64_t run = 1; run <= 3; run++) {
        assert_int_equal(warm_flagged(it, &spec, sm_90, TKJ_WARM_REFRESH, &result), TOPK_JIT_OK);
        assert_true(result.compiled);
        const topk_jit_statistics s = plan_case_statistics(it);
        assert_int_equal(s.compiles, run);
        assert_int_equal(s.stores, run);
    }
    assert_int_equal(plan_case_entries(it, 13), 1);
    assert_int_equal(result.bytes, plan_case_entry_bytes(it));
}

static void looking_neither_compiles_nor_writes(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    tkj_warm_result result;
    assert_int_equal(warm_flagged(it, &spec, sm_90, TKJ_WARM_LOOK, &result), TOPK_JIT_OK);
    assert_true(result.compiled);
    assert_int_equal(result.bytes, 0);
    assert_int_equal(plan_case_statistics(it).compiles, 0);
    assert_int_equal(tkj_test_file_count(it->root), 0);
    assert_int_equal(warm_one(it, &spec, sm_90, &result), TOPK_JIT_OK);
    assert_int_equal(warm_flagged(it, &spec, sm_90, TKJ_WARM_LOOK, &result), TOPK_JIT_OK);
    assert_false(result.compiled);
    assert_int_equal(result.bytes, plan_case_entry_bytes(it));
    assert_int_equal(warm_flagged(it, &spec, sm_90, TKJ_WARM_LOOK | TKJ_WARM_REFRESH, &result),
                     TOPK_JIT_OK);
    assert_true(result.compiled);
    assert_int_equal(plan_case_statistics(it).compiles, 1);
}

static void two_runs_give_identical_files(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec specs[] = {plan_case_spec(2048), plan_case_spec(512)};
    topk_jit_options options = plan_case_options(it);
    other_root other = {.length_of_first = strlen(it->root)};
    other.root = strdup(tkj_test_path(it->directory, "other"));
    options.cache_dir = other.root;
    for (int run = 0; run < 2; run++) {
        for (int i = 0; i < 2; i++) {
            int which = run == 0 ? i : 1 - i; /* in another order */
            assert_int_equal(plan_case_warm(it, &specs[which], 90, "sm_90"), TOPK_JIT_OK);
            assert_int_equal(plan_case_warm(it, &specs[which], 80, "compute_80"), TOPK_JIT_OK);
        }
        if (run == 0)
            plan_case_open(it, &options);
    }
    size_t files = plan_case_each_file(it->root, ".tkc", compare_with_other, &other);
    assert_true(files >= 4);
    assert_int_equal(other.compared, files);
    assert_int_equal(plan_case_each_file(other.root, ".tkc", NULL, NULL), files);
    free(other.root);
}

/* ---- what cannot be warmed ---- */

static void target_that_nvrtc_lacks_names_the_toolkit_that_has_it(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    tkj_warm_result result;
    nvrtc->set_version(12, 0);
    assert_int_equal(warm_one(it, &spec, (tkj_target){120, false}, &result), TOPK_JIT_NVRTC_TARGET);
    plan_case_assert_message("nvrtc 12.0");
    plan_case_assert_message("sm_120");
    plan_case_assert_message("12.8");
    assert_int_equal(warm_one(it, &spec, (tkj_target){103, true}, &result), TOPK_JIT_NVRTC_TARGET);
    plan_case_assert_message("compute_103");
    plan_case_assert_message("12.9");
    assert_int_equal(warm_one(it, &spec, (tkj_target){95, false}, &result), TOPK_JIT_NVRTC_TARGET);
    plan_case_assert_message("unknown");
    assert_int_equal(nvrtc->calls("nvrtcCompileProgram"), 0);
}

static void store_that_fails_is_a_failure_here(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    tkj_warm_result result;
    topk_jit_options options = plan_case_options(it);
    tkj_test_file_write(tkj_test_path(it->directory, "file"), "", 0);
    options.cache_dir = tkj_test_path(it->directory, "file/cache");
    plan_case_open(it, &options);
    assert_int_equal(warm_one(it, &spec, sm_90, &result), TOPK_JIT_CACHE_FAILED);
    plan_case_assert_message("file/cache");
    assert_int_equal(topk_jit_last_error()->domain, TOPK_JIT_DOMAIN_SYSTEM);
    assert_int_equal(plan_case_statistics(it).failed_stores, 1);
}

static void without_a_cache_there_is_nothing_to_warm(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    tkj_warm_result result;
    topk_jit_options options = plan_case_options(it);
    options.cache_dir = NULL;
    plan_case_open(it, &options);
    assert_int_equal(warm_one(it, &spec, sm_90, &result), TOPK_JIT_CACHE_FAILED);
    plan_case_assert_message("no cache directory");
    assert_int_equal(nvrtc->calls("nvrtcVersion"), 0);
}

static void missing_nvrtc_is_named(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    tkj_warm_result result;
    plan_case_reopen(it, "/nonexistent/libnvrtc.so");
    assert_int_equal(warm_one(it, &spec, sm_90, &result), TOPK_JIT_NVRTC_NOT_FOUND);
    plan_case_assert_message("/nonexistent/libnvrtc.so");
}

static void compile_error_leaves_nothing_in_the_cache(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    tkj_warm_result result;
    nvrtc->set_log("a.cu(1): error: wrong\n");
    nvrtc->inject("nvrtcCompileProgram", 6, 1);
    assert_int_equal(warm_one(it, &spec, sm_90, &result), TOPK_JIT_COMPILE_FAILED);
    plan_case_assert_message("a.cu(1): error: wrong");
    assert_int_equal(plan_case_entries(it, 13), 0);
    assert_int_equal(plan_case_statistics(it).stores, 0);
}

static void every_failed_allocation_is_reported_or_got_round(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    tkj_warm_result result;
    int out_of_memory = 0;
    for (int more = 1;; more++) {
        plan_case_reopen(it, FAKE_NVRTC_PATH);
        plan_case_each_file(it->root, ".tkc", plan_case_remove_file, NULL);
        it->memory.fail_at = atomic_load(&it->memory.asked) + more;
        topk_jit_status status = warm_one(it, &spec, sm_90, &result);
        bool failed = tkj_test_allocator_failed(&it->memory);
        it->memory.fail_at = 0;
        if (!failed)
            break;
        assert_true(status == TOPK_JIT_OK || status == TOPK_JIT_OUT_OF_MEMORY);
        out_of_memory += status == TOPK_JIT_OUT_OF_MEMORY;
        assert_int_equal(warm_one(it, &spec, sm_90, &result), TOPK_JIT_OK);
        assert_in_range(more, 1, 200);
    }
    assert_true(out_of_memory > 3);
}

#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, plan_case_set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(warming_needs_no_driver),
        TEST(kernel_that_is_there_is_not_compiled_again),
        TEST(what_was_warmed_is_what_is_launched),
        TEST(only_the_major_of_the_nvrtc_found_counts_as_there),
        TEST(broken_entry_is_compiled_anew),
        TEST(refreshing_compiles_what_is_there),
        TEST(looking_neither_compiles_nor_writes),
        TEST(two_runs_give_identical_files),
        TEST(target_that_nvrtc_lacks_names_the_toolkit_that_has_it),
        TEST(store_that_fails_is_a_failure_here),
        TEST(without_a_cache_there_is_nothing_to_warm),
        TEST(missing_nvrtc_is_named),
        TEST(compile_error_leaves_nothing_in_the_cache),
        TEST(every_failed_allocation_is_reported_or_got_round),
    };
    return cmocka_run_group_tests_name("plan_warm", tests, NULL, NULL);
}
