/* SPDX-License-Identifier: Apache-2.0 */
/* A process forks while it holds a turn: the child does not keep the key from anybody, whatever
   becomes of either. (pytorch#184643, vllm#32611) */
#include "cache_case.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault_case.h"
#include "memory.h"
#include "state.h"

/** A test's processes. */
typedef struct scene {
    cache_case *it;
    tkj_cache_turn turn;
    fault_gate ready; /* opened by a process that has done its part */
    fault_gate end;   /* passed by a process that is to end */
} scene;

static int set_up(void **state)
{
    static scene only;
    void *it = NULL;
    fault_reset();
    cache_case_set_up(&it);
    only = (scene){.it = it, .ready = fault_gate_make(), .end = fault_gate_make()};
    *state = &only;
    return 0;
}

static int tear_down(void **state)
{
    scene *s = *state;
    void *it = s->it;
    fault_gate_remove(&s->ready);
    fault_gate_remove(&s->end);
    return cache_case_tear_down(&it);
}

static void take_turn(scene *s)
{
    tkj_blob bytes;
    tkj_entry entry;
    const tkj_cache_query query = cache_case_query(s->it);
    assert_false(tkj_cache_await_turn(s->it->cache, &query, &s->turn, &bytes, &entry));
    assert_true(s->turn.fd >= 0);
}

/** Another cache of this process asks for the key, with a moment's patience.
 *  @return true if the key was free at once, false if not at all */
static bool is_free(scene *s)
{
    tkj_cache_turn turn;
    tkj_blob bytes;
    tkj_entry entry;
    tkj_cache *other = NULL;
    const tkj_logger silent = {NULL, NULL, TOPK_JIT_LOG_ERROR};
    const tkj_cache_query query = cache_case_query(s->it);
    tkj_cache_options options = cache_case_options(s->it);
    options.lock_timeout_ns = 5000000;
    assert_int_equal(tkj_cache_create(&s->it->test.allocator, &silent, &options, &other),
                     TOPK_JIT_OK);
    fault_stop_clock();
    assert_false(tkj_cache_await_turn(other, &query, &turn, &bytes, &entry));
    const bool at_once = turn.fd >= 0 && fault.sleeps == 0;
    assert_true(at_once || tkj_cache_counts(other)->lock_timeouts == 1);
    tkj_cache_end_turn(other, &turn);
    tkj_cache_destroy(other);
    fault_reset();
    return at_once;
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

/* ---- children ---- */

static void drop_the_end(void *user, int number)
{
    scene *s = user;
    (void)number;
    assert_true(is_open(s->turn.fd));
    tkj_cache_after_fork(s->it->cache);
    assert_false(is_open(s->turn.fd));
    assert_false(is_free(s)); /* the parent has it still */
    fault_gate_open(&s->ready);
    fault_gate_pass(&s->end);
}

static void do_nothing(void *user, int number)
{
    const scene *s = user;
    (void)number;
    fault_gate_open(&s->ready);
    fault_gate_pass(&s->end);
}

/* Another program, which knows the gates by their descriptors. */
static void become_another_program(void *user, int number)
{
    const scene *s = user;
    char ready[16], end[16];
    (void)number;
    snprintf(ready, sizeof ready, "%d", s->ready.ends[1]);
    snprintf(end, sizeof end, "%d", s->end.ends[0]);
    execl("/proc/self/exe", "test_fork", ready, end, (char *)NULL);
    fail();
}

static int be_another_program(char *arguments[])
{
    const fault_gate ready = {{-1, (int)strtol(arguments[1], NULL, 10)}};
    const fault_gate end = {{(int)strtol(arguments[2], NULL, 10), -1}};
    fault_gate_open(&ready);
    fault_gate_pass(&end);
    return 0;
}

/* ---- the parent is this process ---- */

static void child_drops_its_end_and_leaves_the_key_with_its_parent(void **state)
{
    scene *s = *state;
    take_turn(s);
    pid_t child = fault_start(drop_the_end, s, 0);
    fault_gate_pass(&s->ready);
    assert_true(is_open(s->turn.fd));
    assert_false(is_free(s));
    tkj_cache_end_turn(s->it->cache, &s->turn);
    assert_true(is_free(s));
    fault_gate_open(&s->end);
    fault_assert_done(child);
}

static void parent_frees_the_key_though_its_child_never_calls(void **state)
{
    scene *s = *state;
    take_turn(s);
    pid_t child = fault_start(do_nothing, s, 0);
    fault_gate_pass(&s->ready);
    assert_false(is_free(s));
    tkj_cache_end_turn(s->it->cache, &s->turn);
    assert_true(is_free(s));
    fault_gate_open(&s->end);
    fault_assert_done(child);
}

static void child_that_ends_leaves_the_key_with_its_parent(void **state)
{
    scene *s = *state;
    take_turn(s);
    fault_gate_open(&s->end);
    fault_assert_done(fault_start(do_nothing, s, 0));
    assert_false(is_free(s));
    tkj_cache_end_turn(s->it->cache, &s->turn);
    assert_true(is_free(s));
}

static void turn_that_is_over_leaves_nothing_for_a_child_to_close(void **state)
{
    scene *s = *state;
    take_turn(s);
    const int fd = s->turn.fd;
    tkj_cache_end_turn(s->it->cache, &s->turn);
    assert_int_equal(dup2(s->end.ends[0], fd), fd); /* somebody else's descriptor now */
    tkj_cache_after_fork(s->it->cache);
    assert_true(is_open(fd));
    close(fd);
}

static void have_another_file_in_its_place(void *user, int number)
{
    scene *s = user;
    (void)number;
    assert_int_equal(dup2(s->end.ends[0], s->turn.fd), s->turn.fd);
    tkj_cache_after_fork(s->it->cache);
    assert_true(is_open(s->turn.fd));
}

/* A server's worker closes what it inherited and opens files of its own before it calls us. */
static void child_that_closed_the_lock_keeps_what_it_opened_instead(void **state)
{
    scene *s = *state;
    take_turn(s);
    fault_assert_done(fault_start(have_another_file_in_its_place, s, 0));
    tkj_cache_end_turn(s->it->cache, &s->turn);
}

/* There is room for so many at a time, not in all. */
static void child_drops_its_end_after_any_number_of_turns(void **state)
{
    scene *s = *state;
    int others[2 * TKJ_TURNS_MAX]; /* so that each lock has another number */
    for (int i = 0; i < 2 * TKJ_TURNS_MAX; i++) {
        take_turn(s);
        tkj_cache_end_turn(s->it->cache, &s->turn);
        others[i] = dup(s->end.ends[0]);
        assert_true(others[i] >= 0);
    }
    take_turn(s);
    fault_gate_open(&s->end);
    fault_assert_done(fault_start(drop_the_end, s, 0));
    tkj_cache_end_turn(s->it->cache, &s->turn);
    for (int i = 0; i < 2 * TKJ_TURNS_MAX; i++)
        close(others[i]);
}

/* ---- the parent is killed, its child lives on ---- */

static fault_work grandchild;

static void hold_and_fork(void *user, int number)
{
    scene *s = user;
    take_turn(s);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        grandchild(user, number);
        _exit(0);
    }
    fault_gate_pass(&s->end); /* never */
}

static void check_parent_that_is_killed(scene *s, fault_work run)
{
    grandchild = run;
    pid_t parent = fault_start(hold_and_fork, s, 0);
    fault_gate_pass(&s->ready);
    assert_false(is_free(s));
    fault_kill(parent);
    assert_true(is_free(s));
    fault_gate_open(&s->end);
}

static void child_that_dropped_its_end_does_not_keep_a_dead_parents_key(void **state)
{
    check_parent_that_is_killed(*state, drop_the_end);
}

static void program_that_a_child_became_does_not_keep_a_dead_parents_key(void **state)
{
    check_parent_that_is_killed(*state, become_another_program);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(int argc, char *argv[])
{
    if (argc == 3)
        return be_another_program(argv);
    const struct CMUnitTest tests[] = {
        TEST(child_drops_its_end_and_leaves_the_key_with_its_parent),
        TEST(parent_frees_the_key_though_its_child_never_calls),
        TEST(child_that_ends_leaves_the_key_with_its_parent),
        TEST(turn_that_is_over_leaves_nothing_for_a_child_to_close),
        TEST(child_drops_its_end_after_any_number_of_turns),
        TEST(child_that_closed_the_lock_keeps_what_it_opened_instead),
        TEST(child_that_dropped_its_end_does_not_keep_a_dead_parents_key),
        TEST(program_that_a_child_became_does_not_keep_a_dead_parents_key),
    };
    return cmocka_run_group_tests_name("fork", tests, NULL, NULL);
}
