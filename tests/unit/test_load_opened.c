/* SPDX-License-Identifier: Apache-2.0 */
/* A program that opens the library at run time, as Python does: that calls nothing, nor does
 * closing it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <topk_jit/topk_jit.h>

#include "load_calls.h"

#define LIBRARY "libtopk_jit.so"

/* Opens a library twice, as two modules of a program do. */
static void *open_twice(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    assert_ptr_equal(dlopen(path, RTLD_NOW | RTLD_LOCAL), library);
    assert_int_equal(dlclose(library), 0);
    return library;
}

static void opening_the_library_calls_nothing(void **state)
{
    (void)state;
    void *library = open_twice(LIBRARY_PATH);
    assert_int_equal(load_calls_from(LIBRARY) + load_calls_from(LOAD_CALLS_LOADER), 0);
    assert_int_equal(dlclose(library), 0);
    assert_null(dlopen(LIBRARY_PATH, RTLD_NOW | RTLD_NOLOAD)); /* it is gone */
    library = open_twice(LIBRARY_PATH);
    assert_int_equal(load_calls_from(LIBRARY) + load_calls_from(LOAD_CALLS_LOADER), 0);
    assert_int_equal(dlclose(library), 0);
}

static void opening_a_busy_library_is_noticed(void **state)
{
    (void)state;
    void *library = open_twice(BUSY_PATH);
    assert_int_equal(load_calls_from("load_busy"), 7);
    assert_int_equal(dlclose(library), 0);
}

static void version_and_status_names_call_nothing_either(void **state)
{
    (void)state;
    void *library = open_twice(LIBRARY_PATH);
    const char *(*version)(void);
    const char *(*name)(topk_jit_status status);
    *(void **)&version = dlsym(library, "topk_jit_version");
    *(void **)&name = dlsym(library, "topk_jit_status_name");
    assert_string_equal(version(), TOPK_JIT_VERSION_STRING);
    assert_string_equal(name(TOPK_JIT_OK), "OK");
    assert_int_equal(load_calls_from(LIBRARY) + load_calls_from(LOAD_CALLS_LOADER), 0);
    assert_int_equal(dlclose(library), 0);
}

static void contexts_calls_are_noticed(void **state)
{
    (void)state;
    void *library = open_twice(LIBRARY_PATH);
    topk_jit_status (*create)(topk_jit_context * *out, const topk_jit_options *options);
    void (*destroy)(topk_jit_context * context);
    topk_jit_context *context;
    *(void **)&create = dlsym(library, "topk_jit_context_create");
    *(void **)&destroy = dlsym(library, "topk_jit_context_destroy");
    assert_int_equal(create(&context, NULL), TOPK_JIT_OK);
    assert_true(load_calls_from(LIBRARY) > 0);
    destroy(context);
    assert_int_equal(dlclose(library), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening_the_library_calls_nothing),
        cmocka_unit_test(opening_a_busy_library_is_noticed),
        cmocka_unit_test(version_and_status_names_call_nothing_either),
        cmocka_unit_test(contexts_calls_are_noticed),
    };
    return cmocka_run_group_tests_name("load_opened", tests, NULL, NULL);
}
