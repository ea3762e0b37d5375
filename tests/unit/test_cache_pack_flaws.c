/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_case.h"

#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "digest.h"

/* Makes both checksums true again after a change, to reach the checks behind them. */
static void reseal(tkj_blob *pack)
{
    size_t index_size = (size_t)tkj_bytes_get(pack->bytes + PACK_COUNT_AT, 4) * PACK_RECORD_SIZE;
    size_t digest_at = pack->size - TKJ_DIGEST_SIZE;
    if (PACK_INDEX_AT + index_size <= digest_at)
        tkj_digest(pack->bytes + PACK_INDEX_AT, index_size, pack->bytes + PACK_INDEX_DIGEST_AT);
    tkj_digest(pack->bytes, digest_at, pack->bytes + digest_at);
}

static void assert_flaw(const char *flaw, const char *expected)
{
    assert_non_null(flaw);
    assert_string_equal(flaw, expected);
}

/* The flaw shows in header and index alone, and in the whole file. */
static void assert_index_flaw(tkj_blob *pack, const char *expected)
{
    reseal(pack);
    assert_flaw(pack_case_decode_head(pack->bytes, pack->size, pack->size), expected);
    assert_flaw(pack_case_verify(pack->bytes, pack->size), expected);
    pack_case_release(pack);
}

/* Of a pack of three, with one number in it changed. */
static void assert_flaw_after(size_t at, uint64_t value, size_t width, const char *expected)
{
    tkj_blob pack = pack_case_of(PACK_CASE_TRIO);
    assert_true(tkj_bytes_get(pack.bytes + at, width) != value);
    tkj_bytes_put(pack.bytes + at, value, width);
    assert_index_flaw(&pack, expected);
}

static void assert_record_flaw(size_t position, size_t at, uint64_t value, size_t width,
                               const char *expected)
{
    assert_flaw_after(PACK_INDEX_AT + position * PACK_RECORD_SIZE + at, value, width, expected);
}

static void every_flipped_byte_is_detected(void **state)
{
    (void)state;
    tkj_blob pack = pack_case_of(PACK_CASE_TRIO);
    for (size_t i = 0; i < pack.size; i++)
        for (unsigned flip = 1; flip < 256; flip = flip * 2 + 1) {
            pack.bytes[i] ^= (uint8_t)flip;
            assert_non_null(pack_case_verify(pack.bytes, pack.size));
            pack.bytes[i] ^= (uint8_t)flip;
        }
    assert_null(pack_case_verify(pack.bytes, pack.size));
    pack_case_release(&pack);
}

static void flipped_byte_of_the_head_is_detected_without_the_rest(void **state)
{
    (void)state;
    tkj_blob pack = pack_case_of(PACK_CASE_TRIO);
    size_t head_size;
    assert_null(tkj_pack_head_size(pack.bytes, PACK_INDEX_AT, pack.size, &head_size));
    assert_int_equal(head_size, PACK_INDEX_AT + PACK_CASE_TRIO * PACK_RECORD_SIZE);
    assert_null(pack_case_decode_head(pack.bytes, head_size, pack.size));
    for (size_t i = 0; i < head_size; i++) {
        pack.bytes[i] ^= 0x10;
        assert_non_null(pack_case_decode_head(pack.bytes, head_size, pack.size));
        pack.bytes[i] ^= 0x10;
    }
    pack_case_release(&pack);
}

static void every_truncated_prefix_is_detected(void **state)
{
    (void)state;
    tkj_blob pack = pack_case_of(PACK_CASE_TRIO);
    for (size_t size = 0; size < pack.size; size++) {
        assert_non_null(pack_case_verify(pack.bytes, size));
        assert_non_null(pack_case_decode_head(pack.bytes, size, size));
    }
    assert_flaw(pack_case_verify(pack.bytes, 7), "it is not a pack");
    assert_flaw(pack_case_verify(pack.bytes, PACK_INDEX_AT - 1), "it is cut inside its header");
    assert_flaw(pack_case_verify(pack.bytes, PACK_INDEX_AT), "it is cut short");
    pack_case_release(&pack);
}

static void head_that_ends_early_is_told_whatever_the_file_has(void **state)
{
    (void)state;
    tkj_blob pack = pack_case_of(PACK_CASE_TRIO);
    for (size_t size = PACK_INDEX_AT; size < PACK_INDEX_AT + PACK_CASE_TRIO * PACK_RECORD_SIZE;
         size++)
        assert_flaw(pack_case_decode_head(pack.bytes, size, pack.size),
                    "it is cut inside its index");
    pack_case_release(&pack);
}

static void appended_bytes_are_detected(void **state)
{
    (void)state;
    tkj_blob pack = pack_case_of(PACK_CASE_TRIO);
    uint8_t *longer = calloc(pack.size + 64, 1);
    assert_non_null(longer);
    memcpy(longer, pack.bytes, pack.size);
    for (size_t more = 1; more <= 64; more++)
        assert_flaw(pack_case_verify(longer, pack.size + more), "bytes were appended to it");
    free(longer);
    pack_case_release(&pack);
}

static void other_format_version_is_told_before_anything_else(void **state)
{
    (void)state;
    assert_flaw_after(PACK_VERSION_AT, 2, 4, "it has another format version");
    assert_flaw_after(PACK_VERSION_AT, 1u << 24 | 1u, 4, "it has another format version");
    assert_flaw_after(0, 0x88, 1, "it is not a pack");
    assert_flaw_after(3, 'C', 1, "it is not a pack");
}

static void magic_tells_a_pack_of_any_version(void **state)
{
    (void)state;
    tkj_blob pack = pack_case_of(1);
    tkj_bytes_put(pack.bytes + PACK_VERSION_AT, 2, 4);
    assert_true(tkj_pack_has_magic(pack.bytes, 8));
    assert_false(tkj_pack_has_magic(pack.bytes, 7));
    assert_false(tkj_entry_has_magic(pack.bytes, pack.size));
    pack.bytes[3] = 'C';
    assert_false(tkj_pack_has_magic(pack.bytes, 8));
    pack_case_release(&pack);
}

static void header_ends_with_zeros(void **state)
{
    (void)state;
    for (size_t i = PACK_ZEROS_AT; i < PACK_INDEX_AT; i++)
        assert_flaw_after(i, 1, 1, "its header does not end with zeros");
}

static void count_must_be_possible_and_fit(void **state)
{
    (void)state;
    assert_flaw_after(PACK_COUNT_AT, TKJ_PACK_COUNT_MAX + 1, 4,
                      "it has more entries than any pack");
    assert_flaw_after(PACK_COUNT_AT, UINT32_MAX, 4, "it has more entries than any pack");
    assert_flaw_after(PACK_COUNT_AT, TKJ_PACK_COUNT_MAX, 4, "its index does not fit into it");
    assert_flaw_after(PACK_COUNT_AT, PACK_CASE_TRIO - 1, 4,
                      "an entry in it is not where what is before ends");
    assert_flaw_after(PACK_COUNT_AT, 0, 4, "its digest is not where its entries end");
}

static void size_must_be_that_of_the_file(void **state)
{
    (void)state;
    assert_flaw_after(PACK_FILE_SIZE_AT, 80, 8, "bytes were appended to it");
    assert_flaw_after(PACK_FILE_SIZE_AT, UINT64_MAX, 8, "it is cut short");
    tkj_blob pack = pack_case_of(0);
    tkj_bytes_put(pack.bytes + PACK_FILE_SIZE_AT, pack.size - 1, 8);
    assert_flaw(pack_case_verify(pack.bytes, pack.size - 1), "its index does not fit into it");
    pack_case_release(&pack);
    pack = pack_case_of(PACK_CASE_TRIO);
    tkj_bytes_put(pack.bytes + PACK_FILE_SIZE_AT, TKJ_PACK_SIZE_MAX, 8);
    assert_flaw(pack_case_decode_head(pack.bytes, pack.size, TKJ_PACK_SIZE_MAX),
                "its digest is not where its entries end");
    tkj_bytes_put(pack.bytes + PACK_FILE_SIZE_AT, TKJ_PACK_SIZE_MAX + 1, 8);
    assert_flaw(pack_case_decode_head(pack.bytes, pack.size, TKJ_PACK_SIZE_MAX + 1),
                "it is larger than any pack");
    pack_case_release(&pack);
}

static void index_must_be_sorted(void **state)
{
    (void)state;
    tkj_blob pack = pack_case_of(PACK_CASE_TRIO);
    uint8_t key[TKJ_DIGEST_SIZE];
    memcpy(key, pack_case_record(&pack, 0), sizeof key);
    memcpy(pack_case_record(&pack, 0), pack_case_record(&pack, 1), sizeof key);
    memcpy(pack_case_record(&pack, 1), key, sizeof key);
    assert_index_flaw(&pack, "its index is not sorted");
}

static void majors_of_one_key_must_be_sorted(void **state)
{
    (void)state;
    tkj_blob pack = pack_case_of(PACK_CASE_TRIO);
    memcpy(pack_case_record(&pack, 2), pack_case_record(&pack, 1), TKJ_DIGEST_SIZE);
    tkj_bytes_put(pack_case_record(&pack, 2) + PACK_MAJOR_IN_RECORD, 12, 4);
    assert_index_flaw(&pack, "its index is not sorted");
}

static void no_entry_may_be_there_twice(void **state)
{
    (void)state;
    tkj_blob pack = pack_case_of(PACK_CASE_TRIO);
    memcpy(pack_case_record(&pack, 2), pack_case_record(&pack, 1), TKJ_DIGEST_SIZE);
    assert_index_flaw(&pack, "an entry in it is there twice");
}

static void entries_may_not_overlap(void **state)
{
    (void)state;
    tkj_blob pack = pack_case_of(PACK_CASE_TRIO);
    uint64_t first = pack_case_offset(&pack, 0), second = pack_case_offset(&pack, 1);
    pack_case_release(&pack);
    const char *expected = "an entry in it overlaps what is before";
    assert_record_flaw(0, PACK_OFFSET_IN_RECORD, 0, 8, expected);
    assert_record_flaw(0, PACK_OFFSET_IN_RECORD, first - 64, 8, expected);
    assert_record_flaw(1, PACK_OFFSET_IN_RECORD, first, 8, expected);
    assert_record_flaw(1, PACK_OFFSET_IN_RECORD, second - 64, 8, expected);
    assert_record_flaw(0, PACK_SIZE_IN_RECORD, second - first + 1, 4, expected);
}

static void entries_have_the_one_place_that_is_left(void **state)
{
    (void)state;
    tkj_blob pack = pack_case_of(PACK_CASE_TRIO);
    uint64_t second = pack_case_offset(&pack, 1);
    pack_case_release(&pack);
    const char *expected = "an entry in it is not where what is before ends";
    assert_record_flaw(1, PACK_OFFSET_IN_RECORD, second + 64, 8, expected);
    assert_record_flaw(1, PACK_OFFSET_IN_RECORD, second + 1, 8, expected);
    assert_record_flaw(1, PACK_OFFSET_IN_RECORD, second - 1, 8, expected);
    assert_record_flaw(0, PACK_SIZE_IN_RECORD, 1, 4, expected);
}

static void entries_lie_within_the_file(void **state)
{
    (void)state;
    tkj_blob pack = pack_case_of(PACK_CASE_TRIO);
    uint64_t size = tkj_bytes_get(pack_case_record(&pack, 2) + PACK_SIZE_IN_RECORD, 4);
    uint64_t file_size = pack.size;
    pack_case_release(&pack);
    const char *expected = "an entry in it lies beyond its end";
    assert_record_flaw(2, PACK_OFFSET_IN_RECORD, file_size, 8, expected);
    assert_record_flaw(2, PACK_OFFSET_IN_RECORD, file_size - TKJ_DIGEST_SIZE, 8, expected);
    assert_record_flaw(2, PACK_SIZE_IN_RECORD, size + 1, 4, expected); /* into the digest */
    assert_record_flaw(0, PACK_SIZE_IN_RECORD, TKJ_ENTRY_SIZE_MAX, 4, expected);
    assert_record_flaw(2, PACK_SIZE_IN_RECORD, size - 1, 4,
                       "its digest is not where its entries end");
}

static void offsets_whose_sums_overflow_lie_beyond_the_file(void **state)
{
    (void)state;
    const char *expected = "an entry in it lies beyond its end";
    for (unsigned bit = 32; bit < 64; bit++)
        assert_record_flaw(1, PACK_OFFSET_IN_RECORD, UINT64_C(1) << bit, 8, expected);
    assert_record_flaw(1, PACK_OFFSET_IN_RECORD, UINT64_MAX, 8, expected);
    assert_record_flaw(1, PACK_OFFSET_IN_RECORD, UINT64_MAX - 63, 8, expected);
    assert_record_flaw(1, PACK_OFFSET_IN_RECORD, UINT64_MAX - 400 + 192, 8, expected);
    tkj_blob pack = pack_case_of(PACK_CASE_TRIO); /* right in its low 32 bits */
    uint64_t right = pack_case_offset(&pack, 1);
    pack_case_release(&pack);
    assert_record_flaw(1, PACK_OFFSET_IN_RECORD, right | UINT64_C(1) << 32, 8, expected);
}

static void sizes_of_entries_must_be_possible(void **state)
{
    (void)state;
    const char *expected = "the size of an entry in it is impossible";
    assert_record_flaw(1, PACK_SIZE_IN_RECORD, 0, 4, expected);
    assert_record_flaw(1, PACK_SIZE_IN_RECORD, TKJ_ENTRY_SIZE_MAX + 1, 4, expected);
    assert_record_flaw(1, PACK_SIZE_IN_RECORD, UINT32_MAX, 4, expected);
}

/* What only the whole file shows: the index is sound. */
static void assert_content_flaw(tkj_blob *pack, const char *expected)
{
    reseal(pack);
    assert_null(pack_case_decode_head(pack->bytes, pack->size, pack->size));
    assert_flaw(pack_case_verify(pack->bytes, pack->size), expected);
    pack_case_release(pack);
}

static void checksum_covers_what_the_index_does_not(void **state)
{
    (void)state;
    tkj_blob pack = pack_case_of(PACK_CASE_TRIO);
    pack.bytes[pack_case_offset(&pack, 1)] ^= 1;
    assert_null(pack_case_decode_head(pack.bytes, pack.size, pack.size));
    assert_flaw(pack_case_verify(pack.bytes, pack.size), "its checksum does not match");
    pack_case_release(&pack);
}

static void damaged_entry_is_detected_under_a_right_checksum(void **state)
{
    (void)state;
    for (size_t position = 0; position < PACK_CASE_TRIO; position++) {
        tkj_blob pack = pack_case_of(PACK_CASE_TRIO);
        pack.bytes[pack_case_offset(&pack, position) + 100] ^= 1;
        assert_content_flaw(&pack, "an entry in it is damaged");
    }
}

static void entry_under_another_key_is_detected(void **state)
{
    (void)state;
    for (size_t position = 0; position < PACK_CASE_TRIO; position++) {
        tkj_blob pack = pack_case_of(PACK_CASE_TRIO);
        pack_case_record(&pack, position)[TKJ_DIGEST_SIZE - 1] ^= 1;
        assert_content_flaw(&pack, "an entry in it is not under its key");
    }
}

static void padding_must_be_zero(void **state)
{
    (void)state;
    for (size_t position = 0; position < PACK_CASE_TRIO; position++) {
        tkj_blob pack = pack_case_of(PACK_CASE_TRIO);
        pack.bytes[pack_case_offset(&pack, position) - 1] = 1;
        assert_content_flaw(&pack, "its padding is not zero");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_flipped_byte_is_detected),
        cmocka_unit_test(flipped_byte_of_the_head_is_detected_without_the_rest),
        cmocka_unit_test(every_truncated_prefix_is_detected),
        cmocka_unit_test(head_that_ends_early_is_told_whatever_the_file_has),
        cmocka_unit_test(appended_bytes_are_detected),
        cmocka_unit_test(other_format_version_is_told_before_anything_else),
        cmocka_unit_test(magic_tells_a_pack_of_any_version),
        cmocka_unit_test(header_ends_with_zeros),
        cmocka_unit_test(count_must_be_possible_and_fit),
        cmocka_unit_test(size_must_be_that_of_the_file),
        cmocka_unit_test(index_must_be_sorted),
        cmocka_unit_test(majors_of_one_key_must_be_sorted),
        cmocka_unit_test(no_entry_may_be_there_twice),
        cmocka_unit_test(entries_may_not_overlap),
        cmocka_unit_test(entries_have_the_one_place_that_is_left),
        cmocka_unit_test(entries_lie_within_the_file),
        cmocka_unit_test(offsets_whose_sums_overflow_lie_beyond_the_file),
        cmocka_unit_test(sizes_of_entries_must_be_possible),
        cmocka_unit_test(checksum_covers_what_the_index_does_not),
        cmocka_unit_test(damaged_entry_is_detected_under_a_right_checksum),
        cmocka_unit_test(entry_under_another_key_is_detected),
        cmocka_unit_test(padding_must_be_zero),
    };
    return cmocka_run_group_tests_name("cache_pack_flaws", tests, NULL, NULL);
}
