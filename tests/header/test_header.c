/* SPDX-License-Identifier: Apache-2.0 */
/* The public header is the first include: what it needs, it includes itself. */
#include <topk_jit/topk_jit.h>

#ifdef __cuda_cuda_h__
#error "the public header includes cuda.h"
#endif

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* of header_cxx17.cpp */
extern const size_t header_cxx17_sizes[];
extern const unsigned header_cxx17_count;
extern int header_cxx17_macros_are_defaults(void);

static void structs_have_the_same_size_in_c_and_in_cxx(void **state)
{
    (void)state;
    const size_t sizes[] = {
        sizeof(topk_jit_error), sizeof(topk_jit_allocator),   sizeof(topk_jit_options),
        sizeof(topk_jit_spec),  sizeof(topk_jit_select_args), sizeof(topk_jit_statistics),
    };
    assert_int_equal(header_cxx17_count, sizeof sizes / sizeof sizes[0]);
    assert_memory_equal(header_cxx17_sizes, sizes, sizeof sizes);
}

static void init_macros_give_defaults_in_cxx(void **state)
{
    (void)state;
    assert_true(header_cxx17_macros_are_defaults());
}

static void init_macros_set_the_size_and_leave_the_rest_at_zero(void **state)
{
    (void)state;
    static const topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    static const topk_jit_select_args args = TOPK_JIT_SELECT_ARGS_INIT;
    static const topk_jit_statistics statistics = TOPK_JIT_STATISTICS_INIT;
    static const topk_jit_options no_options = {.struct_size = sizeof options};
    static const topk_jit_select_args no_args = {.struct_size = sizeof args};
    static const topk_jit_statistics no_statistics = {.struct_size = sizeof statistics};
    assert_memory_equal(&options, &no_options, sizeof options);
    assert_memory_equal(&args, &no_args, sizeof args);
    assert_memory_equal(&statistics, &no_statistics, sizeof statistics);
}

static void spec_macro_is_the_documented_default(void **state)
{
    (void)state;
    static const topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    static const topk_jit_spec expected = {.struct_size = sizeof spec,
                                           .operation = TOPK_JIT_OPERATION_SELECT,
                                           .layout = TOPK_JIT_LAYOUT_PLAIN,
                                           .topk = 2048,
                                           .dtype = TOPK_JIT_FLOAT32,
                                           .index_dtype = TOPK_JIT_INT32};
    assert_memory_equal(&spec, &expected, sizeof spec);
}

static void running_library_has_the_version_of_the_header(void **state)
{
    (void)state;
    assert_string_equal(topk_jit_version(), TOPK_JIT_VERSION_STRING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structs_have_the_same_size_in_c_and_in_cxx),
        cmocka_unit_test(init_macros_give_defaults_in_cxx),
        cmocka_unit_test(init_macros_set_the_size_and_leave_the_rest_at_zero),
        cmocka_unit_test(spec_macro_is_the_documented_default),
        cmocka_unit_test(running_library_has_the_version_of_the_header),
    };
    return cmocka_run_group_tests_name("header", tests, NULL, NULL);
}
