/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_case.h"

#include <stdio.h>
#include <string.h>

#include "variant_text.h"

static char text[16384];

static topk_jit_status explain(plan_case *it, const topk_jit_spec *spec, const char *target,
                               CUstream stream)
{
    size_t length = 0;
    memset(text, 'x', sizeof text);
    topk_jit_status status =
        topk_jit_explain(it->context, spec, target, stream, text, sizeof text, &length);
    if (status == TOPK_JIT_OK)
        assert_int_equal(strlen(text), length);
    return status;
}

static size_t count_of(const char *part)
{
    size_t count = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
        count++;
    return count;
}

static void every_kernel_has_its_purpose_its_key_and_its_place(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    const size_t kernels = plan_case_kernels(&spec, SM90);
    assert_int_equal(explain(it, &spec, NULL, streams[SM90]), TOPK_JIT_OK);
    assert_int_equal(count_of("\n  kernel topk_jit_"), kernels);
    assert_int_equal(count_of("\n    key "), kernels);
    assert_int_equal(count_of("not in the cache; searched: "), kernels);
    assert_int_equal(count_of(it->root), kernels);
    assert_non_null(strstr(text, "spec operation=select,layout=plain,topk=2048,"));
    assert_non_null(strstr(text, "target sm_90, CUDA device 1, driver for CUDA 13, not prepared"));
    assert_non_null(strstr(text, "rows of up to 8192 scores, one block each"));
    assert_non_null(strstr(text, "any call that no other kernel takes"));
}

static void prepared_kernels_are_where_the_cache_has_them(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    const size_t kernels = plan_case_kernels(&spec, SM90);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    assert_int_equal(explain(it, &spec, NULL, streams[SM90]), TOPK_JIT_OK);
    assert_non_null(strstr(text, ", prepared\n"));
    assert_int_equal(count_of("    sm_90, "), kernels);
    assert_int_equal(count_of(" registers, "), kernels);
    assert_int_equal(count_of("not in the cache"), 0);
}

static void target_by_name_needs_no_driver(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    const int calls = cuda->total_calls();
    assert_int_equal(plan_case_warm(it, &spec, 100, "sm_100"), TOPK_JIT_OK);
    assert_int_equal(explain(it, &spec, "sm_100", NULL), TOPK_JIT_OK);
    assert_non_null(strstr(text, "target sm_100\n"));
    assert_int_equal(count_of("not in the cache"), 0);
    assert_int_equal(cuda->total_calls(), calls);
}

static void explaining_changes_and_counts_nothing(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    const topk_jit_statistics before = plan_case_statistics(it);
    const size_t files = tkj_test_file_count(it->directory);
    const topk_jit_error error = *topk_jit_last_error();
    assert_int_equal(explain(it, &spec, NULL, streams[SM80]), TOPK_JIT_OK);
    assert_int_equal(explain(it, &spec, NULL, streams[SM90]), TOPK_JIT_OK);
    const topk_jit_statistics after = plan_case_statistics(it);
    assert_memory_equal(&after, &before, sizeof before);
    assert_memory_equal(topk_jit_last_error(), &error, sizeof error);
    assert_int_equal(tkj_test_file_count(it->directory), files);
    assert_null(plan_case_find(it, &spec, SM80));
}

static void short_buffer_gets_the_beginning_and_the_whole_length(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    char small[32];
    size_t length = 0, none = 0;
    assert_int_equal(explain(it, &spec, "sm_90", NULL), TOPK_JIT_OK);
    assert_int_equal(
        topk_jit_explain(it->context, &spec, "sm_90", NULL, small, sizeof small, &length),
        TOPK_JIT_OK);
    assert_int_equal(length, strlen(text));
    assert_int_equal(strlen(small), sizeof small - 1);
    assert_memory_equal(small, text, sizeof small - 1);
    assert_int_equal(topk_jit_explain(it->context, &spec, "sm_90", NULL, NULL, 0, &none),
                     TOPK_JIT_OK);
    assert_int_equal(none, length);
    assert_int_equal(topk_jit_explain(it->context, &spec, "sm_90", NULL, NULL, 0, NULL),
                     TOPK_JIT_OK);
}

static void wrong_arguments_are_named(void **state)
{
    plan_case *it = *state;
    topk_jit_spec spec = plan_case_spec(2048);
    assert_int_equal(explain(it, &spec, "sm_91x", NULL), TOPK_JIT_INVALID_ARGUMENT);
    plan_case_assert_message("target is \"sm_91x\"");
    assert_int_equal(explain(it, NULL, "sm_90", NULL), TOPK_JIT_INVALID_ARGUMENT);
    plan_case_assert_message("spec is NULL");
    assert_int_equal(topk_jit_explain(it->context, &spec, "sm_90", NULL, NULL, 1, NULL),
                     TOPK_JIT_INVALID_ARGUMENT);
    plan_case_assert_message("text is NULL");
    spec.topk = -1;
    assert_int_equal(explain(it, &spec, "sm_90", NULL), TOPK_JIT_INVALID_ARGUMENT);
    plan_case_assert_message("topk");
    assert_int_equal(topk_jit_explain(NULL, &spec, "sm_90", NULL, NULL, 0, NULL),
                     TOPK_JIT_INVALID_ARGUMENT);
}

/* ---- the log says the same while it happens ---- */

static void each_kernel_and_each_spec_has_a_line_in_the_log(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(2048);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    plan_case_assert_logged(it, TOPK_JIT_LOG_DEBUG,
                            "(rows of up to 8192 scores, one block each): "
                            "from the compiler, loaded in ");
    plan_case_assert_logged(it, TOPK_JIT_LOG_INFO, "prepared operation=select,layout=plain,");
    plan_case_reopen(it, FAKE_NVRTC_PATH);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    char from[512];
    snprintf(from, sizeof from, "from %s, loaded in ", it->root);
    plan_case_assert_logged(it, TOPK_JIT_LOG_DEBUG, from);
}

/** Whatever a spec is, no two of its kernels are for the same. */
static void no_two_kernels_of_a_spec_have_the_same_purpose(void **state)
{
    (void)state;
    static const int architectures[] = {75, 80, 90};
    for (int variant = 0; variant < 12; variant++) {
        topk_jit_spec spec = plan_case_spec(variant % 2 == 0 ? 100 : 2048);
        spec.sorted = variant / 2 % 2 == 1;
        if (variant >= 8) {
            spec.operation = TOPK_JIT_OPERATION_FAST_TOPK;
            spec.index_dtype = TOPK_JIT_INT64;
            spec.sorted = 0;
            spec.topk = variant == 8 ? 1 : spec.topk;
        }
        spec = tkj_spec_canonical(&spec);
        tkj_variant all[TKJ_VARIANTS_MAX];
        char texts[TKJ_VARIANTS_MAX][TKJ_VARIANT_TEXT_SIZE];
        size_t count = tkj_variants_enumerate(&spec, architectures[variant % 3], all);
        for (size_t v = 0; v < count; v++) {
            tkj_variant_text(&all[v], texts[v]);
            assert_true(strlen(texts[v]) > 10);
            for (size_t w = 0; w < v; w++)
                if (!all[v].clusters || !all[w].clusters) /* they differ in their share of a row */
                    assert_string_not_equal(texts[v], texts[w]);
        }
    }
}

#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, plan_case_set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(every_kernel_has_its_purpose_its_key_and_its_place),
        TEST(prepared_kernels_are_where_the_cache_has_them),
        TEST(target_by_name_needs_no_driver),
        TEST(explaining_changes_and_counts_nothing),
        TEST(short_buffer_gets_the_beginning_and_the_whole_length),
        TEST(wrong_arguments_are_named),
        TEST(each_kernel_and_each_spec_has_a_line_in_the_log),
        cmocka_unit_test(no_two_kernels_of_a_spec_have_the_same_purpose),
    };
    return cmocka_run_group_tests_name("plan_explain", tests, NULL, NULL);
}
