/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "status.h"

static void failure_is_recorded_with_domain_and_native_code(void **state)
{
    (void)state;
    topk_jit_status status = tkj_fail_native(TOPK_JIT_LAUNCH_FAILED, 719, "launch of %s", "kernel");
    const topk_jit_error *error = topk_jit_last_error();
    assert_int_equal(status, TOPK_JIT_LAUNCH_FAILED);
    assert_int_equal(error->status, TOPK_JIT_LAUNCH_FAILED);
    assert_int_equal(error->domain, TOPK_JIT_DOMAIN_DRIVER);
    assert_int_equal(error->native_code, 719);
    assert_string_equal(error->message, "launch of kernel");
}

static void later_failure_replaces_the_earlier_one(void **state)
{
    (void)state;
    tkj_fail_native(TOPK_JIT_OS_FAILED, 28, "first");
    tkj_fail(TOPK_JIT_INVALID_ARGUMENT, "second");
    assert_int_equal(topk_jit_last_error()->native_code, 0);
    assert_int_equal(topk_jit_last_error()->domain, TOPK_JIT_DOMAIN_CALLER);
    assert_string_equal(topk_jit_last_error()->message, "second");
}

static void long_message_is_cut_and_terminated(void **state)
{
    (void)state;
    char text[4096];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    tkj_fail(TOPK_JIT_INVALID_ARGUMENT, "%s", text);
    assert_int_equal(strlen(topk_jit_last_error()->message),
                     sizeof topk_jit_last_error()->message - 1);
}

/* A path holds anything but NUL: the message stays one line, and steers no terminal. */
static void bytes_that_are_no_text_do_not_reach_the_message(void **state)
{
    (void)state;
    for (int character = 1; character < 256; character++) {
        const char path[] = {'/', (char)character, 'x', '\0'};
        char shown[sizeof "/\\xNNx"];
        const int printable = character >= ' ' && character <= '~';
        snprintf(shown, sizeof shown, printable ? "/%cx" : "/\\x%02xx", character);
        tkj_fail(TOPK_JIT_INVALID_ARGUMENT, "%s", path);
        assert_string_equal(topk_jit_last_error()->message, shown);
        tkj_fail_native(TOPK_JIT_OS_FAILED, 2, "%s", path);
        assert_string_equal(topk_jit_last_error()->message, shown);
    }
}

static void *read_own_error(void *argument)
{
    (void)argument;
    return (void *)(intptr_t)topk_jit_last_error()->status;
}

static void error_belongs_to_its_thread(void **state)
{
    (void)state;
    tkj_fail(TOPK_JIT_INVALID_ARGUMENT, "mine");
    pthread_t thread;
    void *seen = NULL;
    assert_int_equal(pthread_create(&thread, NULL, read_own_error, NULL), 0);
    assert_int_equal(pthread_join(thread, &seen), 0);
    assert_int_equal((intptr_t)seen, TOPK_JIT_OK);
}

static void restored_error_is_the_last_one_again(void **state)
{
    (void)state;
    tkj_fail(TOPK_JIT_INVALID_ARGUMENT, "first");
    const topk_jit_error earlier = *topk_jit_last_error();
    tkj_fail_native(TOPK_JIT_OS_FAILED, 28, "second");
    tkj_error_restore(&earlier);
    assert_int_equal(topk_jit_last_error()->status, TOPK_JIT_INVALID_ARGUMENT);
    assert_int_equal(topk_jit_last_error()->native_code, 0);
    assert_string_equal(topk_jit_last_error()->message, "first");
}

static void every_status_has_its_name_and_domain(void **state)
{
    (void)state;
    assert_string_equal(topk_jit_status_name(TOPK_JIT_OK), "OK");
    assert_string_equal(topk_jit_status_name(TOPK_JIT_OS_FAILED), "OS_FAILED");
    assert_string_equal(topk_jit_status_name((topk_jit_status)999), "UNKNOWN");
#define CHECK_DOMAIN(number, name, meaning)                                                        \
    tkj_fail(TOPK_JIT_##name, "x");                                                                \
    assert_in_range(topk_jit_last_error()->domain, TOPK_JIT_DOMAIN_CALLER, TOPK_JIT_DOMAIN_SYSTEM);
    TOPK_JIT_STATUS_MAP(CHECK_DOMAIN)
#undef CHECK_DOMAIN
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failure_is_recorded_with_domain_and_native_code),
        cmocka_unit_test(later_failure_replaces_the_earlier_one),
        cmocka_unit_test(long_message_is_cut_and_terminated),
        cmocka_unit_test(bytes_that_are_no_text_do_not_reach_the_message),
        cmocka_unit_test(error_belongs_to_its_thread),
        cmocka_unit_test(restored_error_is_the_last_one_again),
        cmocka_unit_test(every_status_has_its_name_and_domain),
    };
    return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
