/* SPDX-License-Identifier: Apache-2.0 */
/* Work that one thread does while others wait for it. */
#include "testing.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flight.h"
#include "memory.h"
#include "os.h"
#include "status.h"

#define WAITERS 4
#define PATIENCE_NS UINT64_C(10000000000)

typedef struct flight_case {
    tkj_test_allocator memory;
    tkj_flights flights;
    atomic_bool over; /* the work is: it is about to land */
} flight_case;

/* ---- what the linker puts in the place of a call ---- */

static atomic_int waiting; /* threads that wait, or have waited */

int __real_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    atomic_fetch_add(&waiting, 1);
    return __real_pthread_cond_wait(condition, mutex);
}

/* Digests, of which one byte tells them apart. */
static const uint8_t one[TKJ_DIGEST_SIZE] = {[TKJ_DIGEST_SIZE - 1] = 1};
static const uint8_t two[TKJ_DIGEST_SIZE] = {[TKJ_DIGEST_SIZE - 1] = 2};

static int set_up(void **state)
{
    static flight_case it;
    tkj_test_allocator_init(&it.memory, 0);
    tkj_flights_init(&it.flights);
    atomic_init(&it.over, false);
    atomic_store(&waiting, 0);
    *state = &it;
    return 0;
}

static int tear_down(void **state)
{
    flight_case *it = *state;
    tkj_flights_destroy(&it->flights);
    assert_int_equal(atomic_load(&it->memory.live), 0);
    return 0;
}

/* ---- passengers: threads that board, and what they were told ---- */

typedef struct passenger {
    pthread_t thread;
    flight_case *it;
    const uint8_t *id;
    bool works;
    bool was_over; /* when it was told */
    topk_jit_status status;
    topk_jit_error error;
    uint64_t waited_ns;
} passenger;

static void *board(void *argument)
{
    passenger *own = argument;
    tkj_flight *flight;
    tkj_fail(TOPK_JIT_NOT_SUPPORTED, "an earlier failure");
    own->works = tkj_flights_board(&own->it->flights, &own->it->memory.allocator, own->id, &flight,
                                   &own->status, &own->waited_ns);
    own->was_over = atomic_load(&own->it->over);
    own->error = *topk_jit_last_error();
    tkj_flights_land(&own->it->flights, &own->it->memory.allocator, flight, own->status);
    return NULL;
}

static void start(passenger *own, flight_case *it, const uint8_t *id)
{
    *own = (passenger){.it = it, .id = id};
    assert_int_equal(pthread_create(&own->thread, NULL, board, own), 0);
}

static void join(passenger *own)
{
    assert_int_equal(pthread_join(own->thread, NULL), 0);
}

/* Begins a piece of work in this thread. */
static tkj_flight *begin(flight_case *it, const uint8_t *id)
{
    tkj_flight *flight = NULL;
    topk_jit_status status = TOPK_JIT_OS_FAILED;
    uint64_t waited_ns = 1;
    assert_true(
        tkj_flights_board(&it->flights, &it->memory.allocator, id, &flight, &status, &waited_ns));
    assert_int_equal(status, TOPK_JIT_OK);
    assert_int_equal(waited_ns, 0);
    return flight;
}

static void land(flight_case *it, tkj_flight *flight, topk_jit_status status)
{
    atomic_store(&it->over, true);
    tkj_flights_land(&it->flights, &it->memory.allocator, flight, status);
}

/* Starts passengers that find this thread at work; returns once all of them wait. */
static void start_waiters(passenger *waiters, flight_case *it)
{
    const uint64_t began = tkj_os_now_ns();
    for (int i = 0; i < WAITERS; i++)
        start(&waiters[i], it, one);
    while (atomic_load(&waiting) < WAITERS && tkj_os_now_ns() - began < PATIENCE_NS)
        tkj_os_sleep_ns(100000);
}

/* ---- tests ---- */

static void one_works_and_the_others_wait_for_its_success(void **state)
{
    flight_case *it = *state;
    passenger waiters[WAITERS];
    tkj_flight *flight = begin(it, one);
    assert_non_null(flight);
    start_waiters(waiters, it);
    land(it, flight, TOPK_JIT_OK);
    for (int i = 0; i < WAITERS; i++) {
        join(&waiters[i]);
        assert_false(waiters[i].works);
        assert_true(waiters[i].was_over);
        assert_int_equal(waiters[i].status, TOPK_JIT_OK);
        assert_true(waiters[i].waited_ns > 0);
        assert_string_equal(waiters[i].error.message, "an earlier failure");
    }
}

static void failure_is_shared_with_its_message(void **state)
{
    flight_case *it = *state;
    passenger waiters[WAITERS];
    tkj_flight *flight = begin(it, one);
    start_waiters(waiters, it);
    land(it, flight, tkj_fail_native(TOPK_JIT_COMPILE_FAILED, 6, "line 3: no such thing"));
    for (int i = 0; i < WAITERS; i++) {
        join(&waiters[i]);
        assert_false(waiters[i].works);
        assert_int_equal(waiters[i].status, TOPK_JIT_COMPILE_FAILED);
        assert_int_equal(waiters[i].error.status, TOPK_JIT_COMPILE_FAILED);
        assert_int_equal(waiters[i].error.domain, TOPK_JIT_DOMAIN_NVRTC);
        assert_int_equal(waiters[i].error.native_code, 6);
        assert_string_equal(waiters[i].error.message, "line 3: no such thing");
    }
}

static void who_comes_later_begins_anew(void **state)
{
    flight_case *it = *state;
    passenger later;
    land(it, begin(it, one), tkj_fail(TOPK_JIT_COMPILE_FAILED, "no"));
    land(it, begin(it, one), TOPK_JIT_OK);
    start(&later, it, one);
    join(&later);
    assert_true(later.works);
    assert_int_equal(later.status, TOPK_JIT_OK);
    assert_string_equal(later.error.message, "an earlier failure");
}

static void other_work_does_not_wait(void **state)
{
    flight_case *it = *state;
    passenger other;
    tkj_flight *flight = begin(it, one);
    start(&other, it, two);
    join(&other);
    assert_true(other.works);
    assert_int_equal(other.waited_ns, 0);
    land(it, flight, TOPK_JIT_OK);
}

static void pieces_land_in_any_order(void **state)
{
    flight_case *it = *state;
    tkj_flight *first = begin(it, one), *second = begin(it, two);
    passenger waiter;
    land(it, first, TOPK_JIT_OK);
    first = begin(it, one);
    land(it, second, TOPK_JIT_OK);
    land(it, first, TOPK_JIT_OK);
    start(&waiter, it, two);
    join(&waiter);
    assert_true(waiter.works);
}

/* It works all the same, but nobody knows. */
static void without_memory_nobody_waits(void **state)
{
    flight_case *it = *state;
    passenger other;
    it->memory.fail_at = 1;
    tkj_flight *flight = begin(it, one);
    assert_null(flight);
    start(&other, it, one);
    join(&other);
    assert_true(other.works);
    land(it, flight, TOPK_JIT_OK);
}

static void landing_nothing_is_ignored(void **state)
{
    flight_case *it = *state;
    tkj_flight *flight = begin(it, one);
    land(it, NULL, TOPK_JIT_COMPILE_FAILED);
    land(it, flight, TOPK_JIT_OK);
}

/* Begins what the parent is at, whose lock is held. A child that waits is ended by its alarm. */
static int begin_in_child(flight_case *it)
{
    tkj_flight *flight = NULL;
    topk_jit_status status;
    uint64_t waited_ns;
    alarm(10);
    tkj_flights_init(&it->flights);
    bool own =
        tkj_flights_board(&it->flights, &it->memory.allocator, one, &flight, &status, &waited_ns);
    tkj_flights_land(&it->flights, &it->memory.allocator, flight, TOPK_JIT_OK);
    return own && flight != NULL ? 0 : 1;
}

static void child_after_fork_waits_for_nobody(void **state)
{
    flight_case *it = *state;
    int status = -1;
    tkj_flight *flight = begin(it, one);
    pthread_mutex_lock(&it->flights.lock);
    pid_t child = fork();
    if (child == 0)
        _exit(begin_in_child(it));
    pthread_mutex_unlock(&it->flights.lock);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    land(it, flight, TOPK_JIT_OK);
}

/* ---- many at once ---- */

static atomic_int at_work, worked;

static void *work_on_one_of_two(void *argument)
{
    flight_case *it = argument;
    for (int i = 0; i < 200; i++) {
        tkj_flight *flight;
        topk_jit_status status;
        uint64_t waited_ns;
        if (!tkj_flights_board(&it->flights, &it->memory.allocator, i % 2 ? one : two, &flight,
                               &status, &waited_ns))
            continue;
        if (i % 2 && atomic_fetch_add(&at_work, 1) > 0)
            return argument; /* two at the same piece */
        atomic_fetch_add(&worked, 1);
        if (i % 2)
            atomic_fetch_sub(&at_work, 1);
        tkj_flights_land(&it->flights, &it->memory.allocator, flight, TOPK_JIT_OK);
    }
    return NULL;
}

static void no_two_threads_are_ever_at_the_same_piece(void **state)
{
    pthread_t threads[WAITERS];
    for (int i = 0; i < WAITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work_on_one_of_two, *state), 0);
    for (int i = 0; i < WAITERS; i++) {
        void *met = NULL;
        assert_int_equal(pthread_join(threads[i], &met), 0);
        assert_null(met);
    }
    assert_in_range(atomic_load(&worked), 200, WAITERS * 200);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_works_and_the_others_wait_for_its_success),
        TEST(failure_is_shared_with_its_message),
        TEST(who_comes_later_begins_anew),
        TEST(other_work_does_not_wait),
        TEST(pieces_land_in_any_order),
        TEST(without_memory_nobody_waits),
        TEST(landing_nothing_is_ignored),
        TEST(child_after_fork_waits_for_nobody),
        TEST(no_two_threads_are_ever_at_the_same_piece),
    };
    return cmocka_run_group_tests_name("flight", tests, NULL, NULL);
}
