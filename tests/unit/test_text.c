/* SPDX-License-Identifier: Apache-2.0 */
#include "testing.h"

#include <string.h>

#include "text.h"

static void new_text_is_empty(void **state)
{
    (void)state;
    char at[] = "what was there";
    const tkj_text text = tkj_text_start(at, sizeof at);
    assert_int_equal(text.used, 0);
    assert_string_equal(at, "");
}

static void pieces_follow_each_other(void **state)
{
    (void)state;
    char at[64];
    tkj_text text = tkj_text_start(at, sizeof at);
    tkj_text_append(&text, "kernel %s", "general");
    tkj_text_append(&text, ", %zu bytes%c", (size_t)4096, ';');
    assert_string_equal(at, "kernel general, 4096 bytes;");
    assert_int_equal(text.used, strlen(at));
}

static void empty_piece_changes_nothing(void **state)
{
    (void)state;
    char at[8];
    tkj_text text = tkj_text_start(at, sizeof at);
    tkj_text_append(&text, "ab");
    tkj_text_append(&text, "%s", "");
    assert_string_equal(at, "ab");
    assert_int_equal(text.used, 2);
}

static void text_is_cut_where_the_room_ends_and_counted_whole(void **state)
{
    (void)state;
    const char whole[] = "one, two, three";
    const size_t length = strlen(whole);
    for (size_t capacity = 0; capacity <= length + 1; capacity++) {
        char at[sizeof whole + 1];
        memset(at, '#', sizeof at);
        tkj_text text = tkj_text_start(at, capacity);
        tkj_text_append(&text, "one");
        tkj_text_append(&text, ", %s", "two");
        tkj_text_append(&text, ", three");
        assert_int_equal(text.used, length);
        assert_memory_equal(at, whole, capacity > 0 ? capacity - 1 : 0);
        if (capacity > 0)
            assert_int_equal(at[capacity - 1], '\0');
        assert_int_equal(at[capacity], '#');
    }
}

/* A short piece would fit where a long one did not: the text would have a hole. */
static void nothing_follows_a_cut(void **state)
{
    (void)state;
    char at[8];
    tkj_text text = tkj_text_start(at, sizeof at);
    tkj_text_append(&text, "longer than that");
    tkj_text_append(&text, "!");
    assert_string_equal(at, "longer ");
    assert_int_equal(text.used, strlen("longer than that!"));
}

static void text_without_room_needs_no_buffer(void **state)
{
    (void)state;
    tkj_text text = tkj_text_start(NULL, 0);
    tkj_text_append(&text, "%d", 1234);
    assert_null(text.at);
    assert_int_equal(text.used, 4);
}

static void noun_is_that_of_its_number(void **state)
{
    (void)state;
    assert_string_equal(tkj_plural(0, "entry", "entries"), "entries");
    assert_string_equal(tkj_plural(1, "entry", "entries"), "entry");
    assert_string_equal(tkj_plural(2, "entry", "entries"), "entries");
    assert_string_equal(tkj_plural(UINT64_MAX, "entry", "entries"), "entries");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_text_is_empty),
        cmocka_unit_test(pieces_follow_each_other),
        cmocka_unit_test(empty_piece_changes_nothing),
        cmocka_unit_test(text_is_cut_where_the_room_ends_and_counted_whole),
        cmocka_unit_test(nothing_follows_a_cut),
        cmocka_unit_test(text_without_room_needs_no_buffer),
        cmocka_unit_test(noun_is_that_of_its_number),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
