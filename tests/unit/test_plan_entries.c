/* SPDX-License-Identifier: Apache-2.0 */
/* Entries in the cache that do not verify or do not load: they cost a compilation and nothing else
 * (vllm#41871, triton PR#8923: a crash loop until somebody deletes them). */
#include "plan_case.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"
#include "status.h"

static void flip_last_bit(const char *path, void *user)
{
    (void)user;
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, -1, SEEK_END), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, -1, SEEK_END), 0);
    assert_int_equal(fputc(byte ^ 1, file), byte ^ 1);
    assert_int_equal(fclose(file), 0);
}

static void cut_in_half(const char *path, void *user)
{
    (void)user;
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(truncate(path, status.st_size / 2), 0);
}

static void make_empty(const char *path, void *user)
{
    (void)user;
    assert_int_equal(truncate(path, 0), 0);
}

/** A sound entry of another kernel. */
static void put_foreign(const char *path, void *user)
{
    const plan_case *it = user;
    const tkj_entry entry = {
        .kind = TKJ_PAYLOAD_CUBIN,
        .target = "sm_90",
        .toolchain = "nvrtc 13.0",
        .library = TOPK_JIT_VERSION_STRING,
        .preimage = "another kernel",
        .entry_name = "topk_jit_foreign",
        .payload = (const uint8_t *)"FAKECUBIN sm_90\n",
        .payload_size = sizeof "FAKECUBIN sm_90\n",
    };
    tkj_blob bytes;
    assert_int_equal(tkj_entry_encode(&it->memory.allocator, &entry, &bytes), TOPK_JIT_OK);
    tkj_test_file_write(path, bytes.bytes, bytes.size);
    tkj_free(&it->memory.allocator, bytes.bytes);
}

/** Breaks every entry: the next context compiles and rewrites, the one after it hits. */
static void assert_rewritten(plan_case *it, void (*break_entry)(const char *path, void *user))
{
    const topk_jit_spec spec = plan_case_spec(2048);
    const size_t kernels = plan_case_kernels(&spec, SM90);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    assert_int_equal(plan_case_each_file(it->root, ".tkc", break_entry, it), kernels);
    tkj_fail(TOPK_JIT_NOT_SUPPORTED, "an earlier failure");

    plan_case_reopen(it, FAKE_NVRTC_PATH);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.corrupt_entries, kernels);
    assert_int_equal(s.misses, kernels);
    assert_int_equal(s.compiles, kernels);
    assert_int_equal(s.stores, kernels);
    assert_int_equal(s.user_hits + s.bytes_read, 0);
    assert_int_equal(it->logged[TOPK_JIT_LOG_WARNING], kernels);
    plan_case_assert_message("an earlier failure");

    plan_case_reopen(it, "/nonexistent/libnvrtc.so");
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    s = plan_case_statistics(it);
    assert_int_equal(s.user_hits, kernels);
    assert_int_equal(s.corrupt_entries, 0);
}

static void corrupt_entry_is_a_miss_and_rewritten(void **state)
{
    assert_rewritten(*state, flip_last_bit);
}

static void truncated_entry_is_a_miss_and_rewritten(void **state)
{
    assert_rewritten(*state, cut_in_half);
}

static void empty_entry_is_a_miss_and_rewritten(void **state)
{
    assert_rewritten(*state, make_empty);
}

static void foreign_entry_is_a_miss_and_rewritten(void **state)
{
    assert_rewritten(*state, put_foreign);
}

static void cached_entry_that_does_not_load_is_passed_over_and_compiled(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    const size_t kernels = plan_case_kernels(&spec, SM90);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    plan_case_reopen(it, FAKE_NVRTC_PATH);
    tkj_fail(TOPK_JIT_NOT_SUPPORTED, "an earlier failure");
    cuda->inject("cuLibraryLoadData", IMAGE_CODE, 1);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    plan_case_assert_message("an earlier failure");
    plan_case_assert_logged(it, TOPK_JIT_LOG_WARNING, "does not load");
    plan_case_assert_logged(it, TOPK_JIT_LOG_WARNING, "sm_90");
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.user_hits, kernels);
    assert_int_equal(s.misses, 1);
    assert_int_equal(s.compiles, 1);
    assert_int_equal(cuda->live_libraries(), kernels);
}

#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, plan_case_set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(corrupt_entry_is_a_miss_and_rewritten),
        TEST(truncated_entry_is_a_miss_and_rewritten),
        TEST(empty_entry_is_a_miss_and_rewritten),
        TEST(foreign_entry_is_a_miss_and_rewritten),
        TEST(cached_entry_that_does_not_load_is_passed_over_and_compiled),
    };
    return cmocka_run_group_tests_name("plan_entries", tests, NULL, NULL);
}
