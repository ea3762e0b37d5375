/* SPDX-License-Identifier: Apache-2.0 */
/* The covering array combines its specs with the variants as it says. */
#include "testing.h"

#include <string.h>

#include "covering.h"
#include "spec.h"
#include "target.h"

/* Instead of the library's variants: so many for each spec, or fewer for some; 0 = the library's.
 */
static size_t invented_variants;
static bool invented_uneven;

size_t __real_tkj_variants_enumerate(const topk_jit_spec *spec, int architecture,
                                     tkj_variant out[TKJ_VARIANTS_MAX]);
size_t __wrap_tkj_variants_enumerate(const topk_jit_spec *spec, int architecture,
                                     tkj_variant out[TKJ_VARIANTS_MAX]);

size_t __wrap_tkj_variants_enumerate(const topk_jit_spec *spec, int architecture,
                                     tkj_variant out[TKJ_VARIANTS_MAX])
{
    static const char *const names[TKJ_VARIANTS_MAX] = {"a", "b", "c", "d", "e",
                                                        "f", "g", "h", "i"};
    static const char *const templates[] = {"select.cu", "fast_topk.cu"};
    size_t count = invented_variants;
    if (count == 0)
        return __real_tkj_variants_enumerate(spec, architecture, out);
    if (invented_uneven && (spec->topk == 7000 || spec->dtype != TOPK_JIT_FLOAT32))
        count = (count + 1) / 2;
    for (size_t i = 0; i < count; i++)
        out[i] = (tkj_variant){.name = names[i], .template_name = templates[spec->operation]};
    return count;
}

static tkj_covering_pair set[TKJ_COVERING_MAX];
static size_t set_count;

static topk_jit_spec spec_at(size_t i)
{
    topk_jit_spec spec;
    if (tkj_spec_parse(tkj_covering_specs[i], &spec) != TOPK_JIT_OK)
        fail_msg("%s: %s", tkj_covering_specs[i], topk_jit_last_error()->message);
    return spec;
}

#define FACTORS 8

static bool share_value(const topk_jit_spec *a, const topk_jit_spec *b, int factor)
{
    const bool shared[FACTORS] = {
        a->layout == b->layout,
        a->page_size == b->page_size,
        a->topk == b->topk,
        a->dtype == b->dtype,
        a->index_dtype == b->index_dtype,
        a->sorted == b->sorted && a->tie_break == b->tie_break &&
            a->deterministic == b->deterministic,
        a->nan_last == b->nan_last,
        a->check == b->check,
    };
    return shared[factor];
}

/** True if the set has the variant with the spec's value of a factor. */
static bool meets(const tkj_variant *variant, const topk_jit_spec *spec, int factor)
{
    for (size_t i = 0; i < set_count; i++)
        if (tkj_covering_same_variant(&set[i].variant, variant) &&
            share_value(&set[i].spec, spec, factor))
            return true;
    return false;
}

static void assert_each_variant_meets_each_value(int architecture)
{
    set_count = tkj_covering_set(architecture, set);
    for (size_t i = 0; i < tkj_covering_spec_count; i++) {
        tkj_variant variants[TKJ_VARIANTS_MAX];
        const topk_jit_spec spec = spec_at(i);
        size_t count = tkj_variants_enumerate(&spec, architecture, variants);
        for (size_t v = 0; v < count; v++)
            for (int f = 0; f < FACTORS; f++)
                assert_true(meets(&variants[v], &spec, f));
    }
}

static void each_variant_meets_each_value_that_it_is_made_for(void **state)
{
    (void)state;
    for (size_t a = 0; a < tkj_architecture_count; a++)
        assert_each_variant_meets_each_value(tkj_architectures[a].number);
}

/** The array has room for all the variants that there may be, for few specs or for all. */
static void eight_variants_a_spec_meet_each_value_too(void **state)
{
    (void)state;
    for (invented_variants = 1; invented_variants <= TKJ_VARIANTS_MAX; invented_variants++) {
        invented_uneven = false;
        assert_each_variant_meets_each_value(90);
        invented_uneven = true;
        assert_each_variant_meets_each_value(90);
    }
    invented_variants = 0;
}

static size_t times_in_set(const tkj_covering_pair *pair)
{
    size_t times = 0;
    for (size_t i = 0; i < set_count; i++)
        times += memcmp(&set[i].spec, &pair->spec, sizeof pair->spec) == 0 &&
                 (pair->variant.name == NULL ||
                  tkj_covering_same_variant(&set[i].variant, &pair->variant));
    return times;
}

static void set_has_each_spec_and_no_pair_twice(void **state)
{
    (void)state;
    set_count = tkj_covering_set(90, set);
    assert_in_range(set_count, tkj_covering_spec_count, TKJ_COVERING_MAX);
    for (size_t i = 0; i < set_count; i++)
        assert_int_equal(times_in_set(&set[i]), 1);
    for (size_t i = 0; i < tkj_covering_spec_count; i++) {
        const tkj_covering_pair any = {.spec = spec_at(i)};
        assert_true(times_in_set(&any) >= 1);
    }
}

static void largest_topk_is_not_sorted_in_shared_memory_and_the_others_are(void **state)
{
    (void)state;
    set_count = tkj_covering_set(90, set);
    for (size_t i = 0; i < set_count; i++)
        if (tkj_spec_of_rows(&set[i].spec).sorted && !set[i].variant.whole)
            assert_int_equal(set[i].variant.sort_capacity > 0, set[i].spec.topk != 7000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_variant_meets_each_value_that_it_is_made_for),
        cmocka_unit_test(eight_variants_a_spec_meet_each_value_too),
        cmocka_unit_test(set_has_each_spec_and_no_pair_twice),
        cmocka_unit_test(largest_topk_is_not_sorted_in_shared_memory_and_the_others_are),
    };
    return cmocka_run_group_tests_name("covering_variants", tests, NULL, NULL);
}
