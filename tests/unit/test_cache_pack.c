/* SPDX-License-Identifier: Apache-2.0 */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "digest.h"
#include "entry.h"
#include "memory.h"
#include "pack.h"

/* Offsets of the format, as README.md of the cache has them. */
enum {
    VERSION_AT = 8,
    COUNT_AT = 12,
    FILE_SIZE_AT = 16,
    INDEX_DIGEST_AT = 24,
    ZEROS_AT = 40,
    INDEX_AT = 64,
    RECORD_SIZE = 32,
    MAJOR_IN_RECORD = 16,
    SIZE_IN_RECORD = 20,
    OFFSET_IN_RECORD = 24,
};

#define TRIO 3
#define MANY 1000

/* An entry whose preimage is the number, and the key of it. */
static tkj_pack_item item_of(unsigned number, uint32_t major)
{
    static const uint8_t payload[] = {0x7f, 'E', 'L', 'F', 5};
    char preimage[16];
    snprintf(preimage, sizeof preimage, "number %u", number);
    const tkj_entry entry = {
        .kind = TKJ_PAYLOAD_CUBIN,
        .target = "sm_90",
        .toolchain = "nvrtc 13.0",
        .library = "0.1.0",
        .preimage = preimage,
        .entry_name = "topk_jit_general_k2048_f32",
        .payload = payload,
        .payload_size = sizeof payload,
    };
    tkj_pack_item item = {.major = major};
    assert_int_equal(tkj_entry_encode(&tkj_default_allocator, &entry, &item.bytes), TOPK_JIT_OK);
    tkj_digest(preimage, strlen(preimage), item.key);
    return item;
}

static void release(tkj_blob *blob)
{
    tkj_free(&tkj_default_allocator, blob->bytes);
}

static void release_items(tkj_pack_item *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        release(&items[i].bytes);
}

static tkj_blob encode(tkj_pack_item *items, size_t count)
{
    tkj_blob pack = {NULL, 0};
    assert_int_equal(tkj_pack_encode(&tkj_default_allocator, items, count, &pack), TOPK_JIT_OK);
    return pack;
}

static tkj_blob pack_of(unsigned count)
{
    tkj_pack_item *items = calloc(count + 1, sizeof *items);
    assert_non_null(items);
    for (unsigned i = 0; i < count; i++)
        items[i] = item_of(i, 13);
    tkj_blob pack = encode(items, count);
    release_items(items, count);
    free(items);
    return pack;
}

/* A copy that ends where its memory ends, so that a sanitizer sees any read beyond it. */
static uint8_t *copy_of(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    return copy;
}

static const char *verify_copy(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = copy_of(bytes, size);
    const char *flaw = tkj_pack_verify(copy, size);
    free(copy);
    return flaw;
}

/* Decodes the index from as many bytes as head_size says, of a file of file_size. */
static const char *decode_head(const uint8_t *head, size_t head_size, uint64_t file_size)
{
    tkj_pack_index index = {head, 77};
    uint8_t *copy = copy_of(head, head_size);
    const char *flaw = tkj_pack_index_decode(copy, head_size, file_size, &index);
    if (flaw != NULL) {
        assert_null(index.records);
        assert_int_equal(index.count, 0);
    }
    free(copy);
    return flaw;
}

static tkj_pack_index index_of(const tkj_blob *pack)
{
    tkj_pack_index index;
    assert_null(tkj_pack_index_decode(pack->bytes, pack->size, pack->size, &index));
    return index;
}

static uint8_t *record_of(tkj_blob *pack, size_t position)
{
    return pack->bytes + INDEX_AT + position * RECORD_SIZE;
}

static uint64_t offset_of(tkj_blob *pack, size_t position)
{
    return tkj_bytes_get(record_of(pack, position) + OFFSET_IN_RECORD, 8);
}

/* Makes both checksums true again after a change, to reach the checks behind them. */
static void reseal(tkj_blob *pack)
{
    size_t index_size = (size_t)tkj_bytes_get(pack->bytes + COUNT_AT, 4) * RECORD_SIZE;
    size_t digest_at = pack->size - TKJ_DIGEST_SIZE;
    if (INDEX_AT + index_size <= digest_at)
        tkj_digest(pack->bytes + INDEX_AT, index_size, pack->bytes + INDEX_DIGEST_AT);
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
    assert_flaw(decode_head(pack->bytes, pack->size, pack->size), expected);
    assert_flaw(verify_copy(pack->bytes, pack->size), expected);
    release(pack);
}

/* Of a pack of three, with one number in it changed. */
static void assert_flaw_after(size_t at, uint64_t value, size_t width, const char *expected)
{
    tkj_blob pack = pack_of(TRIO);
    assert_true(tkj_bytes_get(pack.bytes + at, width) != value);
    tkj_bytes_put(pack.bytes + at, value, width);
    assert_index_flaw(&pack, expected);
}

static void assert_record_flaw(size_t position, size_t at, uint64_t value, size_t width,
                               const char *expected)
{
    assert_flaw_after(INDEX_AT + position * RECORD_SIZE + at, value, width, expected);
}

static void format_is_the_documented_one(void **state)
{
    (void)state;
    static const uint8_t head[] = {0x89, 'T', 'K', 'P', '\r', '\n', 0x1a, '\n',
                                   1,    0,   0,   0,   1,    0,    0,    0};
    static const uint8_t zeros[INDEX_AT - ZEROS_AT] = {0};
    tkj_pack_item item = item_of(7, 0x01020304);
    tkj_blob pack = encode(&item, 1);
    size_t entry_at = 128; /* 64 + 32 rounded up to 64 */
    uint8_t digest[TKJ_DIGEST_SIZE];
    assert_int_equal(pack.size, entry_at + item.bytes.size + TKJ_DIGEST_SIZE);
    assert_memory_equal(pack.bytes, head, sizeof head);
    assert_int_equal(tkj_bytes_get(pack.bytes + FILE_SIZE_AT, 8), pack.size);
    tkj_digest(pack.bytes + INDEX_AT, RECORD_SIZE, digest);
    assert_memory_equal(pack.bytes + INDEX_DIGEST_AT, digest, sizeof digest);
    assert_memory_equal(pack.bytes + ZEROS_AT, zeros, sizeof zeros);
    assert_memory_equal(pack.bytes + INDEX_AT, item.key, TKJ_DIGEST_SIZE);
    assert_memory_equal(pack.bytes + INDEX_AT + MAJOR_IN_RECORD, "\4\3\2\1", 4);
    assert_int_equal(tkj_bytes_get(record_of(&pack, 0) + SIZE_IN_RECORD, 4), item.bytes.size);
    assert_int_equal(offset_of(&pack, 0), entry_at);
    assert_memory_equal(pack.bytes + INDEX_AT + RECORD_SIZE, zeros, 8);
    assert_memory_equal(pack.bytes + entry_at, item.bytes.bytes, item.bytes.size);
    tkj_digest(pack.bytes, pack.size - sizeof digest, digest);
    assert_memory_equal(pack.bytes + pack.size - sizeof digest, digest, sizeof digest);
    release(&pack);
    release(&item.bytes);
}

static void empty_pack_is_sound_and_has_nothing(void **state)
{
    (void)state;
    static const uint8_t key[TKJ_DIGEST_SIZE] = {0};
    tkj_pack_record record;
    tkj_blob pack = encode(NULL, 0);
    assert_int_equal(pack.size, INDEX_AT + TKJ_DIGEST_SIZE);
    assert_null(verify_copy(pack.bytes, pack.size));
    tkj_pack_index index = index_of(&pack);
    assert_int_equal(index.count, 0);
    assert_false(tkj_pack_find(&index, key, 0, &record));
    release(&pack);
}

static void assert_found(const tkj_blob *pack, const tkj_pack_item *item)
{
    tkj_pack_index index = index_of(pack);
    tkj_pack_record record;
    assert_true(tkj_pack_find(&index, item->key, item->major, &record));
    assert_memory_equal(record.key, item->key, TKJ_DIGEST_SIZE);
    assert_int_equal(record.major, item->major);
    assert_int_equal(record.offset % 64, 0);
    assert_int_equal(record.size, item->bytes.size);
    assert_memory_equal(pack->bytes + record.offset, item->bytes.bytes, item->bytes.size);
}

static void every_entry_of_many_is_found_and_no_other(void **state)
{
    (void)state;
    static tkj_pack_item items[MANY];
    for (unsigned i = 0; i < MANY; i++)
        items[i] = item_of(i, i % 3);
    tkj_blob pack = encode(items, MANY);
    assert_null(verify_copy(pack.bytes, pack.size));
    tkj_pack_index index = index_of(&pack);
    tkj_pack_record record;
    for (size_t i = 0; i < MANY; i++) {
        assert_found(&pack, &items[i]);
        assert_false(tkj_pack_find(&index, items[i].key, items[i].major + 1, &record));
        uint8_t other[TKJ_DIGEST_SIZE];
        memcpy(other, items[i].key, sizeof other);
        other[TKJ_DIGEST_SIZE - 1] ^= 1;
        assert_false(tkj_pack_find(&index, other, items[i].major, &record));
    }
    release(&pack);
    release_items(items, MANY);
}

static void keys_at_both_ends_of_all_are_not_found(void **state)
{
    (void)state;
    uint8_t key[TKJ_DIGEST_SIZE];
    tkj_pack_record record;
    tkj_blob pack = pack_of(TRIO);
    tkj_pack_index index = index_of(&pack);
    memset(key, 0, sizeof key);
    assert_false(tkj_pack_find(&index, key, 13, &record));
    memset(key, 0xff, sizeof key);
    assert_false(tkj_pack_find(&index, key, UINT32_MAX, &record));
    release(&pack);
}

static void one_key_of_two_majors_is_two_entries(void **state)
{
    (void)state;
    tkj_pack_item items[] = {item_of(1, 0x0100), item_of(1, 0x00ff)};
    tkj_blob pack = encode(items, 2);
    assert_null(verify_copy(pack.bytes, pack.size));
    assert_int_equal(items[0].major, 0x00ff); /* as numbers, not as little-endian bytes */
    assert_found(&pack, &items[0]);
    assert_found(&pack, &items[1]);
    release(&pack);
    release_items(items, 2);
}

static void same_entries_are_the_same_bytes_in_any_order(void **state)
{
    (void)state;
    static const unsigned orders[][TRIO] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                            {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    tkj_blob first = pack_of(TRIO);
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        tkj_test_allocator test; /* fills new memory with another byte than malloc */
        tkj_test_allocator_init(&test, 0);
        tkj_pack_item items[TRIO];
        for (size_t k = 0; k < TRIO; k++)
            items[k] = item_of(orders[i][k], 13);
        tkj_blob pack = {NULL, 0};
        assert_int_equal(tkj_pack_encode(&test.allocator, items, TRIO, &pack), TOPK_JIT_OK);
        assert_int_equal(pack.size, first.size);
        assert_memory_equal(pack.bytes, first.bytes, first.size);
        tkj_free(&test.allocator, pack.bytes);
        release_items(items, TRIO);
    }
    release(&first);
}

static void every_flipped_byte_is_detected(void **state)
{
    (void)state;
    tkj_blob pack = pack_of(TRIO);
    for (size_t i = 0; i < pack.size; i++)
        for (unsigned flip = 1; flip < 256; flip = flip * 2 + 1) {
            pack.bytes[i] ^= (uint8_t)flip;
            assert_non_null(verify_copy(pack.bytes, pack.size));
            pack.bytes[i] ^= (uint8_t)flip;
        }
    assert_null(verify_copy(pack.bytes, pack.size));
    release(&pack);
}

static void flipped_byte_of_the_head_is_detected_without_the_rest(void **state)
{
    (void)state;
    tkj_blob pack = pack_of(TRIO);
    size_t head_size;
    assert_null(tkj_pack_head_size(pack.bytes, INDEX_AT, pack.size, &head_size));
    assert_int_equal(head_size, INDEX_AT + TRIO * RECORD_SIZE);
    assert_null(decode_head(pack.bytes, head_size, pack.size));
    for (size_t i = 0; i < head_size; i++) {
        pack.bytes[i] ^= 0x10;
        assert_non_null(decode_head(pack.bytes, head_size, pack.size));
        pack.bytes[i] ^= 0x10;
    }
    release(&pack);
}

static void every_truncated_prefix_is_detected(void **state)
{
    (void)state;
    tkj_blob pack = pack_of(TRIO);
    for (size_t size = 0; size < pack.size; size++) {
        assert_non_null(verify_copy(pack.bytes, size));
        assert_non_null(decode_head(pack.bytes, size, size));
    }
    assert_flaw(verify_copy(pack.bytes, 7), "it is not a pack");
    assert_flaw(verify_copy(pack.bytes, INDEX_AT - 1), "it is cut inside its header");
    assert_flaw(verify_copy(pack.bytes, INDEX_AT), "it is cut short");
    release(&pack);
}

static void head_that_ends_early_is_told_whatever_the_file_has(void **state)
{
    (void)state;
    tkj_blob pack = pack_of(TRIO);
    for (size_t size = INDEX_AT; size < INDEX_AT + TRIO * RECORD_SIZE; size++)
        assert_flaw(decode_head(pack.bytes, size, pack.size), "it is cut inside its index");
    release(&pack);
}

static void appended_bytes_are_detected(void **state)
{
    (void)state;
    tkj_blob pack = pack_of(TRIO);
    uint8_t *longer = calloc(pack.size + 64, 1);
    assert_non_null(longer);
    memcpy(longer, pack.bytes, pack.size);
    for (size_t more = 1; more <= 64; more++)
        assert_flaw(verify_copy(longer, pack.size + more), "bytes were appended to it");
    free(longer);
    release(&pack);
}

static void other_format_version_is_told_before_anything_else(void **state)
{
    (void)state;
    assert_flaw_after(VERSION_AT, 2, 4, "it has another format version");
    assert_flaw_after(VERSION_AT, 1u << 24 | 1u, 4, "it has another format version");
    assert_flaw_after(0, 0x88, 1, "it is not a pack");
    assert_flaw_after(3, 'C', 1, "it is not a pack");
}

static void magic_tells_a_pack_of_any_version(void **state)
{
    (void)state;
    tkj_blob pack = pack_of(1);
    tkj_bytes_put(pack.bytes + VERSION_AT, 2, 4);
    assert_true(tkj_pack_has_magic(pack.bytes, 8));
    assert_false(tkj_pack_has_magic(pack.bytes, 7));
    assert_false(tkj_entry_has_magic(pack.bytes, pack.size));
    pack.bytes[3] = 'C';
    assert_false(tkj_pack_has_magic(pack.bytes, 8));
    release(&pack);
}

static void header_ends_with_zeros(void **state)
{
    (void)state;
    for (size_t i = ZEROS_AT; i < INDEX_AT; i++)
        assert_flaw_after(i, 1, 1, "its header does not end with zeros");
}

static void count_must_be_possible_and_fit(void **state)
{
    (void)state;
    assert_flaw_after(COUNT_AT, TKJ_PACK_COUNT_MAX + 1, 4, "it has more entries than any pack");
    assert_flaw_after(COUNT_AT, UINT32_MAX, 4, "it has more entries than any pack");
    assert_flaw_after(COUNT_AT, TKJ_PACK_COUNT_MAX, 4, "its index does not fit into it");
    assert_flaw_after(COUNT_AT, TRIO - 1, 4, "an entry in it is not where what is before ends");
    assert_flaw_after(COUNT_AT, 0, 4, "its digest is not where its entries end");
}

static void size_must_be_that_of_the_file(void **state)
{
    (void)state;
    assert_flaw_after(FILE_SIZE_AT, 80, 8, "bytes were appended to it");
    assert_flaw_after(FILE_SIZE_AT, UINT64_MAX, 8, "it is cut short");
    tkj_blob pack = pack_of(0);
    tkj_bytes_put(pack.bytes + FILE_SIZE_AT, pack.size - 1, 8);
    assert_flaw(verify_copy(pack.bytes, pack.size - 1), "its index does not fit into it");
    release(&pack);
    pack = pack_of(TRIO);
    tkj_bytes_put(pack.bytes + FILE_SIZE_AT, TKJ_PACK_SIZE_MAX, 8);
    assert_flaw(decode_head(pack.bytes, pack.size, TKJ_PACK_SIZE_MAX),
                "its digest is not where its entries end");
    tkj_bytes_put(pack.bytes + FILE_SIZE_AT, TKJ_PACK_SIZE_MAX + 1, 8);
    assert_flaw(decode_head(pack.bytes, pack.size, TKJ_PACK_SIZE_MAX + 1),
                "it is larger than any pack");
    release(&pack);
}

static void index_must_be_sorted(void **state)
{
    (void)state;
    tkj_blob pack = pack_of(TRIO);
    uint8_t key[TKJ_DIGEST_SIZE];
    memcpy(key, record_of(&pack, 0), sizeof key);
    memcpy(record_of(&pack, 0), record_of(&pack, 1), sizeof key);
    memcpy(record_of(&pack, 1), key, sizeof key);
    assert_index_flaw(&pack, "its index is not sorted");
}

static void majors_of_one_key_must_be_sorted(void **state)
{
    (void)state;
    tkj_blob pack = pack_of(TRIO);
    memcpy(record_of(&pack, 2), record_of(&pack, 1), TKJ_DIGEST_SIZE);
    tkj_bytes_put(record_of(&pack, 2) + MAJOR_IN_RECORD, 12, 4);
    assert_index_flaw(&pack, "its index is not sorted");
}

static void no_entry_may_be_there_twice(void **state)
{
    (void)state;
    tkj_blob pack = pack_of(TRIO);
    memcpy(record_of(&pack, 2), record_of(&pack, 1), TKJ_DIGEST_SIZE);
    assert_index_flaw(&pack, "an entry in it is there twice");
}

static void entries_may_not_overlap(void **state)
{
    (void)state;
    tkj_blob pack = pack_of(TRIO);
    uint64_t first = offset_of(&pack, 0), second = offset_of(&pack, 1);
    release(&pack);
    const char *expected = "an entry in it overlaps what is before";
    assert_record_flaw(0, OFFSET_IN_RECORD, 0, 8, expected);
    assert_record_flaw(0, OFFSET_IN_RECORD, first - 64, 8, expected);
    assert_record_flaw(1, OFFSET_IN_RECORD, first, 8, expected);
    assert_record_flaw(1, OFFSET_IN_RECORD, second - 64, 8, expected);
    assert_record_flaw(0, SIZE_IN_RECORD, second - first + 1, 4, expected);
}

static void entries_have_the_one_place_that_is_left(void **state)
{
    (void)state;
    tkj_blob pack = pack_of(TRIO);
    uint64_t second = offset_of(&pack, 1);
    release(&pack);
    const char *expected = "an entry in it is not where what is before ends";
    assert_record_flaw(1, OFFSET_IN_RECORD, second + 64, 8, expected);
    assert_record_flaw(1, OFFSET_IN_RECORD, second + 1, 8, expected);
    assert_record_flaw(1, OFFSET_IN_RECORD, second - 1, 8, expected);
    assert_record_flaw(0, SIZE_IN_RECORD, 1, 4, expected);
}

static void entries_lie_within_the_file(void **state)
{
    (void)state;
    tkj_blob pack = pack_of(TRIO);
    uint64_t size = tkj_bytes_get(record_of(&pack, 2) + SIZE_IN_RECORD, 4);
    uint64_t file_size = pack.size;
    release(&pack);
    const char *expected = "an entry in it lies beyond its end";
    assert_record_flaw(2, OFFSET_IN_RECORD, file_size, 8, expected);
    assert_record_flaw(2, OFFSET_IN_RECORD, file_size - TKJ_DIGEST_SIZE, 8, expected);
    assert_record_flaw(2, SIZE_IN_RECORD, size + 1, 4, expected); /* into the digest */
    assert_record_flaw(0, SIZE_IN_RECORD, TKJ_ENTRY_SIZE_MAX, 4, expected);
    assert_record_flaw(2, SIZE_IN_RECORD, size - 1, 4, "its digest is not where its entries end");
}

static void offsets_whose_sums_overflow_lie_beyond_the_file(void **state)
{
    (void)state;
    const char *expected = "an entry in it lies beyond its end";
    for (unsigned bit = 32; bit < 64; bit++)
        assert_record_flaw(1, OFFSET_IN_RECORD, UINT64_C(1) << bit, 8, expected);
    assert_record_flaw(1, OFFSET_IN_RECORD, UINT64_MAX, 8, expected);
    assert_record_flaw(1, OFFSET_IN_RECORD, UINT64_MAX - 63, 8, expected);
    assert_record_flaw(1, OFFSET_IN_RECORD, UINT64_MAX - 400 + 192, 8, expected);
    tkj_blob pack = pack_of(TRIO); /* right in its low 32 bits */
    uint64_t right = offset_of(&pack, 1);
    release(&pack);
    assert_record_flaw(1, OFFSET_IN_RECORD, right | UINT64_C(1) << 32, 8, expected);
}

static void sizes_of_entries_must_be_possible(void **state)
{
    (void)state;
    const char *expected = "the size of an entry in it is impossible";
    assert_record_flaw(1, SIZE_IN_RECORD, 0, 4, expected);
    assert_record_flaw(1, SIZE_IN_RECORD, TKJ_ENTRY_SIZE_MAX + 1, 4, expected);
    assert_record_flaw(1, SIZE_IN_RECORD, UINT32_MAX, 4, expected);
}

/* What only the whole file shows: the index is sound. */
static void assert_content_flaw(tkj_blob *pack, const char *expected)
{
    reseal(pack);
    assert_null(decode_head(pack->bytes, pack->size, pack->size));
    assert_flaw(verify_copy(pack->bytes, pack->size), expected);
    release(pack);
}

static void checksum_covers_what_the_index_does_not(void **state)
{
    (void)state;
    tkj_blob pack = pack_of(TRIO);
    pack.bytes[offset_of(&pack, 1)] ^= 1;
    assert_null(decode_head(pack.bytes, pack.size, pack.size));
    assert_flaw(verify_copy(pack.bytes, pack.size), "its checksum does not match");
    release(&pack);
}

static void damaged_entry_is_detected_under_a_right_checksum(void **state)
{
    (void)state;
    for (size_t position = 0; position < TRIO; position++) {
        tkj_blob pack = pack_of(TRIO);
        pack.bytes[offset_of(&pack, position) + 100] ^= 1;
        assert_content_flaw(&pack, "an entry in it is damaged");
    }
}

static void entry_under_another_key_is_detected(void **state)
{
    (void)state;
    for (size_t position = 0; position < TRIO; position++) {
        tkj_blob pack = pack_of(TRIO);
        record_of(&pack, position)[TKJ_DIGEST_SIZE - 1] ^= 1;
        assert_content_flaw(&pack, "an entry in it is not under its key");
    }
}

static void padding_must_be_zero(void **state)
{
    (void)state;
    for (size_t position = 0; position < TRIO; position++) {
        tkj_blob pack = pack_of(TRIO);
        pack.bytes[offset_of(&pack, position) - 1] = 1;
        assert_content_flaw(&pack, "its padding is not zero");
    }
}

static void assert_not_encoded(tkj_pack_item *items, size_t count, const char *message)
{
    tkj_blob pack = {(uint8_t *)1, 1};
    assert_int_equal(tkj_pack_encode(&tkj_default_allocator, items, count, &pack),
                     TOPK_JIT_CACHE_FAILED);
    assert_null(pack.bytes);
    assert_int_equal(pack.size, 0);
    if (strstr(topk_jit_last_error()->message, message) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", message, topk_jit_last_error()->message);
}

static void duplicate_is_not_encoded(void **state)
{
    (void)state;
    tkj_pack_item items[] = {item_of(5, 13), item_of(6, 13), item_of(5, 13)};
    assert_not_encoded(items, 3, "for CUDA 13: it is there twice");
    release_items(items, 3);
}

static void damaged_entry_is_not_encoded_and_named(void **state)
{
    (void)state;
    char key[2 * TKJ_DIGEST_SIZE + 1];
    tkj_pack_item item = item_of(5, 13);
    tkj_digest_format(item.key, key);
    item.bytes.bytes[item.bytes.size - 1] ^= 1;
    assert_not_encoded(&item, 1, key);
    assert_not_encoded(&item, 1, "for CUDA 13: its checksum does not match");
    release(&item.bytes);
    item.bytes = (tkj_blob){NULL, 0};
    assert_not_encoded(&item, 1, "it is not a cache entry");
}

static void entry_under_another_key_is_not_encoded(void **state)
{
    (void)state;
    tkj_pack_item item = item_of(5, 13);
    item.key[0] ^= 1;
    assert_not_encoded(&item, 1, "its key is not the digest of its preimage");
    release(&item.bytes);
}

static void too_many_entries_are_not_encoded(void **state)
{
    (void)state;
    tkj_pack_item *items = calloc(TKJ_PACK_COUNT_MAX + 1, sizeof *items);
    assert_non_null(items);
    assert_not_encoded(items, TKJ_PACK_COUNT_MAX + 1, "65537 entries, expected at most 65536");
    free(items);
}

static void pack_beyond_four_gibibytes_is_not_encoded(void **state)
{
    (void)state;
    enum { COUNT = 65 }; /* one entry of nearly 64 MiB, for so many majors */
    uint8_t *payload = calloc(TKJ_ENTRY_SIZE_MAX, 1);
    assert_non_null(payload);
    const tkj_entry entry = {
        TKJ_PAYLOAD_CUBIN,        "sm_90", "nvrtc", "0.1.0", "", "name", {0}, payload,
        TKJ_ENTRY_SIZE_MAX - 1024};
    tkj_pack_item items[COUNT] = {0};
    assert_int_equal(tkj_entry_encode(&tkj_default_allocator, &entry, &items[0].bytes),
                     TOPK_JIT_OK);
    free(payload);
    tkj_digest("", 0, items[0].key);
    for (uint32_t i = 1; i < COUNT; i++) {
        items[i] = items[0];
        items[i].major = i;
    }
    assert_not_encoded(items, COUNT, "expected at most 4294967296");
    release(&items[0].bytes);
}

static void encoding_without_memory_is_out_of_memory(void **state)
{
    (void)state;
    tkj_pack_item items[TRIO] = {item_of(0, 13), item_of(1, 13), item_of(2, 13)};
    topk_jit_status status = TOPK_JIT_OUT_OF_MEMORY;
    int failures = 0;
    while (status != TOPK_JIT_OK) {
        tkj_test_allocator test;
        tkj_test_allocator_init(&test, failures + 1);
        tkj_blob pack = {(uint8_t *)1, 1};
        status = tkj_pack_encode(&test.allocator, items, TRIO, &pack);
        if (tkj_test_allocator_failed(&test)) {
            assert_int_equal(status, TOPK_JIT_OUT_OF_MEMORY);
            assert_null(pack.bytes);
            failures++;
        }
        tkj_free(&test.allocator, pack.bytes);
        assert_int_equal(test.live, 0);
    }
    assert_true(failures > 0);
    release_items(items, TRIO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(format_is_the_documented_one),
        cmocka_unit_test(empty_pack_is_sound_and_has_nothing),
        cmocka_unit_test(every_entry_of_many_is_found_and_no_other),
        cmocka_unit_test(keys_at_both_ends_of_all_are_not_found),
        cmocka_unit_test(one_key_of_two_majors_is_two_entries),
        cmocka_unit_test(same_entries_are_the_same_bytes_in_any_order),
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
        cmocka_unit_test(duplicate_is_not_encoded),
        cmocka_unit_test(damaged_entry_is_not_encoded_and_named),
        cmocka_unit_test(entry_under_another_key_is_not_encoded),
        cmocka_unit_test(too_many_entries_are_not_encoded),
        cmocka_unit_test(pack_beyond_four_gibibytes_is_not_encoded),
        cmocka_unit_test(encoding_without_memory_is_out_of_memory),
    };
    return cmocka_run_group_tests_name("cache_pack", tests, NULL, NULL);
}
