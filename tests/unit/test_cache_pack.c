/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_case.h"

#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "digest.h"
#include "memory.h"

#define MANY 1000

static void format_is_the_documented_one(void **state)
{
    (void)state;
    static const uint8_t head[] = {0x89, 'T', 'K', 'P', '\r', '\n', 0x1a, '\n',
                                   1,    0,   0,   0,   1,    0,    0,    0};
    static const uint8_t zeros[PACK_INDEX_AT - PACK_ZEROS_AT] = {0};
    tkj_pack_item item = pack_case_item(7, 0x01020304);
    tkj_blob pack = pack_case_encode(&item, 1);
    size_t entry_at = 128; /* 64 + 32 rounded up to 64 */
    uint8_t digest[TKJ_DIGEST_SIZE];
    assert_int_equal(pack.size, entry_at + item.bytes.size + TKJ_DIGEST_SIZE);
    assert_memory_equal(pack.bytes, head, sizeof head);
    assert_int_equal(tkj_bytes_get(pack.bytes + PACK_FILE_SIZE_AT, 8), pack.size);
    tkj_digest(pack.bytes + PACK_INDEX_AT, PACK_RECORD_SIZE, digest);
    assert_memory_equal(pack.bytes + PACK_INDEX_DIGEST_AT, digest, sizeof digest);
    assert_memory_equal(pack.bytes + PACK_ZEROS_AT, zeros, sizeof zeros);
    assert_memory_equal(pack.bytes + PACK_INDEX_AT, item.key, TKJ_DIGEST_SIZE);
    assert_memory_equal(pack.bytes + PACK_INDEX_AT + PACK_MAJOR_IN_RECORD, "\4\3\2\1", 4);
    assert_int_equal(tkj_bytes_get(pack_case_record(&pack, 0) + PACK_SIZE_IN_RECORD, 4),
                     item.bytes.size);
    assert_int_equal(pack_case_offset(&pack, 0), entry_at);
    assert_memory_equal(pack.bytes + PACK_INDEX_AT + PACK_RECORD_SIZE, zeros, 8);
    assert_memory_equal(pack.bytes + entry_at, item.bytes.bytes, item.bytes.size);
    tkj_digest(pack.bytes, pack.size - sizeof digest, digest);
    assert_memory_equal(pack.bytes + pack.size - sizeof digest, digest, sizeof digest);
    pack_case_release(&pack);
    pack_case_release(&item.bytes);
}

static void empty_pack_is_sound_and_has_nothing(void **state)
{
    (void)state;
    static const uint8_t key[TKJ_DIGEST_SIZE] = {0};
    tkj_pack_record record;
    tkj_blob pack = pack_case_encode(NULL, 0);
    assert_int_equal(pack.size, PACK_INDEX_AT + TKJ_DIGEST_SIZE);
    assert_null(pack_case_verify(pack.bytes, pack.size));
    tkj_pack_index index = pack_case_index(&pack);
    assert_int_equal(index.count, 0);
    assert_false(tkj_pack_find(&index, key, 0, &record));
    pack_case_release(&pack);
}

static void assert_found(const tkj_blob *pack, const tkj_pack_item *item)
{
    tkj_pack_index index = pack_case_index(pack);
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
        items[i] = pack_case_item(i, i % 3);
    tkj_blob pack = pack_case_encode(items, MANY);
    assert_null(pack_case_verify(pack.bytes, pack.size));
    tkj_pack_index index = pack_case_index(&pack);
    tkj_pack_record record;
    for (size_t i = 0; i < MANY; i++) {
        assert_found(&pack, &items[i]);
        assert_false(tkj_pack_find(&index, items[i].key, items[i].major + 1, &record));
        uint8_t other[TKJ_DIGEST_SIZE];
        memcpy(other, items[i].key, sizeof other);
        other[TKJ_DIGEST_SIZE - 1] ^= 1;
        assert_false(tkj_pack_find(&index, other, items[i].major, &record));
    }
    pack_case_release(&pack);
    pack_case_release_items(items, MANY);
}

static void keys_at_both_ends_of_all_are_not_found(void **state)
{
    (void)state;
    uint8_t key[TKJ_DIGEST_SIZE];
    tkj_pack_record record;
    tkj_blob pack = pack_case_of(PACK_CASE_TRIO);
    tkj_pack_index index = pack_case_index(&pack);
    memset(key, 0, sizeof key);
    assert_false(tkj_pack_find(&index, key, 13, &record));
    memset(key, 0xff, sizeof key);
    assert_false(tkj_pack_find(&index, key, UINT32_MAX, &record));
    pack_case_release(&pack);
}

static void one_key_of_two_majors_is_two_entries(void **state)
{
    (void)state;
    tkj_pack_item items[] = {pack_case_item(1, 0x0100), pack_case_item(1, 0x00ff)};
    tkj_blob pack = pack_case_encode(items, 2);
    assert_null(pack_case_verify(pack.bytes, pack.size));
    assert_int_equal(items[0].major, 0x00ff); /* as numbers, not as little-endian bytes */
    assert_found(&pack, &items[0]);
    assert_found(&pack, &items[1]);
    pack_case_release(&pack);
    pack_case_release_items(items, 2);
}

static void same_entries_are_the_same_bytes_in_any_order(void **state)
{
    (void)state;
    static const unsigned orders[][PACK_CASE_TRIO] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                      {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    tkj_blob first = pack_case_of(PACK_CASE_TRIO);
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        tkj_test_allocator test; /* fills new memory with another byte than malloc */
        tkj_test_allocator_init(&test, 0);
        tkj_pack_item items[PACK_CASE_TRIO];
        for (size_t k = 0; k < PACK_CASE_TRIO; k++)
            items[k] = pack_case_item(orders[i][k], 13);
        tkj_blob pack = {NULL, 0};
        assert_int_equal(tkj_pack_encode(&test.allocator, items, PACK_CASE_TRIO, &pack),
                         TOPK_JIT_OK);
        assert_int_equal(pack.size, first.size);
        assert_memory_equal(pack.bytes, first.bytes, first.size);
        tkj_free(&test.allocator, pack.bytes);
        pack_case_release_items(items, PACK_CASE_TRIO);
    }
    pack_case_release(&first);
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
    tkj_pack_item items[] = {pack_case_item(5, 13), pack_case_item(6, 13), pack_case_item(5, 13)};
    assert_not_encoded(items, 3, "for CUDA 13: it is there twice");
    pack_case_release_items(items, 3);
}

static void damaged_entry_is_not_encoded_and_named(void **state)
{
    (void)state;
    char key[2 * TKJ_DIGEST_SIZE + 1];
    tkj_pack_item item = pack_case_item(5, 13);
    tkj_digest_format(item.key, key);
    item.bytes.bytes[item.bytes.size - 1] ^= 1;
    assert_not_encoded(&item, 1, key);
    assert_not_encoded(&item, 1, "for CUDA 13: its checksum does not match");
    pack_case_release(&item.bytes);
    item.bytes = (tkj_blob){NULL, 0};
    assert_not_encoded(&item, 1, "it is not a cache entry");
}

static void entry_under_another_key_is_not_encoded(void **state)
{
    (void)state;
    tkj_pack_item item = pack_case_item(5, 13);
    item.key[0] ^= 1;
    assert_not_encoded(&item, 1, "its key is not the digest of its preimage");
    pack_case_release(&item.bytes);
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
    pack_case_release(&items[0].bytes);
}

static void encoding_without_memory_is_out_of_memory(void **state)
{
    (void)state;
    tkj_pack_item items[PACK_CASE_TRIO] = {pack_case_item(0, 13), pack_case_item(1, 13),
                                           pack_case_item(2, 13)};
    topk_jit_status status = TOPK_JIT_OUT_OF_MEMORY;
    int failures = 0;
    while (status != TOPK_JIT_OK) {
        tkj_test_allocator test;
        tkj_test_allocator_init(&test, failures + 1);
        tkj_blob pack = {(uint8_t *)1, 1};
        status = tkj_pack_encode(&test.allocator, items, PACK_CASE_TRIO, &pack);
        if (tkj_test_allocator_failed(&test)) {
            assert_int_equal(status, TOPK_JIT_OUT_OF_MEMORY);
            assert_null(pack.bytes);
            failures++;
        }
        tkj_free(&test.allocator, pack.bytes);
        assert_int_equal(test.live, 0);
    }
    assert_true(failures > 0);
    pack_case_release_items(items, PACK_CASE_TRIO);
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
        cmocka_unit_test(duplicate_is_not_encoded),
        cmocka_unit_test(damaged_entry_is_not_encoded_and_named),
        cmocka_unit_test(entry_under_another_key_is_not_encoded),
        cmocka_unit_test(too_many_entries_are_not_encoded),
        cmocka_unit_test(pack_beyond_four_gibibytes_is_not_encoded),
        cmocka_unit_test(encoding_without_memory_is_out_of_memory),
    };
    return cmocka_run_group_tests_name("cache_pack", tests, NULL, NULL);
}
