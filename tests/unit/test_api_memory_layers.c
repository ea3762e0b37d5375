/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation fails once, in whatever layer, mode and operation: the call says so or gets
 * round it, nothing leaks, no output is touched, and the same context serves the next call. */
#include "plan_case.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digest.h"
#include "memory.h"
#include "pack.h"

/* More allocations than any call makes. */
#define ALLOCATIONS_MAX 500

/* One kernel on the fake's device, so that each run is short. */
#define TOPK 10000

/** Where the kernel is. */
typedef enum place { PLACE_NONE, PLACE_USER, PLACE_READ_ONLY, PLACE_PACK } place;

/** A call on a context, and what it says while there is memory. */
typedef struct situation {
    place where;
    topk_jit_mode mode;
    topk_jit_toolchain toolchain;
    topk_jit_switch shared;
    uint64_t max_bytes; /* of the cache; 0 = the default */
    topk_jit_status (*run)(plan_case *it);
    topk_jit_status expected;
} situation;

/* ---- the disk ---- */

static void read_entry(const char *path, void *user)
{
    tkj_blob *bytes = user;
    assert_int_equal(tkj_os_read_file(&tkj_default_allocator, AT_FDCWD, path, SIZE_MAX, bytes), 0);
}

static void write_pack(const plan_case *it, const char *name, tkj_pack_item *items, size_t count)
{
    tkj_blob pack;
    assert_int_equal(tkj_pack_encode(&tkj_default_allocator, items, count, &pack), TOPK_JIT_OK);
    tkj_test_file_write(tkj_test_path(it->directory, name), pack.bytes, pack.size);
    tkj_free(&tkj_default_allocator, pack.bytes);
}

static void make_pack(plan_case *it)
{
    tkj_entry entry;
    tkj_pack_item item = {.major = 13};
    assert_int_equal(plan_case_each_file(it->root, ".tkc", read_entry, &item.bytes), 1);
    assert_null(tkj_entry_decode(item.bytes.bytes, item.bytes.size, &entry));
    tkj_digest(entry.preimage, strlen(entry.preimage), item.key);
    uint8_t *bytes = item.bytes.bytes;
    write_pack(it, "ro/one.tkp", &item, 1);
    tkj_free(&tkj_default_allocator, bytes);
}

/* Puts the kernel into its place, behind a pack that lacks it. */
static void arrange(plan_case *it, place where)
{
    const topk_jit_spec spec = plan_case_spec(TOPK);
    plan_case_reopen(it, FAKE_NVRTC_PATH);
    assert_int_equal(plan_case_kernels(&spec, SM90), 1);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    const char *ro = tkj_test_path(it->directory, "ro");
    if (where == PLACE_READ_ONLY)
        assert_int_equal(rename(it->root, ro), 0);
    else
        assert_int_equal(tkj_os_make_dirs(ro, TKJ_TRUST_OWNER), 0);
    write_pack(it, "ro/empty.tkp", NULL, 0);
    if (where == PLACE_PACK)
        make_pack(it);
}

static void start(plan_case *it, const situation *in)
{
    plan_case_close(it);
    if (in->where != PLACE_USER)
        plan_case_each_file(it->root, ".tkc", plan_case_remove_file, NULL);
    if (in->max_bytes > 0) {
        assert_int_equal(tkj_os_make_dirs(tkj_test_path(it->root, "v1/00"), TKJ_TRUST_OWNER), 0);
        tkj_test_file_write(
            tkj_test_path(it->root, "v1/00/000000000000000000000000000001.cu13.tkc"), "old", 3);
    }
    topk_jit_options options = plan_case_options(it);
    options.ro_dirs = tkj_test_path(it->directory, "ro");
    options.mode = in->mode;
    options.toolchain = in->toolchain;
    options.shared = in->shared;
    options.cache_max_bytes = in->max_bytes;
    plan_case_open(it, &options);
}

/* ---- one allocation after the other ---- */

static int32_t slots[3][4];
static float values[3][4];
static int64_t long_slots[3][4];

static void assert_poisoned(const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        assert_int_equal(((const unsigned char *)bytes)[i], 0x77);
}

/* A miss for lack of memory, where nothing else is done about a miss, is one all the same. */
static void assert_told(const situation *in, topk_jit_status status, int launches)
{
    assert_true(status == TOPK_JIT_OUT_OF_MEMORY ||
                (status == TOPK_JIT_OFFLINE_MISS && in->mode == TOPK_JIT_MODE_OFFLINE));
    assert_int_equal(topk_jit_last_error()->status, status);
    assert_int_equal(cuda->launches(), launches);
    assert_poisoned(slots, sizeof slots);
    assert_poisoned(values, sizeof values);
    assert_poisoned(long_slots, sizeof long_slots);
}

/** @return how many allocations the call makes */
static int fail_every_allocation(plan_case *it, const situation *in)
{
    arrange(it, in->where);
    for (int nth = 1; nth < ALLOCATIONS_MAX; nth++) {
        start(it, in);
        memset(slots, 0x77, sizeof slots);
        memset(values, 0x77, sizeof values);
        memset(long_slots, 0x77, sizeof long_slots);
        const int launches = cuda->launches();
        it->memory.fail_at = atomic_load(&it->memory.asked) + nth;
        topk_jit_status status = in->run(it);
        const bool failed = tkj_test_allocator_failed(&it->memory);
        it->memory.fail_at = 0;
        if (!failed) {
            assert_int_equal(status, in->expected);
            return nth - 1;
        }
        if (status != in->expected)
            assert_told(in, status, launches);
        assert_int_equal(in->run(it), in->expected);
    }
    fail_msg("a call makes more than %d allocations", ALLOCATIONS_MAX);
    return 0;
}

/* ---- preparing, in every layer and mode ---- */

static topk_jit_status prepare(plan_case *it)
{
    const topk_jit_spec spec = plan_case_spec(TOPK);
    return plan_case_prepare(it, &spec, SM90);
}

static void miss_behind_a_pack_under_a_lock_with_eviction_survives(void **state)
{
    const situation in = {.max_bytes = 1, .run = prepare};
    assert_true(fail_every_allocation(*state, &in) > 20);
}

static void miss_in_a_shared_cache_survives(void **state)
{
    const situation in = {.shared = TOPK_JIT_SWITCH_ON, .run = prepare};
    assert_true(fail_every_allocation(*state, &in) > 10);
}

static void miss_that_is_not_stored_survives(void **state)
{
    const situation readonly = {.mode = TOPK_JIT_MODE_READONLY, .run = prepare};
    const situation off = {.mode = TOPK_JIT_MODE_OFF, .run = prepare};
    assert_true(fail_every_allocation(*state, &readonly) > 10);
    assert_true(fail_every_allocation(*state, &off) > 10);
}

static void hit_of_the_exact_toolchain_survives(void **state)
{
    const situation in = {
        .where = PLACE_USER, .toolchain = TOPK_JIT_TOOLCHAIN_EXACT, .run = prepare};
    assert_true(fail_every_allocation(*state, &in) > 5);
}

static void check_hit(void **state, place where)
{
    const situation any = {.where = where, .run = prepare};
    assert_true(fail_every_allocation(*state, &any) > 5);
}

static void hit_in_a_read_only_directory_survives(void **state)
{
    check_hit(state, PLACE_READ_ONLY);
}

static void hit_in_a_pack_survives(void **state)
{
    check_hit(state, PLACE_PACK);
}

static void check_offline(void **state, place where)
{
    const situation in = {.where = where, .mode = TOPK_JIT_MODE_OFFLINE, .run = prepare};
    assert_true(fail_every_allocation(*state, &in) > 5);
}

static void offline_hit_in_the_users_directory_survives(void **state)
{
    check_offline(state, PLACE_USER);
}

static void offline_hit_in_a_read_only_directory_survives(void **state)
{
    check_offline(state, PLACE_READ_ONLY);
}

static void offline_hit_in_a_pack_survives(void **state)
{
    check_offline(state, PLACE_PACK);
}

static void offline_miss_survives(void **state)
{
    const situation in = {
        .mode = TOPK_JIT_MODE_OFFLINE, .run = prepare, .expected = TOPK_JIT_OFFLINE_MISS};
    assert_true(fail_every_allocation(*state, &in) > 5);
}

static topk_jit_status fail_to_compile(plan_case *it)
{
    nvrtc->inject("nvrtcCompileProgram", 6, 1);
    nvrtc->set_log("a.cu(1): error: no such thing\n");
    topk_jit_status status = prepare(it);
    nvrtc->reset();
    return status;
}

static void failed_compilation_survives(void **state)
{
    const situation in = {.run = fail_to_compile, .expected = TOPK_JIT_COMPILE_FAILED};
    assert_true(fail_every_allocation(*state, &in) > 10);
}

/* ---- the operations ---- */

static float scores[3][8] = {{1, 7, 2, 8, 3, 6, 4, 5}, {8, 7, 6, 5, 4, 3, 2, 1}, {0}};
static int32_t pages[3][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}, {0}};
static int32_t offsets[3] = {100, 200, 300};
static int64_t score_shape[2] = {3, 8}, index_shape[2] = {3, 4}, row_shape[1] = {3};

static DLTensor tensor(void *data, int dimensions, int64_t *shape, uint8_t code, uint8_t bits)
{
    return (DLTensor){data, {kDLCPU, 0}, dimensions, {code, bits, 1}, shape, NULL, 0};
}

static topk_jit_status call_fast_topk(plan_case *it)
{
    DLTensor in = tensor(scores, 2, score_shape, kDLFloat, 32);
    DLTensor out = tensor(values, 2, index_shape, kDLFloat, 32);
    DLTensor indices = tensor(long_slots, 2, index_shape, kDLInt, 64);
    return topk_jit_fast_topk(it->context, &in, 4, -1, &out, &indices, NULL);
}

static topk_jit_status call_v2(plan_case *it)
{
    DLTensor score = tensor(scores, 2, score_shape, kDLFloat, 32);
    DLTensor indices = tensor(slots, 2, index_shape, kDLInt, 32);
    return topk_jit_fast_topk_v2(it->context, &score, NULL, 4, NULL, &indices, NULL);
}

static topk_jit_status call_transform(plan_case *it)
{
    DLTensor score = tensor(scores, 2, score_shape, kDLFloat, 32);
    DLTensor table = tensor(pages, 2, score_shape, kDLInt, 32);
    DLTensor indices = tensor(slots, 2, index_shape, kDLInt, 32);
    return topk_jit_fast_topk_transform_fused(it->context, &score, NULL, &table, 1, NULL, 4, NULL,
                                              &indices, NULL);
}

static topk_jit_status call_ragged(plan_case *it)
{
    DLTensor score = tensor(scores, 2, score_shape, kDLFloat, 32);
    DLTensor offset = tensor(offsets, 1, row_shape, kDLInt, 32);
    DLTensor indices = tensor(slots, 2, index_shape, kDLInt, 32);
    return topk_jit_fast_topk_transform_ragged_fused(it->context, &score, NULL, &offset, 4, NULL,
                                                     &indices, NULL);
}

static void every_operation_on_the_host_survives(void **state)
{
    topk_jit_status (*const calls[])(plan_case * it) = {call_fast_topk, call_v2, call_transform,
                                                        call_ragged};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        const situation in = {.run = calls[i]};
        assert_true(fail_every_allocation(*state, &in) > 0);
    }
    assert_int_equal(slots[1][0], 200); /* of the last one: written at last */
}

static topk_jit_status call_on_gpu(plan_case *it)
{
    plan_call call;
    plan_call_init(&call, SM90, 3, 3, TOPK);
    return topk_jit_fast_topk_v2(it->context, &call.score, NULL, TOPK, NULL, &call.indices,
                                 streams[SM90]);
}

static void unprepared_operation_that_hits_in_a_pack_survives(void **state)
{
    const situation in = {.where = PLACE_PACK, .run = call_on_gpu};
    assert_true(fail_every_allocation(*state, &in) > 5);
}

/* One that is prepared allocates nothing, so that nothing can fail. */
static topk_jit_status call_prepared(plan_case *it)
{
    const int fail_at = it->memory.fail_at;
    it->memory.fail_at = 0;
    assert_int_equal(prepare(it), TOPK_JIT_OK);
    it->memory.fail_at = fail_at > 0 ? atomic_load(&it->memory.asked) + 1 : 0;
    topk_jit_status status = call_on_gpu(it);
    topk_jit_statistics statistics = TOPK_JIT_STATISTICS_INIT;
    assert_int_equal(topk_jit_get_statistics(it->context, &statistics), TOPK_JIT_OK);
    assert_int_equal(statistics.user_hits, 1);
    return status;
}

static void prepared_operation_and_statistics_allocate_nothing(void **state)
{
    const situation in = {.where = PLACE_USER, .run = call_prepared};
    assert_int_equal(fail_every_allocation(*state, &in), 0);
}

/* ---- creating a context ---- */

/** @return how many allocations a context of these options makes */
static int fail_every_creation(plan_case *it, const topk_jit_options *options)
{
    plan_case_close(it);
    for (int nth = 1; nth < ALLOCATIONS_MAX; nth++) {
        topk_jit_context *context = (topk_jit_context *)it;
        tkj_test_allocator_init(&it->memory, nth);
        topk_jit_status status = topk_jit_context_create(&context, options);
        if (status == TOPK_JIT_OK) {
            assert_false(tkj_test_allocator_failed(&it->memory));
            topk_jit_context_destroy(context);
            assert_int_equal(atomic_load(&it->memory.live), 0);
            it->memory.fail_at = 0;
            return nth - 1;
        }
        assert_int_equal(status, TOPK_JIT_OUT_OF_MEMORY);
        assert_int_equal(topk_jit_last_error()->status, TOPK_JIT_OUT_OF_MEMORY);
        assert_null(context);
        assert_int_equal(atomic_load(&it->memory.live), 0);
    }
    fail_msg("a context makes more than %d allocations", ALLOCATIONS_MAX);
    return 0;
}

static void creation_with_every_option_survives(void **state)
{
    plan_case *it = *state;
    topk_jit_options options = plan_case_options(it);
    options.template_dir = "/templates";
    options.nvrtc_hint = "/hint";
    options.ro_dirs = "/one:/two.tkp";
    assert_true(fail_every_creation(it, &options) > 10);
}

static void creation_from_the_environment_survives(void **state)
{
    static const char *const variables[] = {
        "TOPK_JIT_CACHE_DIR", "TOPK_JIT_TEMPLATE_DIR", "TOPK_JIT_NVRTC", "TOPK_JIT_RO_DIRS",
        "XDG_CACHE_HOME",     "XDG_RUNTIME_DIR",       "CUDA_HOME",      "HOME"};
    plan_case *it = *state;
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    options.allocator = it->memory.allocator;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        assert_int_equal(setenv(variables[i], "/somewhere", 1), 0);
    assert_true(fail_every_creation(it, &options) > 10);
    unsetenv("TOPK_JIT_CACHE_DIR");
    assert_true(fail_every_creation(it, &options) > 10);
    unsetenv("XDG_CACHE_HOME");
    assert_true(fail_every_creation(it, &options) > 10);
}

#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, plan_case_set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(miss_behind_a_pack_under_a_lock_with_eviction_survives),
        TEST(miss_in_a_shared_cache_survives),
        TEST(miss_that_is_not_stored_survives),
        TEST(hit_of_the_exact_toolchain_survives),
        TEST(hit_in_a_read_only_directory_survives),
        TEST(hit_in_a_pack_survives),
        TEST(offline_hit_in_the_users_directory_survives),
        TEST(offline_hit_in_a_read_only_directory_survives),
        TEST(offline_hit_in_a_pack_survives),
        TEST(offline_miss_survives),
        TEST(failed_compilation_survives),
        TEST(every_operation_on_the_host_survives),
        TEST(unprepared_operation_that_hits_in_a_pack_survives),
        TEST(prepared_operation_and_statistics_allocate_nothing),
        TEST(creation_with_every_option_survives),
        TEST(creation_from_the_environment_survives),
    };
    return cmocka_run_group_tests_name("api_memory_layers", tests, NULL, NULL);
}
