/* SPDX-License-Identifier: Apache-2.0 */
/* The layer in memory. */
#include "testing.h"

#include <pthread.h>
#include <string.h>

#include "held.h"
#include "memory.h"

#define THREADS 4
#define ROUNDS 100
#define SMALL 20000 /* so many that two threads are at the head of the list at the same time */

typedef struct held_case {
    tkj_test_allocator memory;
    tkj_held held;
} held_case;

static int set_up(void **state)
{
    static held_case it;
    memset(&it, 0, sizeof it);
    tkj_test_allocator_init(&it.memory, 0);
    *state = &it;
    return 0;
}

static int tear_down(void **state)
{
    held_case *it = *state;
    tkj_held_release(&it->held, &it->memory.allocator);
    assert_int_equal(atomic_load(&it->memory.live), 0);
    return 0;
}

static tkj_cache_query query_of(const char *preimage)
{
    tkj_cache_query query = {.major = 13, .preimage = preimage, .target = "sm_90"};
    tkj_digest(preimage, strlen(preimage), query.key.digest);
    return query;
}

static tkj_blob encode(const char *preimage, const char *library)
{
    static const uint8_t payload[] = {1, 2, 3};
    const tkj_entry entry = {
        .kind = TKJ_PAYLOAD_CUBIN,
        .target = "sm_90",
        .toolchain = "nvrtc 13.0",
        .library = library,
        .preimage = preimage,
        .entry_name = "topk_jit_general",
        .payload = payload,
        .payload_size = sizeof payload,
    };
    tkj_blob bytes;
    assert_int_equal(tkj_entry_encode(&tkj_default_allocator, &entry, &bytes), TOPK_JIT_OK);
    return bytes;
}

/* Adds an entry; its library tells which one of a key it is. */
static bool add(held_case *it, const char *preimage, const char *library)
{
    const tkj_cache_query query = query_of(preimage);
    tkj_blob bytes = encode(preimage, library);
    bool added = tkj_held_add(&it->held, &it->memory.allocator, &query.key, &bytes);
    memset(bytes.bytes, 0, bytes.size); /* what is held is a copy */
    tkj_free(&tkj_default_allocator, bytes.bytes);
    return added;
}

/* Asserts what is found; NULL = nothing. */
static void assert_held(held_case *it, const tkj_cache_query *query, const char *library)
{
    tkj_blob bytes = {(uint8_t *)1, 1};
    tkj_entry entry;
    bool found = tkj_held_get(&it->held, &it->memory.allocator, query, &bytes, &entry);
    assert_int_equal(found, library != NULL);
    if (library != NULL) {
        assert_string_equal(entry.library, library);
    } else {
        assert_null(bytes.bytes);
        assert_int_equal(bytes.size, 0);
        assert_null(entry.library);
    }
    tkj_free(&it->memory.allocator, bytes.bytes);
}

static void nothing_is_found_where_nothing_is(void **state)
{
    const tkj_cache_query query = query_of("one");
    assert_held(*state, &query, NULL);
}

static void each_key_has_its_own_entry(void **state)
{
    const tkj_cache_query one = query_of("one"), two = query_of("two"), three = query_of("three");
    assert_true(add(*state, "one", "1"));
    assert_true(add(*state, "two", "2"));
    assert_held(*state, &one, "1");
    assert_held(*state, &two, "2");
    assert_held(*state, &three, NULL);
}

static void newest_of_a_key_is_found(void **state)
{
    const tkj_cache_query one = query_of("one");
    assert_true(add(*state, "one", "old"));
    assert_true(add(*state, "two", "other"));
    assert_true(add(*state, "one", "new"));
    assert_held(*state, &one, "new");
}

static void caller_owns_a_copy(void **state)
{
    held_case *it = *state;
    const tkj_cache_query one = query_of("one");
    tkj_blob bytes;
    tkj_entry entry;
    assert_true(add(it, "one", "1"));
    assert_true(tkj_held_get(&it->held, &it->memory.allocator, &one, &bytes, &entry));
    memset(bytes.bytes, 0, bytes.size);
    tkj_free(&it->memory.allocator, bytes.bytes);
    assert_held(it, &one, "1");
}

static void key_alone_is_no_match(void **state)
{
    tkj_cache_query query = query_of("one");
    assert_true(add(*state, "one", "1"));
    query.preimage = "another of the same key";
    assert_held(*state, &query, NULL);
    query = query_of("one");
    query.target = "sm_80";
    assert_held(*state, &query, NULL);
}

static void without_memory_nothing_is_added_and_nothing_found(void **state)
{
    held_case *it = *state;
    const tkj_cache_query one = query_of("one");
    it->memory.fail_at = 1;
    assert_false(add(it, "one", "1"));
    assert_held(it, &one, NULL);
    assert_true(add(it, "one", "1"));
    it->memory.fail_at = atomic_load(&it->memory.asked) + 1;
    assert_held(it, &one, NULL);
    assert_held(it, &one, "1");
}

static void released_list_is_empty_and_can_be_used_again(void **state)
{
    held_case *it = *state;
    const tkj_cache_query one = query_of("one");
    assert_true(add(it, "one", "1"));
    tkj_held_release(&it->held, &it->memory.allocator);
    assert_int_equal(atomic_load(&it->memory.live), 0);
    assert_held(it, &one, NULL);
    assert_true(add(it, "one", "2"));
    assert_held(it, &one, "2");
}

/* ---- threads ---- */

typedef struct worker {
    pthread_t thread;
    held_case *it;
    pthread_barrier_t *start;
    tkj_cache_query query;
    tkj_blob bytes;
    int wrong;
} worker;

/* Adds entries that nobody asks for as fast as it can; then one of its own, which it finds each
   time, while others add theirs. */
static void *add_and_find(void *argument)
{
    worker *own = argument;
    const topk_jit_allocator *allocator = &own->it->memory.allocator;
    const tkj_cache_key small = {{0}};
    uint8_t byte = 0;
    pthread_barrier_wait(own->start);
    for (int i = 0; i < SMALL; i++)
        own->wrong += !tkj_held_add(&own->it->held, allocator, &small, &(tkj_blob){&byte, 1});
    for (int i = 0; i < ROUNDS; i++) {
        tkj_blob bytes;
        tkj_entry entry;
        own->wrong += !tkj_held_add(&own->it->held, allocator, &own->query.key, &own->bytes);
        own->wrong += !tkj_held_get(&own->it->held, allocator, &own->query, &bytes, &entry);
        tkj_free(allocator, bytes.bytes);
    }
    return NULL;
}

static size_t count_held(held_case *it)
{
    const int before = atomic_load(&it->memory.live);
    tkj_held_release(&it->held, &it->memory.allocator);
    return (size_t)(before - atomic_load(&it->memory.live));
}

static void add_at_once(held_case *it)
{
    static const char *const names[THREADS] = {"one", "two", "three", "four"};
    pthread_barrier_t start;
    worker workers[THREADS];
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.it = it, .start = &start, .query = query_of(names[i])};
        workers[i].bytes = encode(names[i], "1");
        assert_int_equal(pthread_create(&workers[i].thread, NULL, add_and_find, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_int_equal(workers[i].wrong, 0);
        assert_held(it, &workers[i].query, "1");
        tkj_free(&tkj_default_allocator, workers[i].bytes.bytes);
    }
    pthread_barrier_destroy(&start);
}

static void threads_add_at_once_and_lose_nothing(void **state)
{
    for (int i = 0; i < 20; i++) {
        add_at_once(*state);
        assert_int_equal(count_held(*state), THREADS * (SMALL + ROUNDS));
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_found_where_nothing_is),
        TEST(each_key_has_its_own_entry),
        TEST(newest_of_a_key_is_found),
        TEST(caller_owns_a_copy),
        TEST(key_alone_is_no_match),
        TEST(without_memory_nothing_is_added_and_nothing_found),
        TEST(released_list_is_empty_and_can_be_used_again),
        TEST(threads_add_at_once_and_lose_nothing),
    };
    return cmocka_run_group_tests_name("cache_held", tests, NULL, NULL);
}
