/* SPDX-License-Identifier: Apache-2.0 */
/* Which specs are valid. */
#include "testing.h"

#include "spec.h"
#include "spec_sweep.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Fields that differ from a plain selection of 2048. */
typedef struct change {
    int64_t topk, page_size;
    const char *message;
    int operation, layout, dtype, index_dtype, tie_break;
    int option; /* 1 sorted, 2 deterministic, 3 nan_last, 4 check */
} change;

static topk_jit_spec spec_of(const change *c)
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.operation = (topk_jit_operation)c->operation;
    spec.layout = (topk_jit_layout)c->layout;
    spec.topk = c->topk;
    spec.dtype = (topk_jit_dtype)c->dtype;
    spec.index_dtype = (topk_jit_dtype)c->index_dtype;
    spec.page_size = c->page_size;
    spec.tie_break = (topk_jit_tie_break)c->tie_break;
    spec.sorted = c->option == 1;
    spec.deterministic = c->option == 2;
    spec.nan_last = c->option == 3;
    spec.check = c->option == 4;
    return spec;
}

static void expect_invalid(const change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        topk_jit_spec spec = spec_of(&changes[i]);
        if (tkj_spec_validate(&spec) != TOPK_JIT_INVALID_ARGUMENT)
            fail_msg("valid, expected: %s", changes[i].message);
        assert_string_equal(topk_jit_last_error()->message, changes[i].message);
    }
}

static void every_spec_of_the_sweep_is_valid(void **state)
{
    (void)state;
    for (size_t i = 0; i < spec_sweep_count(); i++) {
        topk_jit_spec spec = spec_sweep_at(i);
        if (tkj_spec_validate(&spec) != TOPK_JIT_OK)
            fail_msg("spec %zu: %s", i, topk_jit_last_error()->message);
    }
}

static void numbers_that_are_no_enumerators_are_refused(void **state)
{
    (void)state;
    static const change changes[] = {
        {.operation = 2, .topk = 1, .message = "operation is 2, expected a topk_jit_operation"},
        {.layout = 3, .topk = 1, .message = "layout is 3, expected a topk_jit_layout"},
        {.dtype = 6, .topk = 1, .message = "dtype is 6, expected a topk_jit_dtype"},
        {.index_dtype = 9, .topk = 1, .message = "index_dtype is 9, expected a topk_jit_dtype"},
        {.index_dtype = TOPK_JIT_INT32,
         .tie_break = 3,
         .topk = 1,
         .message = "tie_break is 3, expected a topk_jit_tie_break"},
    };
    expect_invalid(changes, COUNT(changes));
}

static void selections_that_do_not_exist_are_refused(void **state)
{
    (void)state;
    static const change changes[] = {
        {.index_dtype = TOPK_JIT_INT32, .topk = 0, .message = "topk is 0, expected at least 1"},
        {.index_dtype = TOPK_JIT_INT32,
         .topk = INT64_MIN,
         .message = "topk is -9223372036854775808, expected at least 1"},
        {.dtype = TOPK_JIT_FLOAT64,
         .index_dtype = TOPK_JIT_INT32,
         .topk = 1,
         .message = "dtype is float64, expected float32, float16 or bfloat16 for operation select"},
        {.dtype = TOPK_JIT_INT32,
         .index_dtype = TOPK_JIT_INT32,
         .topk = 1,
         .message = "dtype is int32, expected float32, float16 or bfloat16 for operation select"},
        {.index_dtype = TOPK_JIT_FLOAT32,
         .topk = 1,
         .message = "index_dtype is float32, expected int32 or int64"},
        {.index_dtype = TOPK_JIT_INT32,
         .topk = 1,
         .page_size = 64,
         .message = "page_size is 64, expected 0 unless the layout is paged"},
        {.layout = TOPK_JIT_LAYOUT_RAGGED,
         .index_dtype = TOPK_JIT_INT32,
         .topk = 1,
         .page_size = -1,
         .message = "page_size is -1, expected 0 unless the layout is paged"},
        {.layout = TOPK_JIT_LAYOUT_PAGED,
         .index_dtype = TOPK_JIT_INT32,
         .topk = 1,
         .message = "page_size is 0, expected a power of two from 1 to 2^30"},
        {.layout = TOPK_JIT_LAYOUT_PAGED,
         .index_dtype = TOPK_JIT_INT32,
         .topk = 1,
         .page_size = 48,
         .message = "page_size is 48, expected a power of two from 1 to 2^30"},
        {.layout = TOPK_JIT_LAYOUT_PAGED,
         .index_dtype = TOPK_JIT_INT32,
         .topk = 1,
         .page_size = INT64_C(1) << 31,
         .message = "page_size is 2147483648, expected a power of two from 1 to 2^30"},
    };
    expect_invalid(changes, COUNT(changes));
}

static void fast_topk_has_no_layout_and_no_options(void **state)
{
    (void)state;
    static const char option_set[] = "spec: an option is set, expected none for operation "
                                     "fast_topk, which is always sorted and deterministic";
    static const change changes[] = {
        {.operation = 1,
         .layout = TOPK_JIT_LAYOUT_RAGGED,
         .index_dtype = TOPK_JIT_INT64,
         .topk = 1,
         .message = "layout is ragged, expected plain for operation fast_topk"},
        {.operation = 1,
         .index_dtype = TOPK_JIT_INT32,
         .topk = 1,
         .message = "index_dtype is int32, expected int64 for operation fast_topk"},
        {.operation = 1,
         .index_dtype = TOPK_JIT_INT64,
         .topk = 1,
         .page_size = 1,
         .message = "page_size is 1, expected 0 for operation fast_topk"},
        {.operation = 1,
         .index_dtype = TOPK_JIT_INT64,
         .topk = 0,
         .message = "topk is 0, expected at least 1"},
        {.operation = 1,
         .index_dtype = TOPK_JIT_INT64,
         .topk = 1,
         .tie_break = 1,
         .message = option_set},
        {.operation = 1,
         .index_dtype = TOPK_JIT_INT64,
         .topk = 1,
         .option = 1,
         .message = option_set},
        {.operation = 1,
         .index_dtype = TOPK_JIT_INT64,
         .topk = 1,
         .option = 2,
         .message = option_set},
        {.operation = 1,
         .index_dtype = TOPK_JIT_INT64,
         .topk = 1,
         .option = 3,
         .message = option_set},
        {.operation = 1,
         .index_dtype = TOPK_JIT_INT64,
         .topk = 1,
         .option = 4,
         .message = option_set},
    };
    expect_invalid(changes, COUNT(changes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spec_of_the_sweep_is_valid),
        cmocka_unit_test(numbers_that_are_no_enumerators_are_refused),
        cmocka_unit_test(selections_that_do_not_exist_are_refused),
        cmocka_unit_test(fast_topk_has_no_layout_and_no_options),
    };
    return cmocka_run_group_tests_name("spec_validity", tests, NULL, NULL);
}
