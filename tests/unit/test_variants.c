/* SPDX-License-Identifier: Apache-2.0 */
#include "testing.h"

#include <string.h>

#include "spec_sweep.h"
#include "template.h"
#include "variants.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const int architectures[] = {75, 80, 86, 89, 90, 100, 103, 110, 120, 121};

/* What every GPU grants a block that asks for it. */
enum { SHARED_BYTES_OF_EVERY_GPU = 64 * 1024 };

static bool is_template(const char *name)
{
    for (size_t i = 0; i < tkj_embedded_template_count; i++)
        if (strcmp(name, tkj_embedded_templates[i].name) == 0)
            return true;
    return false;
}

static void every_spec_has_one_to_nine_kernels(void **state)
{
    (void)state;
    for (size_t i = 0; i < spec_sweep_count(); i++) {
        topk_jit_spec spec = spec_sweep_at(i);
        tkj_variant variants[TKJ_VARIANTS_MAX];
        assert_in_range(
            tkj_variants_enumerate(&spec, architectures[i % COUNT(architectures)], variants), 1,
            TKJ_VARIANTS_MAX);
    }
}

/* Bytes that a block of the architecture can ask for: programming guide, technical specifications.
 */
static uint32_t shared_limit(int architecture)
{
    if (architecture < 80)
        return 64 * 1024;
    return architecture >= 90 && architecture < 120 ? 227 * 1024 : 99 * 1024;
}

static void assert_launchable(const topk_jit_spec *spec, int architecture)
{
    tkj_variant variants[TKJ_VARIANTS_MAX];
    size_t count = tkj_variants_enumerate(spec, architecture, variants);
    for (size_t v = 0; v < count; v++) {
        assert_true(is_template(variants[v].template_name));
        assert_in_range(variants[v].threads, 32, 1024);
        assert_int_equal(variants[v].threads % 32, 0);
        assert_true(variants[v].items > 0);
        assert_in_range(variants[v].blocks_per_sm, 1, 32);
        assert_in_range(variants[v].shared_bytes, 0, shared_limit(architecture));
        assert_true(variants[v].sort_capacity <= spec->topk);
        for (size_t other = 0; other < v; other++) /* names tell the kernels apart */
            assert_string_not_equal(variants[v].name, variants[other].name);
    }
}

static void every_kernel_can_be_launched(void **state)
{
    (void)state;
    for (size_t i = 0; i < spec_sweep_count(); i++) {
        topk_jit_spec spec = spec_sweep_at(i);
        assert_launchable(&spec, 75); /* grants the least shared memory */
        assert_launchable(&spec, architectures[i % COUNT(architectures)]);
    }
}

static void list_depends_on_spec_and_architecture_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < spec_sweep_count(); i += 5) {
        topk_jit_spec spec = spec_sweep_at(i);
        tkj_variant first[TKJ_VARIANTS_MAX], second[TKJ_VARIANTS_MAX];
        memset(first, 0, sizeof first);
        memset(second, 0, sizeof second);
        size_t count = tkj_variants_enumerate(&spec, 90, first);
        assert_int_equal(tkj_variants_enumerate(&spec, 90, second), count);
        assert_memory_equal(first, second, sizeof first);
    }
}

/* The variant that serves every call on every GPU. */
static tkj_variant general_variant(const topk_jit_spec *spec, int architecture)
{
    tkj_variant variants[TKJ_VARIANTS_MAX];
    size_t count = tkj_variants_enumerate(spec, architecture, variants);
    for (size_t v = 0; v < count; v++)
        if (strcmp(variants[v].name, "general") == 0)
            return variants[v];
    fail_msg("there is no general variant");
    return variants[0];
}

static void general_kernel_runs_on_every_gpu(void **state)
{
    (void)state;
    for (size_t i = 0; i < spec_sweep_count(); i++) {
        topk_jit_spec spec = spec_sweep_at(i);
        tkj_variant general = general_variant(&spec, 75);
        assert_in_range(general.shared_bytes, 1, SHARED_BYTES_OF_EVERY_GPU);
        assert_int_equal(2048 % general.threads, 0); /* each thread owns bins of a digit */
    }
}

static void slots_are_sorted_in_shared_memory_as_long_as_they_fit(void **state)
{
    (void)state;
    static const struct {
        topk_jit_operation operation;
        topk_jit_dtype dtype, index_dtype;
        uint32_t most; /* slots that fit 64 KiB: keys of 4 or 8 bytes, indices of 4 or 8 */
    } cases[] = {
        {TOPK_JIT_OPERATION_SELECT, TOPK_JIT_FLOAT32, TOPK_JIT_INT32, 4504},
        {TOPK_JIT_OPERATION_SELECT, TOPK_JIT_FLOAT16, TOPK_JIT_INT32, 4504},
        {TOPK_JIT_OPERATION_SELECT, TOPK_JIT_BFLOAT16, TOPK_JIT_INT64, 2412},
        {TOPK_JIT_OPERATION_SELECT, TOPK_JIT_FLOAT32, TOPK_JIT_INT64, 2412},
        {TOPK_JIT_OPERATION_FAST_TOPK, TOPK_JIT_INT32, TOPK_JIT_INT64, 2412},
        {TOPK_JIT_OPERATION_FAST_TOPK, TOPK_JIT_FLOAT64, TOPK_JIT_INT64, 2412},
        {TOPK_JIT_OPERATION_FAST_TOPK, TOPK_JIT_INT64, TOPK_JIT_INT64, 2412},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
        spec.operation = cases[i].operation;
        spec.sorted = spec.operation == TOPK_JIT_OPERATION_SELECT;
        spec.dtype = cases[i].dtype;
        spec.index_dtype = cases[i].index_dtype;
        spec.topk = cases[i].most;
        assert_int_equal(general_variant(&spec, 90).sort_capacity, cases[i].most);
        assert_true(general_variant(&spec, 90).shared_bytes <= SHARED_BYTES_OF_EVERY_GPU);
        spec.topk = cases[i].most - 1;
        assert_int_equal(general_variant(&spec, 90).sort_capacity, cases[i].most - 1);
        spec.topk = (int64_t)cases[i].most + 1;
        assert_int_equal(general_variant(&spec, 90).sort_capacity, 0);
        spec.topk = (INT64_C(1) << 32) + 1; /* not 1 in 32 bits */
        assert_int_equal(general_variant(&spec, 90).sort_capacity, 0);
    }
}

static void unsorted_slots_need_no_sort(void **state)
{
    (void)state;
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    assert_int_equal(general_variant(&spec, 90).sort_capacity, 0);
    uint32_t unsorted = general_variant(&spec, 90).shared_bytes;
    spec.topk = 1;
    spec.sorted = 1;
    assert_int_equal(general_variant(&spec, 90).sort_capacity, 1);
    assert_int_equal(general_variant(&spec, 90).shared_bytes, unsorted);
}

/* Shared memory of an SM: programming guide, technical specifications. */
static uint32_t shared_of_sm(int architecture)
{
    if (architecture == 80)
        return 164 * 1024;
    return shared_limit(architecture) + (architecture < 80 ? 0 : 1024);
}

static bool is_staged(const topk_jit_spec *spec, int architecture, const tkj_variant *variant)
{
    if (variant->staged_pages == 0)
        return false;
    assert_string_equal(variant->template_name, "select_registers.cu");
    assert_true(spec->page_size >= 16);
    assert_int_equal(variant->staged_pages % variant->threads, 0);
    assert_true(variant->staged_pages * spec->page_size >= variant->capacity);
    assert_true(variant->blocks_per_sm * (variant->shared_bytes + 1024) <=
                shared_of_sm(architecture));
    return true;
}

static void page_tables_are_staged_where_blocks_keep_their_room(void **state)
{
    (void)state;
    size_t staged = 0, in_registers = 0;
    for (size_t i = 0; i < spec_sweep_count(); i++) {
        topk_jit_spec spec = spec_sweep_at(i);
        int architecture = architectures[i % COUNT(architectures)];
        tkj_variant variants[TKJ_VARIANTS_MAX];
        if (spec.operation != TOPK_JIT_OPERATION_SELECT)
            continue;
        spec.layout = TOPK_JIT_LAYOUT_PAGED;
        spec.page_size = INT64_C(1) << i % 31;
        size_t count = tkj_variants_enumerate(&spec, architecture, variants);
        for (size_t v = 0; v < count; v++) {
            staged += is_staged(&spec, architecture, &variants[v]);
            in_registers += strcmp(variants[v].template_name, "select_registers.cu") == 0;
        }
    }
    assert_true(staged > in_registers / 2);
}

static void no_other_layout_stages_a_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < spec_sweep_count(); i++) {
        topk_jit_spec spec = spec_sweep_at(i);
        tkj_variant variants[TKJ_VARIANTS_MAX];
        size_t count = tkj_variants_enumerate(&spec, 90, variants);
        for (size_t v = 0; v < count && spec.layout != TOPK_JIT_LAYOUT_PAGED; v++)
            assert_int_equal(variants[v].staged_pages, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spec_has_one_to_nine_kernels),
        cmocka_unit_test(every_kernel_can_be_launched),
        cmocka_unit_test(list_depends_on_spec_and_architecture_alone),
        cmocka_unit_test(general_kernel_runs_on_every_gpu),
        cmocka_unit_test(slots_are_sorted_in_shared_memory_as_long_as_they_fit),
        cmocka_unit_test(unsorted_slots_need_no_sort),
        cmocka_unit_test(page_tables_are_staged_where_blocks_keep_their_room),
        cmocka_unit_test(no_other_layout_stages_a_table),
    };
    return cmocka_run_group_tests_name("variants", tests, NULL, NULL);
}
