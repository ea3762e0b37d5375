/* SPDX-License-Identifier: Apache-2.0 */
#include "testing.h"

#include <stdint.h>
#include <string.h>

#include "memory.h"

static void array_is_allocated_and_released_through_the_allocator(void **state)
{
    (void)state;
    tkj_test_allocator test;
    tkj_test_allocator_init(&test, 0);
    uint32_t *array = tkj_alloc(&test.allocator, 5, sizeof *array);
    assert_non_null(array);
    assert_int_equal(atomic_load(&test.live), 1);
    tkj_free(&test.allocator, array);
    assert_int_equal(atomic_load(&test.live), 0);
}

static void empty_array_still_has_an_address(void **state)
{
    (void)state;
    tkj_test_allocator test;
    tkj_test_allocator_init(&test, 0);
    void *memory = tkj_alloc(&test.allocator, 0, 8);
    assert_non_null(memory);
    tkj_free(&test.allocator, memory);
}

static void size_that_overflows_is_out_of_memory_without_asking(void **state)
{
    (void)state;
    tkj_test_allocator test;
    tkj_test_allocator_init(&test, 0);
    assert_null(tkj_alloc(&test.allocator, SIZE_MAX / 2, 3));
    assert_null(tkj_alloc_zeroed(&test.allocator, SIZE_MAX, SIZE_MAX));
    assert_int_equal(atomic_load(&test.asked), 0);
    assert_int_equal(topk_jit_last_error()->status, TOPK_JIT_OUT_OF_MEMORY);
}

static void zeroed_memory_is_zero(void **state)
{
    (void)state;
    tkj_test_allocator test;
    tkj_test_allocator_init(&test, 0);
    const uint8_t zeros[24] = {0};
    void *memory = tkj_alloc_zeroed(&test.allocator, 3, 8);
    assert_non_null(memory);
    assert_memory_equal(memory, zeros, sizeof zeros);
    tkj_free(&test.allocator, memory);
}

static void releasing_null_is_ignored(void **state)
{
    (void)state;
    tkj_test_allocator test; /* its release asserts that the memory is not NULL */
    tkj_test_allocator_init(&test, 0);
    tkj_free(&test.allocator, NULL);
    assert_int_equal(atomic_load(&test.live), 0);
}

static void strings_are_copied_and_formatted(void **state)
{
    (void)state;
    tkj_test_allocator test;
    tkj_test_allocator_init(&test, 0);
    char *copy = tkj_strdup(&test.allocator, "scores");
    char *empty = tkj_strdup(&test.allocator, "");
    char *formatted = tkj_format(&test.allocator, "%s/%d", copy, 2048);
    assert_string_equal(copy, "scores");
    assert_string_equal(empty, "");
    assert_string_equal(formatted, "scores/2048");
    tkj_free(&test.allocator, copy);
    tkj_free(&test.allocator, empty);
    tkj_free(&test.allocator, formatted);
    assert_int_equal(atomic_load(&test.live), 0);
}

static void failing_allocator_is_out_of_memory_everywhere(void **state)
{
    (void)state;
    tkj_test_allocator test;
    tkj_test_allocator_init(&test, 1);
    assert_null(tkj_alloc(&test.allocator, 1, 1));
    assert_int_equal(topk_jit_last_error()->status, TOPK_JIT_OUT_OF_MEMORY);
    tkj_test_allocator_init(&test, 1);
    assert_null(tkj_alloc_zeroed(&test.allocator, 1, 1));
    tkj_test_allocator_init(&test, 1);
    assert_null(tkj_strdup(&test.allocator, "text"));
    tkj_test_allocator_init(&test, 1);
    assert_null(tkj_format(&test.allocator, "%d", 1));
    assert_int_equal(atomic_load(&test.live), 0);
}

static void default_allocator_aligns_as_malloc_does(void **state)
{
    (void)state;
    void *memory = tkj_alloc(&tkj_default_allocator, 1, 100);
    assert_non_null(memory);
    assert_int_equal((uintptr_t)memory % _Alignof(max_align_t), 0);
    memset(memory, 1, 100);
    tkj_free(&tkj_default_allocator, memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(array_is_allocated_and_released_through_the_allocator),
        cmocka_unit_test(empty_array_still_has_an_address),
        cmocka_unit_test(size_that_overflows_is_out_of_memory_without_asking),
        cmocka_unit_test(zeroed_memory_is_zero),
        cmocka_unit_test(releasing_null_is_ignored),
        cmocka_unit_test(strings_are_copied_and_formatted),
        cmocka_unit_test(failing_allocator_is_out_of_memory_everywhere),
        cmocka_unit_test(default_allocator_aligns_as_malloc_does),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
