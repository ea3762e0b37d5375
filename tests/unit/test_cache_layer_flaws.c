/* SPDX-License-Identifier: Apache-2.0 */
/* Layers and entries that are of no use: each is passed over for the next one, and said once. */
#include "layer_case.h"
#include "memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk_watch.h"

static const char *below(const cache_case *it, const char *name)
{
    return tkj_test_path(it->directory, name);
}

static void forget_warnings(cache_case *it)
{
    atomic_store(&it->warnings, 0);
}

/* Asserts that a place is passed over for the user's entry, with one warning in a cache's life. */
static void assert_passed_over(cache_case *it, const char *place, const char *why)
{
    layer_case_fill(it, it->root, "user");
    for (int life = 0; life < 2; life++) {
        layer_case_open(it, place);
        for (int i = 0; i < 3; i++)
            layer_case_assert_answer(it, "user");
        layer_case_assert_warned(it, 1, place);
        layer_case_assert_warned(it, 1, why);
        assert_int_equal(atomic_load(&tkj_cache_counts(it->cache)->corrupt), 0);
        forget_warnings(it);
    }
}

static void missing_directory_is_passed_over(void **state)
{
    assert_passed_over(*state, "/nonexistent/cache", "does not exist");
}

static void directory_that_cannot_be_opened_is_passed_over_with_its_packs(void **state)
{
    cache_case *it = *state;
    const char *place = below(it, "closed");
    layer_case_fill(it, place, "closed");
    layer_case_pack(it, below(it, "closed/a.tkp"), "pack");
    disk_watch_refuse(place, EACCES);
    assert_passed_over(it, place, "cannot be opened");
}

/* ---- a pack that changes under its name, as with an update or a mount that comes late ---- */

static void pack_that_takes_the_name_of_another_is_noticed(void **state)
{
    cache_case *it = *state;
    char pack[512], next[512];
    snprintf(pack, sizeof pack, "%s", below(it, "a.tkp"));
    snprintf(next, sizeof next, "%s", below(it, "next"));
    layer_case_pack(it, pack, "first");
    layer_case_open(it, pack);
    layer_case_assert_answer(it, "first");
    layer_case_pack(it, next, "second, which is longer");
    assert_int_equal(rename(next, pack), 0);
    layer_case_assert_answer(it, "second, which is longer");
    assert_int_equal(unlink(pack), 0);
    layer_case_assert_answer(it, "nobody");
    layer_case_assert_warned(it, 1, "it does not exist");
    layer_case_pack(it, pack, "third");
    layer_case_assert_answer(it, "third");
    assert_int_equal(atomic_load(&tkj_cache_counts(it->cache)->corrupt), 0);
}

static void pack_that_comes_or_is_repaired_later_is_used(void **state)
{
    cache_case *it = *state;
    char pack[512];
    snprintf(pack, sizeof pack, "%s", below(it, "a.tkp"));
    layer_case_open(it, pack);
    layer_case_assert_answer(it, "nobody");
    tkj_test_file_write(pack, "no pack at all", 14);
    layer_case_assert_answer(it, "nobody");
    layer_case_pack(it, pack, "sound");
    layer_case_assert_answer(it, "sound");
}

static void entry_that_was_refused_counts_no_more_but_another_one_does(void **state)
{
    cache_case *it = *state;
    tkj_cache_query query = cache_case_query(it);
    tkj_blob bytes;
    tkj_entry entry;
    size_t layer = 0;
    layer_case_fill(it, below(it, "one"), "one");
    layer_case_fill(it, below(it, "two"), "two");
    char places[1024];
    snprintf(places, sizeof places, "%s:%s", below(it, "one"), below(it, "two"));
    layer_case_open(it, places);
    assert_int_equal(tkj_cache_get(it->cache, &query, &layer, &bytes, &entry), TKJ_CACHE_HIT);
    uint8_t refused[TKJ_DIGEST_SIZE];
    memcpy(refused, bytes.bytes + bytes.size - sizeof refused, sizeof refused);
    tkj_free(&it->test.allocator, bytes.bytes);
    query.refused = refused;
    layer = 0;
    assert_string_equal(layer_case_ask(it, &query, &layer), "two");
    assert_int_equal(atomic_load(&it->warnings), 0);
}

static void directory_that_others_can_write_is_passed_over_with_its_packs(void **state)
{
    cache_case *it = *state;
    const char *place = below(it, "open");
    layer_case_fill(it, place, "open");
    layer_case_pack(it, below(it, "open/a.tkp"), "pack");
    assert_int_equal(chmod(place, 0777), 0);
    assert_passed_over(it, place, "is writable by its group or by everybody");
}

static void directory_behind_a_link_is_passed_over(void **state)
{
    cache_case *it = *state;
    const char *place = below(it, "link");
    layer_case_fill(it, below(it, "target"), "target");
    assert_int_equal(symlink(below(it, "target"), place), 0);
    assert_passed_over(it, place, "is a symbolic link");
}

static void file_in_a_directorys_place_is_passed_over(void **state)
{
    cache_case *it = *state;
    tkj_test_file_write(below(it, "file"), "x", 1);
    assert_passed_over(it, below(it, "file"), "is not a directory");
}

static void pack_that_others_can_write_is_passed_over(void **state)
{
    cache_case *it = *state;
    const char *place = below(it, "a.tkp");
    layer_case_pack(it, place, "pack");
    assert_int_equal(chmod(place, 0666), 0);
    assert_passed_over(it, place, "others can write it");
}

static void pack_that_is_cut_or_altered_is_passed_over(void **state)
{
    cache_case *it = *state;
    struct stat status;
    const char *place = below(it, "a.tkp");
    layer_case_pack(it, place, "pack");
    assert_int_equal(stat(place, &status), 0);
    layer_case_flip(place, (long)status.st_size - 70); /* in the index */
    assert_passed_over(it, place, "the checksum of its index does not match");
    layer_case_pack(it, place, "pack");
    assert_int_equal(truncate(place, status.st_size - 1), 0);
    assert_passed_over(it, place, "it is cut short");
    assert_int_equal(truncate(place, 0), 0);
    assert_passed_over(it, place, "it is not a pack");
    assert_int_equal(unlink(place), 0);
    assert_passed_over(it, place, "it does not exist");
}

static void pack_of_no_use_hides_no_other_one(void **state)
{
    cache_case *it = *state;
    layer_case_fill(it, below(it, "one"), "one");
    tkj_test_file_write(below(it, "one/a.tkp"), "x", 1);
    layer_case_pack(it, below(it, "one/b.tkp"), "pack-b");
    layer_case_open(it, below(it, "one"));
    layer_case_assert_answer(it, "pack-b");
    layer_case_assert_warned(it, 1, "one/a.tkp");
}

/* ---- entries that are of no use ---- */

static void corrupt_entry_gives_way_to_the_next_layer_and_is_counted(void **state)
{
    cache_case *it = *state;
    char ro_dirs[512];
    snprintf(ro_dirs, sizeof ro_dirs, "%s:%s", below(it, "a.tkp"), below(it, "one"));
    layer_case_pack(it, below(it, "a.tkp"), "pack");
    layer_case_fill(it, below(it, "one"), "one");
    layer_case_fill(it, it->root, "user");
    layer_case_open(it, ro_dirs);
    layer_case_flip(below(it, "a.tkp"), 20); /* the entry's checksum, before the pack's */
    layer_case_assert_answer(it, "one");
    layer_case_assert_warned(it, 1, "a.tkp");
    assert_int_equal(atomic_load(&tkj_cache_counts(it->cache)->corrupt), 1);
    layer_case_flip(layer_case_file(it, below(it, "one")), 1);
    layer_case_assert_answer(it, "user");
    assert_int_equal(atomic_load(&tkj_cache_counts(it->cache)->corrupt), 3);
    layer_case_flip(layer_case_file(it, it->root), 1);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_CORRUPT);
}

static int set_up(void **state)
{
    disk_watch_start(NULL);
    return layer_case_set_up(state);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, cache_case_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pack_that_takes_the_name_of_another_is_noticed),
        TEST(pack_that_comes_or_is_repaired_later_is_used),
        TEST(entry_that_was_refused_counts_no_more_but_another_one_does),
        TEST(missing_directory_is_passed_over),
        TEST(directory_that_cannot_be_opened_is_passed_over_with_its_packs),
        TEST(directory_that_others_can_write_is_passed_over_with_its_packs),
        TEST(directory_behind_a_link_is_passed_over),
        TEST(file_in_a_directorys_place_is_passed_over),
        TEST(pack_that_others_can_write_is_passed_over),
        TEST(pack_that_is_cut_or_altered_is_passed_over),
        TEST(pack_of_no_use_hides_no_other_one),
        TEST(corrupt_entry_gives_way_to_the_next_layer_and_is_counted),
    };
    return cmocka_run_group_tests_name("cache_layer_flaws", tests, NULL, NULL);
}
