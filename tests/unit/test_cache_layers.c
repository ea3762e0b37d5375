/* SPDX-License-Identifier: Apache-2.0 */
/* Several layers: the order of their search, and what happens where one of them is of no use. */
#include "layer_case.h"
#include "memory.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const char *below(const cache_case *it, const char *name)
{
    return tkj_test_path(it->directory, name);
}

/* ---- order ---- */

static void hold(cache_case *it)
{
    tkj_cache_hold(it->cache, &it->key, &it->bytes); /* its toolchain is "nvrtc 13.0 ..." */
}

/* Everyone who answers, in order, with a blank after each. */
static void list_answers(cache_case *it, const tkj_cache_query *query, char text[512])
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t layer = 0;; layer++) {
        const char *answer = layer_case_ask(it, query, &layer);
        if (strcmp(answer, "nobody") == 0)
            break;
        used += (size_t)snprintf(text + used, 512 - used, "%s ", answer);
    }
}

static void assert_answers(cache_case *it, const char *expected)
{
    char text[512];
    const tkj_cache_query query = cache_case_query(it);
    list_answers(it, &query, text);
    assert_string_equal(text, expected);
}

/* Every kind of layer, made in another order than that of the search. */
static void open_every_kind(cache_case *it)
{
    char ro_dirs[1024];
    layer_case_fill(it, it->root, "user");
    layer_case_fill(it, below(it, "installed"), "installed");
    layer_case_fill(it, below(it, "z first"), "first");
    layer_case_fill(it, below(it, "a second"), "second");
    layer_case_pack(it, below(it, "installed/0.tkp"), "installed-pack");
    layer_case_pack(it, below(it, "z first/10.tkp"), "pack-10");
    layer_case_pack(it, below(it, "z first/b.tkp"), "pack-b");
    layer_case_pack(it, below(it, "z first/a.tkp"), "pack-a");
    layer_case_pack(it, below(it, "single.tkp"), "single");
    snprintf(ro_dirs, sizeof ro_dirs, "%s:%s:%s", below(it, "z first"), below(it, "single.tkp"),
             below(it, "a second"));
    tkj_cache_options options = cache_case_options(it);
    options.ro_dirs = ro_dirs;
    options.installed = below(it, "installed");
    cache_case_open(it, &options);
}

static void layers_are_searched_in_their_order_behind_each_hit(void **state)
{
    cache_case *it = *state;
    open_every_kind(it);
    assert_answers(it, "pack-10 pack-a pack-b first single second installed-pack installed user ");
    assert_int_equal(tkj_cache_user_layer(it->cache), 9);
    assert_int_equal(atomic_load(&it->warnings), 0);
}

static void memory_comes_before_all_of_them(void **state)
{
    cache_case *it = *state;
    const tkj_cache_query query = cache_case_query(it);
    size_t layer = 0;
    open_every_kind(it);
    hold(it);
    assert_string_equal(layer_case_ask(it, &query, &layer), "nvrtc 13.0 build-id 3f2a");
    assert_int_equal(layer, 0);
    layer = 1;
    assert_string_equal(layer_case_ask(it, &query, &layer), "pack-10");
}

static void hits_are_counted_by_the_kind_of_their_layer(void **state)
{
    cache_case *it = *state;
    const tkj_cache_query query = cache_case_query(it);
    char text[512];
    open_every_kind(it);
    hold(it);
    list_answers(it, &query, text);
    tkj_cache_counters *counters = tkj_cache_counts(it->cache);
    assert_int_equal(atomic_load(&counters->hits[TKJ_LAYER_MEMORY]), 1);
    assert_int_equal(atomic_load(&counters->hits[TKJ_LAYER_PACK]), 5);
    assert_int_equal(atomic_load(&counters->hits[TKJ_LAYER_READ_ONLY]), 3);
    assert_int_equal(atomic_load(&counters->hits[TKJ_LAYER_USER]), 1);
    assert_int_equal(atomic_load(&counters->corrupt), 0);
    assert_true(atomic_load(&counters->bytes_read) > 0);
    assert_true(atomic_load(&counters->lookup_ns) > 0);
}

static void memory_hit_reads_no_bytes(void **state)
{
    cache_case *it = *state;
    hold(it);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_HIT);
    assert_int_equal(atomic_load(&tkj_cache_counts(it->cache)->bytes_read), 0);
}

static void empty_words_of_the_list_are_no_layers(void **state)
{
    cache_case *it = *state;
    char ro_dirs[256];
    layer_case_fill(it, below(it, "one"), "one");
    snprintf(ro_dirs, sizeof ro_dirs, "::%s::", below(it, "one"));
    layer_case_open(it, ro_dirs);
    assert_answers(it, "one ");
    assert_int_equal(tkj_cache_user_layer(it->cache), 2);
}

static void installed_directory_that_is_not_there_is_no_layer(void **state)
{
    cache_case *it = *state;
    tkj_cache_options options = cache_case_options(it);
    options.installed = "/nonexistent/topk_jit/cache";
    cache_case_open(it, &options);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_ABSENT);
    assert_int_equal(tkj_cache_user_layer(it->cache), 1);
    assert_int_equal(atomic_load(&it->warnings), 0);
}

static void mode_off_has_no_layer_but_memory(void **state)
{
    cache_case *it = *state;
    layer_case_fill(it, it->root, "user");
    tkj_cache_options options = cache_case_options(it);
    options.mode = TOPK_JIT_MODE_OFF;
    cache_case_open(it, &options);
    layer_case_assert_answer(it, "nobody");
    hold(it);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_HIT);
}

/* ---- what an entry must be ---- */

static void only_the_toolchain_that_is_asked_for_counts(void **state)
{
    cache_case *it = *state;
    tkj_cache_query query = cache_case_query(it);
    char text[512];
    open_every_kind(it);
    query.toolchain = "single";
    list_answers(it, &query, text);
    assert_string_equal(text, "single ");
    query.toolchain = "another";
    assert_int_equal(cache_case_ask(it, &query), TKJ_CACHE_ABSENT);
    assert_int_equal(atomic_load(&tkj_cache_counts(it->cache)->corrupt), 0);
    assert_int_equal(atomic_load(&it->warnings), 0);
}

static void entry_of_another_major_is_not_there(void **state)
{
    cache_case *it = *state;
    tkj_cache_query query = cache_case_query(it);
    open_every_kind(it);
    for (query.major = CACHE_CASE_MAJOR - 1; query.major <= CACHE_CASE_MAJOR + 1; query.major += 2)
        assert_int_equal(cache_case_ask(it, &query), TKJ_CACHE_ABSENT);
}

/* ---- what is new since all layers were searched ---- */

static bool is_new(cache_case *it, const tkj_cache_query *query)
{
    tkj_blob bytes;
    tkj_entry entry;
    bool found = tkj_cache_get_new(it->cache, query, &bytes, &entry);
    tkj_free(&it->test.allocator, bytes.bytes);
    return found;
}

/* Read-only layers were searched before, and what they have was not good enough. */
static void only_memory_and_the_users_directory_have_what_is_new(void **state)
{
    cache_case *it = *state;
    tkj_cache_query query = cache_case_query(it);
    layer_case_fill(it, below(it, "one"), "one");
    layer_case_open(it, below(it, "one"));
    assert_false(is_new(it, &query));
    layer_case_fill(it, it->root, "mine");
    assert_true(is_new(it, &query));
    query.toolchain = "one";
    assert_false(is_new(it, &query));
    query.toolchain = "mine";
    assert_true(is_new(it, &query));
    query.toolchain = NULL;
    tkj_cache_hold(it->cache, &it->key, &it->bytes);
    query.refused = it->bytes.bytes + it->bytes.size - TKJ_DIGEST_SIZE; /* the one in memory */
    assert_true(is_new(it, &query));
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK); /* the same, in the place of the other */
    assert_false(is_new(it, &query));
}

/* ---- explaining ---- */

static void miss_is_explained_place_by_place(void **state)
{
    cache_case *it = *state;
    char ro_dirs[512], expected[1024], text[1024];
    tkj_text out = tkj_text_start(text, sizeof text);
    tkj_cache_query query = cache_case_query(it);
    snprintf(ro_dirs, sizeof ro_dirs, "%s:%s:%s:/nonexistent", below(it, "one"), below(it, "x.tkp"),
             below(it, "two"));
    layer_case_fill(it, below(it, "one"), "one");
    layer_case_pack(it, below(it, "one/a.tkp"), "pack");
    layer_case_fill(it, below(it, "two"), "two");
    layer_case_flip(layer_case_file(it, below(it, "two")), 1);
    layer_case_open(it, ro_dirs);
    query.toolchain = "one";
    snprintf(expected, sizeof expected,
             "%s/a.tkp: another toolchain compiled it; %s: it is there; %s: it does not exist; "
             "%s: its checksum does not match; /nonexistent: does not exist; %s: does not exist",
             below(it, "one"), below(it, "one"), below(it, "x.tkp"), below(it, "two"), it->root);
    assert_true(tkj_cache_explain_miss(it->cache, &query, &out));
    assert_string_equal(text, expected);
    assert_int_equal(atomic_load(&it->warnings), 0);
    assert_int_equal(atomic_load(&tkj_cache_counts(it->cache)->corrupt), 0);
}

/* Asserts what a layer says: on a hit of what toolchain it has an entry, else why not. */
static void assert_answer(cache_case *it, const tkj_cache_query *query, size_t layer,
                          tkj_layer_kind kind, tkj_cache_outcome outcome, const char *why)
{
    tkj_cache_answer answer;
    assert_true(tkj_cache_ask(it->cache, query, layer, &answer));
    assert_int_equal(answer.kind, kind);
    assert_int_equal(answer.outcome, outcome);
    assert_int_equal(answer.note.modified != 0, strcmp(why, "no entry") != 0);
    if (outcome == TKJ_CACHE_HIT) {
        assert_null(answer.note.why);
        assert_string_equal(answer.entry.toolchain, why);
    } else {
        assert_string_equal(answer.note.why, why);
        assert_int_equal(answer.bytes.size, 0);
    }
    tkj_cache_answer_release(it->cache, &answer);
}

static void each_layer_can_be_asked_without_a_trace(void **state)
{
    cache_case *it = *state;
    tkj_cache_answer answer;
    tkj_cache_query query = cache_case_query(it);
    layer_case_fill(it, below(it, "one"), "one");
    layer_case_pack(it, below(it, "one/a.tkp"), "pack");
    layer_case_fill(it, it->root, "user");
    layer_case_flip(layer_case_file(it, it->root), 1);
    layer_case_open(it, below(it, "one"));
    assert_answer(it, &query, 1, TKJ_LAYER_PACK, TKJ_CACHE_HIT, "pack");
    assert_answer(it, &query, 2, TKJ_LAYER_READ_ONLY, TKJ_CACHE_HIT, "one");
    assert_answer(it, &query, 3, TKJ_LAYER_USER, TKJ_CACHE_CORRUPT, "its checksum does not match");
    assert_false(tkj_cache_ask(it->cache, &query, 0, &answer));
    assert_false(tkj_cache_ask(it->cache, &query, 4, &answer));
    query.toolchain = "one";
    assert_answer(it, &query, 1, TKJ_LAYER_PACK, TKJ_CACHE_ABSENT, "another toolchain compiled it");
    query.major++;
    assert_answer(it, &query, 1, TKJ_LAYER_PACK, TKJ_CACHE_ABSENT, "no entry");
    assert_answer(it, &query, 2, TKJ_LAYER_READ_ONLY, TKJ_CACHE_ABSENT, "no entry");
    assert_int_equal(atomic_load(&it->warnings), 0);
    assert_int_equal(atomic_load(&tkj_cache_counts(it->cache)->corrupt), 0);
    assert_int_equal(atomic_load(&tkj_cache_counts(it->cache)->hits[TKJ_LAYER_PACK]), 0);
}

static void without_a_layer_there_is_no_place_to_name(void **state)
{
    cache_case *it = *state;
    char text[64];
    tkj_text out = tkj_text_start(text, sizeof text);
    const tkj_cache_query query = cache_case_query(it);
    tkj_cache_options options = cache_case_options(it);
    options.mode = TOPK_JIT_MODE_OFF;
    cache_case_open(it, &options);
    assert_false(tkj_cache_explain_miss(it->cache, &query, &out));
    assert_string_equal(text, "");
}

/* ---- memory and threads ---- */

static void every_failing_allocation_is_a_miss_without_a_leak(void **state)
{
    cache_case *it = *state;
    bool failed = true;
    for (int nth = 1; failed; nth++) {
        const tkj_cache_query query = cache_case_query(it);
        open_every_kind(it);
        it->test.fail_at = atomic_load(&it->test.asked) + nth;
        tkj_cache_outcome outcome = cache_case_ask(it, &query);
        failed = tkj_test_allocator_failed(&it->test);
        it->test.fail_at = 0;
        assert_true(failed || outcome == TKJ_CACHE_HIT);
        assert_int_equal(cache_case_ask(it, &query), TKJ_CACHE_HIT);
        assert_int_equal(tkj_cache_user_layer(it->cache), 9);
        assert_in_range(nth, 1, 100);
    }
}

static void *ask_often(void *argument)
{
    cache_case *it = argument;
    const tkj_cache_query query = cache_case_query(it);
    intptr_t wrong = 0;
    for (int i = 0; i < 10; i++)
        wrong += cache_case_ask(it, &query) != TKJ_CACHE_HIT;
    return (void *)wrong;
}

static void threads_find_the_layers_together(void **state)
{
    cache_case *it = *state;
    pthread_t threads[4];
    open_every_kind(it);
    layer_case_flip(below(it, "z first/10.tkp"), 20);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_often, it), 0);
    for (size_t i = 0; i < 4; i++) {
        void *wrong = NULL;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_int_equal((intptr_t)wrong, 0);
    }
    assert_int_equal(atomic_load(&tkj_cache_counts(it->cache)->hits[TKJ_LAYER_PACK]), 40);
    assert_int_equal(tkj_cache_user_layer(it->cache), 9);
}

#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, layer_case_set_up, cache_case_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(layers_are_searched_in_their_order_behind_each_hit),
        TEST(memory_comes_before_all_of_them),
        TEST(hits_are_counted_by_the_kind_of_their_layer),
        TEST(memory_hit_reads_no_bytes),
        TEST(empty_words_of_the_list_are_no_layers),
        TEST(installed_directory_that_is_not_there_is_no_layer),
        TEST(mode_off_has_no_layer_but_memory),
        TEST(only_the_toolchain_that_is_asked_for_counts),
        TEST(entry_of_another_major_is_not_there),
        TEST(only_memory_and_the_users_directory_have_what_is_new),
        TEST(miss_is_explained_place_by_place),
        TEST(each_layer_can_be_asked_without_a_trace),
        TEST(without_a_layer_there_is_no_place_to_name),
        TEST(every_failing_allocation_is_a_miss_without_a_leak),
        TEST(threads_find_the_layers_together),
    };
    return cmocka_run_group_tests_name("cache_layers", tests, NULL, NULL);
}
