/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fuzz_pack.c
 * @brief Any bytes as a pack: every entry of a sound index lies in the file and is found, and a
 * sound pack encodes to the same bytes.
 */
#include "bytes.h"
#include "fuzz.h"
#include "memory.h"
#include "pack.h"

/* Offsets of the format, as README.md of the cache has them. */
enum {
    COUNT_AT = 12,
    FILE_SIZE_AT = 16,
    INDEX_DIGEST_AT = 24,
    INDEX_AT = 64,
    RECORD_SIZE = 32,
};

static void check_record(const tkj_pack_index *index, size_t position, uint64_t file_size)
{
    tkj_pack_record record = tkj_pack_at(index, position), found;
    FUZZ_CHECK(record.size > 0 && record.size <= TKJ_ENTRY_SIZE_MAX);
    FUZZ_CHECK(record.offset % 64 == 0 && record.offset <= file_size);
    FUZZ_CHECK(record.size <= file_size - TKJ_DIGEST_SIZE - record.offset);
    FUZZ_CHECK(tkj_pack_find(index, record.key, record.major, &found));
    FUZZ_CHECK(found.key == record.key && found.offset == record.offset);
    if (position > 0) {
        tkj_pack_record before = tkj_pack_at(index, position - 1);
        FUZZ_CHECK(before.offset + before.size <= record.offset);
    }
}

/* The head alone, in memory that ends with it: whatever is read beyond it shows. */
static void check_head(const uint8_t *bytes, size_t size, uint64_t file_size)
{
    size_t head_size;
    tkj_pack_index index;
    const char *flaw = tkj_pack_head_size(bytes, size, file_size, &head_size);
    FUZZ_CHECK((flaw == NULL) == (head_size != 0));
    if (head_size > size || flaw != NULL) {
        FUZZ_CHECK(tkj_pack_index_decode(bytes, size, file_size, &index) != NULL);
        return;
    }
    uint8_t *head = fuzz_copy(bytes, head_size);
    flaw = tkj_pack_index_decode(head, head_size, file_size, &index);
    FUZZ_CHECK(flaw == NULL || (index.count == 0 && index.records == NULL));
    FUZZ_CHECK(flaw != NULL || index.count == (head_size - INDEX_AT) / RECORD_SIZE);
    for (size_t i = 0; i < index.count; i++)
        check_record(&index, i, file_size);
    free(head);
}

static void check_encodes_to(uint8_t *bytes, size_t size)
{
    tkj_pack_index index;
    FUZZ_CHECK(tkj_pack_index_decode(bytes, size, size, &index) == NULL);
    tkj_pack_item *items = calloc(index.count + 1, sizeof *items);
    FUZZ_CHECK(items != NULL);
    for (size_t i = 0; i < index.count; i++) { /* last first: the order must not matter */
        tkj_pack_record record = tkj_pack_at(&index, index.count - 1 - i);
        memcpy(items[i].key, record.key, TKJ_DIGEST_SIZE);
        items[i].major = record.major;
        items[i].bytes = (tkj_blob){bytes + record.offset, record.size};
    }
    tkj_blob again;
    FUZZ_CHECK(tkj_pack_encode(&tkj_default_allocator, items, index.count, &again) == TOPK_JIT_OK);
    FUZZ_CHECK(again.size == size && memcmp(again.bytes, bytes, size) == 0);
    tkj_free(&tkj_default_allocator, again.bytes);
    free(items);
}

static void check(uint8_t *bytes, size_t size)
{
    check_head(bytes, size, size);
    if (size >= INDEX_AT) /* of a file as large as it says, of which only the start is there */
        check_head(bytes, size, tkj_bytes_get(bytes + FILE_SIZE_AT, 8));
    if (tkj_pack_verify(bytes, size) == NULL)
        check_encodes_to(bytes, size);
}

/* Makes the digest of the index true, if the index is there. */
static void seal_index(uint8_t *bytes, size_t size)
{
    if (size < INDEX_AT)
        return;
    uint64_t index_size = tkj_bytes_get(bytes + COUNT_AT, 4) * RECORD_SIZE;
    if (index_size <= size - INDEX_AT)
        tkj_digest(bytes + INDEX_AT, (size_t)index_size, bytes + INDEX_DIGEST_AT);
}

static void seal_entries(uint8_t *bytes, size_t size)
{
    tkj_pack_index index;
    if (tkj_pack_index_decode(bytes, size, size, &index) != NULL)
        return;
    for (size_t i = 0; i < index.count; i++) {
        tkj_pack_record record = tkj_pack_at(&index, i);
        fuzz_seal(bytes + record.offset, record.size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = fuzz_copy(data, size);
    check(bytes, size);
    seal_index(bytes, size);
    seal_entries(bytes, size);
    fuzz_seal(bytes, size);
    check(bytes, size);
    free(bytes);
    return 0;
}
