/* SPDX-License-Identifier: Apache-2.0 */
#include "testing.h"

#include <string.h>

#include "digest.h"

static void expect_digest(const void *bytes, size_t size, const char *expected)
{
    uint8_t digest[TKJ_DIGEST_SIZE];
    char text[2 * TKJ_DIGEST_SIZE + 1];
    tkj_digest(bytes, size, digest);
    tkj_digest_format(digest, text);
    assert_string_equal(text, expected);
}

/* The numbers that `xxh128sum` prints: entries on disk are found by them on every machine. */
static void digests_are_those_of_xxh3_128(void **state)
{
    (void)state;
    expect_digest("", 0, "99aa06d3014798d86001c324468d497f");
    expect_digest("topk_jit", 8, "a4f0059f71a1a907425a27eb29e451c3");
    char zeros[1000] = {0};
    expect_digest(zeros, sizeof zeros, "3fb94aea6d09b97224c1ea6074dd588c");
}

static void pieces_have_the_digest_of_the_same_bytes_in_one(void **state)
{
    (void)state;
    static uint8_t bytes[5000];
    uint8_t whole[TKJ_DIGEST_SIZE], parts[TKJ_DIGEST_SIZE];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 256);
    for (size_t size = 0; size <= sizeof bytes; size += 125) {
        const tkj_piece pieces[] = {
            {bytes, size / 3}, {NULL, 0}, {bytes + size / 3, size - size / 3}};
        tkj_digest(bytes, size, whole);
        tkj_digest_pieces(pieces, 3, parts);
        assert_memory_equal(whole, parts, TKJ_DIGEST_SIZE);
    }
    tkj_digest("", 0, whole);
    tkj_digest_pieces(NULL, 0, parts);
    assert_memory_equal(whole, parts, TKJ_DIGEST_SIZE);
}

static void size_counts_and_not_a_terminator(void **state)
{
    (void)state;
    uint8_t two[TKJ_DIGEST_SIZE], three[TKJ_DIGEST_SIZE];
    tkj_digest("ab\0", 2, two);
    tkj_digest("ab\0", 3, three);
    assert_memory_not_equal(two, three, TKJ_DIGEST_SIZE);
}

static void address_does_not_count(void **state)
{
    (void)state;
    char bytes[80];
    uint8_t first[TKJ_DIGEST_SIZE], other[TKJ_DIGEST_SIZE];
    for (size_t shift = 0; shift < 16; shift++) {
        memset(bytes, (int)shift, sizeof bytes);
        memcpy(bytes + shift, "the same sixty-four bytes, wherever they are in memory, 0123456789",
               64);
        tkj_digest(bytes + shift, 64, shift == 0 ? first : other);
        if (shift > 0)
            assert_memory_equal(first, other, TKJ_DIGEST_SIZE);
    }
}

static void text_is_lower_case_with_leading_zeros(void **state)
{
    (void)state;
    const uint8_t digest[TKJ_DIGEST_SIZE] = {0x00, 0x01, 0xAB, 0xCD, 0xEF, 0x10, 0x7F, 0x80,
                                             0xFF, 0x0A, 0xA0, 0,    0,    0,    0,    0x09};
    char text[2 * TKJ_DIGEST_SIZE + 1];
    memset(text, 'x', sizeof text);
    tkj_digest_format(digest, text);
    assert_string_equal(text, "0001abcdef107f80ff0aa00000000009");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_those_of_xxh3_128),
        cmocka_unit_test(pieces_have_the_digest_of_the_same_bytes_in_one),
        cmocka_unit_test(size_counts_and_not_a_terminator),
        cmocka_unit_test(address_does_not_count),
        cmocka_unit_test(text_is_lower_case_with_leading_zeros),
    };
    return cmocka_run_group_tests_name("digest", tests, NULL, NULL);
}
