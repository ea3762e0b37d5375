/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_case.h"

#include "memory.h"

/* More than the first tables hold: 16, 32, 64 and 128 slots, half of them used. */
#define MANY 100

typedef struct map_case {
    tkj_test_allocator memory;
    tkj_kernel_map map;
} map_case;

static map_case it;

static int set_up(void **state)
{
    (void)state;
    cuda->reset();
    it = (map_case){0};
    tkj_test_allocator_init(&it.memory, 0);
    return 0;
}

/** Whatever a test leaves in the map is released with it. */
static int tear_down(void **state)
{
    (void)state;
    tkj_kernel_map_release(&it.memory.allocator, &it.map);
    assert_int_equal(atomic_load(&it.memory.live), 0);
    assert_int_equal(cuda->live_libraries(), 0);
    return 0;
}

/** A prepared spec without kernels. */
static tkj_prepared *make(const topk_jit_spec *spec, int ordinal)
{
    tkj_prepared *prepared = tkj_alloc_zeroed(&it.memory.allocator, 1, sizeof *prepared);
    assert_non_null(prepared);
    prepared->spec = *spec;
    prepared->facts.ordinal = ordinal;
    return prepared;
}

static tkj_prepared *enter(const topk_jit_spec *spec, int ordinal)
{
    tkj_prepared *prepared = make(spec, ordinal);
    assert_int_equal(tkj_kernel_map_insert(&it.memory.allocator, &it.map, prepared), TOPK_JIT_OK);
    return prepared;
}

static void empty_map_finds_nothing(void **state)
{
    (void)state;
    const topk_jit_spec spec = plan_case_spec(2048);
    assert_null(tkj_kernel_map_find(&it.map, &spec, 0));
}

static void entered_spec_is_found_for_its_own_device_only(void **state)
{
    (void)state;
    const topk_jit_spec spec = plan_case_spec(2048);
    const tkj_prepared *first = enter(&spec, 0);
    assert_ptr_equal(tkj_kernel_map_find(&it.map, &spec, 0), first);
    assert_null(tkj_kernel_map_find(&it.map, &spec, 1));
    const tkj_prepared *second = enter(&spec, 1);
    assert_ptr_equal(tkj_kernel_map_find(&it.map, &spec, 0), first);
    assert_ptr_equal(tkj_kernel_map_find(&it.map, &spec, 1), second);
}

static void every_field_of_a_spec_tells_it_from_others(void **state)
{
    (void)state;
    const topk_jit_spec base = plan_case_spec(2048);
    topk_jit_spec other[10];
    for (size_t i = 0; i < 10; i++)
        other[i] = base;
    other[0].operation = TOPK_JIT_OPERATION_FAST_TOPK;
    other[1].layout = TOPK_JIT_LAYOUT_RAGGED;
    other[2].topk = 2047;
    other[3].dtype = TOPK_JIT_BFLOAT16;
    other[4].index_dtype = TOPK_JIT_INT64;
    other[5].page_size = 64;
    other[6].tie_break = TOPK_JIT_TIE_BREAK_LARGEST;
    other[7].sorted = 1;
    other[8].nan_last = 1;
    other[9].check = 1;
    const tkj_prepared *prepared = enter(&base, 0);
    for (size_t i = 0; i < 10; i++)
        assert_null(tkj_kernel_map_find(&it.map, &other[i], 0));
    for (size_t i = 0; i < 10; i++)
        enter(&other[i], 0);
    assert_ptr_equal(tkj_kernel_map_find(&it.map, &base, 0), prepared);
}

static void map_grows_and_keeps_what_it_had(void **state)
{
    (void)state;
    const tkj_prepared *entered[MANY];
    for (int64_t i = 0; i < MANY; i++) {
        const topk_jit_spec spec = plan_case_spec(i + 1);
        assert_null(tkj_kernel_map_find(&it.map, &spec, 0));
        entered[i] = enter(&spec, 0);
        for (int64_t j = 0; j <= i; j++) {
            const topk_jit_spec earlier = plan_case_spec(j + 1);
            assert_ptr_equal(tkj_kernel_map_find(&it.map, &earlier, 0), entered[j]);
        }
    }
}

static void many_devices_of_one_spec_are_kept_apart(void **state)
{
    (void)state;
    const topk_jit_spec spec = plan_case_spec(512);
    const tkj_prepared *entered[MANY];
    for (int ordinal = 0; ordinal < MANY; ordinal++)
        entered[ordinal] = enter(&spec, ordinal);
    for (int ordinal = 0; ordinal < MANY; ordinal++)
        assert_ptr_equal(tkj_kernel_map_find(&it.map, &spec, ordinal), entered[ordinal]);
    assert_null(tkj_kernel_map_find(&it.map, &spec, MANY));
}

static void failed_growth_leaves_the_map_and_the_entry_alone(void **state)
{
    (void)state;
    int failures = 0;
    for (int64_t i = 0; i < MANY; i++) {
        const topk_jit_spec spec = plan_case_spec(i + 1);
        tkj_prepared *prepared = make(&spec, 0);
        it.memory.fail_at = atomic_load(&it.memory.asked) + 1;
        topk_jit_status status = tkj_kernel_map_insert(&it.memory.allocator, &it.map, prepared);
        it.memory.fail_at = 0;
        if (status != TOPK_JIT_OK) {
            failures++;
            assert_int_equal(status, TOPK_JIT_OUT_OF_MEMORY);
            assert_null(tkj_kernel_map_find(&it.map, &spec, 0));
            status = tkj_kernel_map_insert(&it.memory.allocator, &it.map, prepared);
        }
        assert_int_equal(status, TOPK_JIT_OK);
        assert_ptr_equal(tkj_kernel_map_find(&it.map, &spec, 0), prepared);
    }
    assert_int_equal(failures, 5); /* tables of 16, 32, 64, 128 and 256 slots */
}

static tkj_prepared *make_loaded(const topk_jit_spec *spec, size_t kernels)
{
    tkj_prepared *prepared = make(spec, SM90);
    void *context = cuda->context_create(SM90);
    CUstream stream = cuda->stream_create(context);
    for (; prepared->count < kernels; prepared->count++)
        assert_int_equal(tkj_driver_load("FAKECUBIN sm_90\n", "any", 0, SM90, stream,
                                         &prepared->kernels[prepared->count]),
                         TOPK_JIT_OK);
    return prepared;
}

static void release_unloads_every_kernel(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 20; i++) {
        const topk_jit_spec spec = plan_case_spec(i + 1);
        assert_int_equal(tkj_kernel_map_insert(&it.memory.allocator, &it.map,
                                               make_loaded(&spec, TKJ_VARIANTS_MAX)),
                         TOPK_JIT_OK);
    }
    assert_int_equal(cuda->live_libraries(), 20 * TKJ_VARIANTS_MAX);
    tkj_kernel_map_release(&it.memory.allocator, &it.map);
    assert_int_equal(cuda->live_libraries(), 0);
    assert_int_equal(atomic_load(&it.memory.live), 0);
}

static void released_map_is_empty_and_serves_again(void **state)
{
    (void)state;
    const topk_jit_spec spec = plan_case_spec(64);
    enter(&spec, 0);
    tkj_kernel_map_release(&it.memory.allocator, &it.map);
    assert_null(tkj_kernel_map_find(&it.map, &spec, 0));
    const tkj_prepared *prepared = enter(&spec, 0);
    assert_ptr_equal(tkj_kernel_map_find(&it.map, &spec, 0), prepared);
}

static void half_built_spec_unloads_what_it_has(void **state)
{
    (void)state;
    const topk_jit_spec spec = plan_case_spec(64);
    tkj_prepared_free(&it.memory.allocator, make_loaded(&spec, 2));
    assert_int_equal(cuda->live_libraries(), 0);
    assert_int_equal(atomic_load(&it.memory.live), 0);
    tkj_prepared_free(&it.memory.allocator, NULL);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    int version;
    if (!plan_case_connect() || tkj_driver_open(&version) != TOPK_JIT_OK)
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(empty_map_finds_nothing),
        TEST(entered_spec_is_found_for_its_own_device_only),
        TEST(every_field_of_a_spec_tells_it_from_others),
        TEST(map_grows_and_keeps_what_it_had),
        TEST(many_devices_of_one_spec_are_kept_apart),
        TEST(failed_growth_leaves_the_map_and_the_entry_alone),
        TEST(release_unloads_every_kernel),
        TEST(released_map_is_empty_and_serves_again),
        TEST(half_built_spec_unloads_what_it_has),
    };
    return cmocka_run_group_tests_name("kernel_map", tests, NULL, NULL);
}
