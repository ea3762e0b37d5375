/* SPDX-License-Identifier: Apache-2.0 */
/* What reading leaves behind: nothing in layers that are only read, nothing at all in modes that do
 * not write, and a time in the user's directory, at most once an hour. */
#include "layer_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disk_watch.h"
#include "memory.h"

#define HOUR 3600L
#define MINUTE 60L

static int set_up(void **state)
{
    int result = layer_case_set_up(state);
    disk_watch_start(NULL);
    return result;
}

static const char *below(const cache_case *it, const char *name)
{
    return tkj_test_path(it->directory, name);
}

static void open_in_mode(cache_case *it, topk_jit_mode mode, const char *ro_dirs)
{
    tkj_cache_options options = cache_case_options(it);
    options.mode = mode;
    options.ro_dirs = ro_dirs;
    cache_case_open(it, &options);
}

/* Everything that a cache is ever asked for. */
static void use_in_every_way(cache_case *it)
{
    tkj_cache_query query = cache_case_query(it);
    tkj_cache_turn turn;
    tkj_blob bytes;
    tkj_entry entry;
    char text[1024];
    tkj_text out = tkj_text_start(text, sizeof text);
    for (size_t layer = 0; strcmp(layer_case_ask(it, &query, &layer), "nobody") != 0; layer++) {
    }
    query.key.digest[0] ^= 1; /* found nowhere */
    assert_int_equal(cache_case_ask(it, &query), TKJ_CACHE_ABSENT);
    (void)tkj_cache_explain_miss(it->cache, &query, &out);
    assert_false(tkj_cache_await_turn(it->cache, &query, &turn, &bytes, &entry));
    assert_int_equal(tkj_cache_put(it->cache, &query.key, query.major, &it->bytes), TOPK_JIT_OK);
    tkj_cache_end_turn(it->cache, &turn);
}

/* ---- layers that are only read ---- */

static void make_read_only_layers(cache_case *it, char ro_dirs[512])
{
    layer_case_fill(it, below(it, "one"), "one");
    layer_case_pack(it, below(it, "one/a.tkp"), "pack");
    layer_case_fill(it, below(it, "two"), "two");
    disk_set_age(below(it, "one/a.tkp"), 2 * HOUR);
    disk_set_age(layer_case_file(it, below(it, "one")), 2 * HOUR);
    layer_case_flip(layer_case_file(it, below(it, "two")), 1);
    disk_set_age(layer_case_file(it, below(it, "two")), 2 * HOUR);
    snprintf(ro_dirs, 512, "%s:%s", below(it, "one"), below(it, "two"));
}

static void layers_that_are_only_read_stay_as_they_are_in_every_mode(void **state)
{
    cache_case *it = *state;
    char ro_dirs[512];
    make_read_only_layers(it, ro_dirs);
    char *one = disk_snapshot(below(it, "one")), *two = disk_snapshot(below(it, "two"));
    for (int mode = TOPK_JIT_MODE_OFF; mode >= TOPK_JIT_MODE_AUTO; mode--) {
        open_in_mode(it, (topk_jit_mode)mode, ro_dirs);
        use_in_every_way(it);
        assert_int_equal(atomic_load(&tkj_cache_counts(it->cache)->hits[TKJ_LAYER_READ_ONLY]),
                         mode == TOPK_JIT_MODE_OFF ? 0 : 1);
    }
    disk_assert_as_before(below(it, "one"), one);
    disk_assert_as_before(below(it, "two"), two);
}

static void hit_in_a_layer_that_is_only_read_touches_nothing(void **state)
{
    cache_case *it = *state;
    char ro_dirs[512];
    make_read_only_layers(it, ro_dirs);
    layer_case_open(it, ro_dirs);
    disk_watch_start(it->directory);
    layer_case_assert_answer(it, "pack");
    assert_true(atomic_load(&watched.opens) > 0);
    assert_int_equal(atomic_load(&watched.writes), 0);
    assert_int_equal(atomic_load(&watched.touches), 0);
    assert_int_equal(atomic_load(&watched.locks), 0);
}

static void peeking_counts_logs_and_touches_nothing(void **state)
{
    cache_case *it = *state;
    char ro_dirs[512];
    const tkj_cache_query query = cache_case_query(it);
    tkj_blob bytes;
    tkj_entry entry;
    size_t layer = 3; /* the damaged one before the user's */
    make_read_only_layers(it, ro_dirs);
    layer_case_fill(it, it->root, "user");
    disk_set_age(layer_case_file(it, it->root), 2 * HOUR);
    layer_case_open(it, ro_dirs);
    disk_watch_start(it->directory);
    assert_int_equal(tkj_cache_peek(it->cache, &query, &layer, &bytes, &entry), TKJ_CACHE_HIT);
    tkj_free(&it->test.allocator, bytes.bytes);
    assert_int_equal(layer, tkj_cache_user_layer(it->cache));
    assert_int_equal(layer, 4);
    assert_int_equal(atomic_load(&tkj_cache_counts(it->cache)->hits[TKJ_LAYER_USER]), 0);
    assert_int_equal(atomic_load(&tkj_cache_counts(it->cache)->corrupt), 0);
    assert_int_equal(atomic_load(&it->warnings), 0);
    assert_int_equal(atomic_load(&watched.touches), 0);
}

/* ---- modes that do not write ---- */

static void assert_leaves_no_trace(cache_case *it, topk_jit_mode mode, bool reads)
{
    char ro_dirs[512];
    make_read_only_layers(it, ro_dirs);
    layer_case_fill(it, it->root, "user");
    disk_set_age(layer_case_file(it, it->root), 2 * HOUR);
    char *before = disk_snapshot(it->directory);
    open_in_mode(it, mode, ro_dirs);
    assert_false(tkj_cache_writes(it->cache));
    disk_watch_start(it->directory);
    use_in_every_way(it);
    assert_int_equal(atomic_load(&tkj_cache_counts(it->cache)->hits[TKJ_LAYER_USER]), reads);
    assert_int_equal(atomic_load(&watched.opens) > 0, reads);
    assert_int_equal(atomic_load(&watched.writes), 0);
    assert_int_equal(atomic_load(&watched.touches), 0);
    assert_int_equal(atomic_load(&watched.locks), 0);
    disk_assert_as_before(it->directory, before);
}

static void mode_readonly_reads_and_leaves_no_trace(void **state)
{
    assert_leaves_no_trace(*state, TOPK_JIT_MODE_READONLY, true);
}

static void mode_offline_reads_and_leaves_no_trace(void **state)
{
    assert_leaves_no_trace(*state, TOPK_JIT_MODE_OFFLINE, true);
}

static void mode_off_does_not_even_read(void **state)
{
    assert_leaves_no_trace(*state, TOPK_JIT_MODE_OFF, false);
}

static void mode_auto_writes_and_locks(void **state)
{
    cache_case *it = *state;
    assert_true(tkj_cache_writes(it->cache));
    use_in_every_way(it);
    assert_true(atomic_load(&watched.writes) > 0);
    assert_true(atomic_load(&watched.locks) > 0);
    assert_int_equal(atomic_load(&tkj_cache_counts(it->cache)->stores), 1);
}

/* ---- the time of the user's entries ---- */

/* Stores the entry, sets its time, reads it twice. @return how old it is then */
static long age_after_hits(cache_case *it, long age)
{
    layer_case_fill(it, it->root, "user");
    disk_set_age(layer_case_file(it, it->root), age);
    layer_case_open(it, NULL);
    disk_watch_start(it->directory);
    layer_case_assert_answer(it, "user");
    layer_case_assert_answer(it, "user");
    return disk_age(layer_case_file(it, it->root));
}

static void assert_touched_once(cache_case *it, long age)
{
    assert_in_range(age_after_hits(it, age), 0, MINUTE);
    assert_int_equal(atomic_load(&watched.touches), 1);
    assert_int_equal(atomic_load(&watched.writes), 0);
}

static void assert_not_touched(cache_case *it, long age)
{
    long after = age_after_hits(it, age);
    assert_true(after >= age && after <= age + MINUTE);
    assert_int_equal(atomic_load(&watched.touches), 0);
}

static void entry_that_was_used_hours_ago_gets_the_time_once(void **state)
{
    assert_touched_once(*state, 2 * HOUR);
    assert_touched_once(*state, 1000 * HOUR);
}

static void entry_that_was_used_within_the_hour_keeps_its_time(void **state)
{
    assert_not_touched(*state, 0);
    assert_not_touched(*state, 10 * MINUTE);
    assert_not_touched(*state, 59 * MINUTE);
}

static void time_in_the_future_is_set_right(void **state)
{
    assert_touched_once(*state, -2 * HOUR);
    assert_touched_once(*state, -1000 * HOUR);
}

static void time_a_little_ahead_is_left_alone(void **state)
{
    assert_not_touched(*state, -10 * MINUTE);
}

/* In a cache that a group shares. */
static void entry_of_another_member_gets_the_time_too(void **state)
{
    cache_case *it = *state;
    layer_case_fill(it, it->root, "theirs");
    disk_set_age(layer_case_file(it, it->root), 2 * HOUR);
    disk_watch_disown();
    layer_case_assert_answer(it, "theirs");
    assert_in_range(disk_age(layer_case_file(it, it->root)), 0, MINUTE);
}

static void entry_that_is_no_hit_keeps_its_time(void **state)
{
    cache_case *it = *state;
    tkj_cache_query query = cache_case_query(it);
    query.toolchain = "another";
    layer_case_fill(it, it->root, "user");
    disk_set_age(layer_case_file(it, it->root), 2 * HOUR);
    assert_int_equal(cache_case_ask(it, &query), TKJ_CACHE_ABSENT);
    assert_int_equal(atomic_load(&watched.touches), 0);
    layer_case_flip(layer_case_file(it, it->root), 1);
    disk_set_age(layer_case_file(it, it->root), 2 * HOUR);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_CORRUPT);
    assert_int_equal(atomic_load(&watched.touches), 0);
    assert_true(disk_age(layer_case_file(it, it->root)) >= 2 * HOUR);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, cache_case_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(layers_that_are_only_read_stay_as_they_are_in_every_mode),
        TEST(hit_in_a_layer_that_is_only_read_touches_nothing),
        TEST(peeking_counts_logs_and_touches_nothing),
        TEST(mode_readonly_reads_and_leaves_no_trace),
        TEST(mode_offline_reads_and_leaves_no_trace),
        TEST(mode_off_does_not_even_read),
        TEST(mode_auto_writes_and_locks),
        TEST(entry_that_was_used_hours_ago_gets_the_time_once),
        TEST(entry_that_was_used_within_the_hour_keeps_its_time),
        TEST(time_in_the_future_is_set_right),
        TEST(time_a_little_ahead_is_left_alone),
        TEST(entry_of_another_member_gets_the_time_too),
        TEST(entry_that_is_no_hit_keeps_its_time),
    };
    return cmocka_run_group_tests_name("cache_read_only", tests, NULL, NULL);
}
