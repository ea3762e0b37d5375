/* SPDX-License-Identifier: Apache-2.0 */
/* A program that is linked with the library: before main it has called nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <topk_jit/topk_jit.h>

#include "load_calls.h"

#define LIBRARY "libtopk_jit.so"
#define BUSY "load_busy"
#define NOTHING "load_nothing"

int load_busy(void);
int load_nothing(void);

static size_t calls_before_main;
static size_t busy_calls_before_main;

static void library_calls_nothing_before_main(void **state)
{
    (void)state;
    assert_int_equal(calls_before_main, 0);
}

static void busy_library_is_noticed(void **state)
{
    (void)state;
    assert_int_equal(load_busy(), 5);
    assert_int_equal(busy_calls_before_main, 7);
}

static void library_has_no_constructor_and_no_destructor_of_its_own(void **state)
{
    (void)state;
    const load_functions own = load_functions_of(LIBRARY);
    const load_functions least = load_functions_of(NOTHING);
    const load_functions busy = load_functions_of(BUSY);
    assert_int_equal(load_nothing(), 0);
    assert_int_equal(own.before, least.before);
    assert_int_equal(own.after, least.after);
    assert_int_equal(busy.before, least.before + 1); /* one more would show */
}

static void first_context_is_what_reads_the_environment(void **state)
{
    (void)state;
    topk_jit_context *context;
    assert_int_equal(load_calls_from(LIBRARY), 0);
    assert_int_equal(topk_jit_context_create(&context, NULL), TOPK_JIT_OK);
    assert_true(load_calls_from(LIBRARY) > 0);
    topk_jit_context_destroy(context);
}

int main(void)
{
    calls_before_main = load_calls_from(LIBRARY) + load_calls_from(LOAD_CALLS_LOADER);
    busy_calls_before_main = load_calls_from(BUSY);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(library_calls_nothing_before_main),
        cmocka_unit_test(busy_library_is_noticed),
        cmocka_unit_test(library_has_no_constructor_and_no_destructor_of_its_own),
        cmocka_unit_test(first_context_is_what_reads_the_environment),
    };
    return cmocka_run_group_tests_name("load_linked", tests, NULL, NULL);
}
