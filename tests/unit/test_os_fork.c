/* SPDX-License-Identifier: Apache-2.0 */
/* A guard around what locks: whom it lets in after a fork. */
#include "testing.h"

#include <pthread.h>

#include "os.h"

/* Enters and leaves. 0: it was let in. */
static int enter_once(void *guard)
{
    if (!tkj_os_fork_guard_enter(guard))
        return 1;
    tkj_os_fork_guard_leave(guard);
    return 0;
}

static int enter_in_a_child_of_the_child(void *guard)
{
    return tkj_test_run_child(enter_once, guard);
}

static int enter_then_have_a_child_that_enters(void *guard)
{
    if (enter_once(guard) != 0)
        return 2;
    return tkj_test_run_child(enter_once, guard);
}

static int be_inside_and_have_a_child_that_enters(void *guard)
{
    if (!tkj_os_fork_guard_enter(guard))
        return 2;
    const int result = tkj_test_run_child(enter_once, guard);
    tkj_os_fork_guard_leave(guard);
    return result;
}

static void threads_of_one_process_are_inside_together(void **state)
{
    (void)state;
    tkj_fork_guard guard = 0;
    assert_true(tkj_os_fork_guard_enter(&guard));
    assert_true(tkj_os_fork_guard_enter(&guard));
    tkj_os_fork_guard_leave(&guard);
    assert_true(tkj_os_fork_guard_enter(&guard));
    tkj_os_fork_guard_leave(&guard);
    tkj_os_fork_guard_leave(&guard);
    assert_int_equal(tkj_test_run_child(enter_once, &guard), 0);
}

static void children_of_a_process_with_nobody_inside_are_let_in(void **state)
{
    (void)state;
    tkj_fork_guard guard = 0;
    assert_int_equal(tkj_test_run_child(enter_then_have_a_child_that_enters, &guard), 0);
    assert_int_equal(enter_once(&guard), 0);
    assert_int_equal(tkj_test_run_child(enter_then_have_a_child_that_enters, &guard), 0);
    assert_int_equal(tkj_test_run_child(enter_in_a_child_of_the_child, &guard), 0);
}

static void children_of_a_process_with_one_inside_are_kept_out(void **state)
{
    (void)state;
    tkj_fork_guard guard = 0;
    assert_true(tkj_os_fork_guard_enter(&guard));
    assert_int_equal(tkj_test_run_child(enter_once, &guard), 1);
    assert_int_equal(tkj_test_run_child(enter_in_a_child_of_the_child, &guard), 1);
    assert_true(tkj_os_fork_guard_enter(&guard));
    tkj_os_fork_guard_leave(&guard);
    assert_int_equal(tkj_test_run_child(enter_once, &guard), 1); /* one has left, one is inside */
    tkj_os_fork_guard_leave(&guard);
    assert_int_equal(tkj_test_run_child(enter_once, &guard), 0);
}

static void child_with_one_inside_is_a_parent_like_any(void **state)
{
    (void)state;
    tkj_fork_guard guard = 0;
    assert_int_equal(enter_once(&guard), 0);
    assert_int_equal(tkj_test_run_child(be_inside_and_have_a_child_that_enters, &guard), 1);
    assert_int_equal(enter_once(&guard), 0);
}

#define ENTRIES 1000

static void *enter_often(void *guard)
{
    for (int i = 0; i < ENTRIES; i++)
        if (enter_once(guard) != 0)
            return guard;
    return NULL;
}

static void nobody_is_lost_among_threads(void **state)
{
    (void)state;
    tkj_fork_guard guard = 0;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, enter_often, &guard), 0);
    for (int i = 0; i < 4; i++) {
        void *kept_out = NULL;
        assert_int_equal(pthread_join(threads[i], &kept_out), 0);
        assert_null(kept_out);
    }
    assert_int_equal(tkj_test_run_child(enter_once, &guard), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_of_one_process_are_inside_together),
        cmocka_unit_test(children_of_a_process_with_nobody_inside_are_let_in),
        cmocka_unit_test(children_of_a_process_with_one_inside_are_kept_out),
        cmocka_unit_test(child_with_one_inside_is_a_parent_like_any),
        cmocka_unit_test(nobody_is_lost_among_threads),
    };
    return cmocka_run_group_tests_name("os_fork", tests, NULL, NULL);
}
