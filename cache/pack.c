/* SPDX-License-Identifier: Apache-2.0 */
#include "pack.h"

#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "memory.h"
#include "status.h"

/* As that of an entry, with another letter. */
static const uint8_t magic[8] = {0x89, 'T', 'K', 'P', '\r', '\n', 0x1a, '\n'};

#define FORMAT_VERSION 1u

/* Header, from the start of the file. */
enum {
    MAGIC_AT = 0,
    VERSION_AT = 8,
    COUNT_AT = 12,
    FILE_SIZE_AT = 16,
    INDEX_DIGEST_AT = 24,
    RESERVED_AT = INDEX_DIGEST_AT + TKJ_DIGEST_SIZE,
};

/* A record of the index. */
enum {
    KEY_AT = 0,
    MAJOR_AT = 16,
    SIZE_AT = 20,
    OFFSET_AT = 24,
    RECORD_SIZE = 32,
};

#define INDEX_AT TKJ_PACK_HEADER_SIZE

/* The payloads of entries are aligned within their entries: here they stay so within the file. */
#define ALIGNMENT 64u

/* Sums of places are of 64 bits and stay below this; counts of bytes in the head fit 32. */
_Static_assert(TKJ_PACK_COUNT_MAX *(TKJ_ENTRY_SIZE_MAX + (uint64_t)ALIGNMENT) < UINT64_MAX / 2,
               "sums must not overflow");
_Static_assert(INDEX_AT + TKJ_PACK_COUNT_MAX * RECORD_SIZE < UINT32_MAX / 2, "nor the head");

static size_t end_of_index(size_t count)
{
    return INDEX_AT + count * RECORD_SIZE;
}

/* The one place of the entry that follows what ends here. */
static uint64_t place_after(uint64_t end)
{
    return (end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static int order(const uint8_t *key, uint32_t major, const uint8_t *other_key, uint32_t other_major)
{
    int by_key = memcmp(key, other_key, TKJ_DIGEST_SIZE);
    return by_key != 0 ? by_key : (major > other_major) - (major < other_major);
}

static bool is_under_key(const tkj_entry *entry, const uint8_t key[TKJ_DIGEST_SIZE])
{
    uint8_t digest[TKJ_DIGEST_SIZE];
    tkj_digest(entry->preimage, strlen(entry->preimage), digest);
    return memcmp(digest, key, TKJ_DIGEST_SIZE) == 0;
}

static int compare_items(const void *left, const void *right)
{
    const tkj_pack_item *a = left, *b = right;
    return order(a->key, a->major, b->key, b->major);
}

static topk_jit_status refuse(const tkj_pack_item *item, const char *flaw)
{
    char key[2 * TKJ_DIGEST_SIZE + 1];
    tkj_digest_format(item->key, key);
    return tkj_fail(TOPK_JIT_CACHE_FAILED, "pack: the entry of key %s for CUDA %lu: %s", key,
                    (unsigned long)item->major, flaw);
}

static topk_jit_status check_item(const tkj_pack_item *item)
{
    tkj_entry entry;
    const char *flaw = tkj_entry_decode(item->bytes.bytes, item->bytes.size, &entry);
    if (flaw == NULL && !is_under_key(&entry, item->key))
        flaw = "its key is not the digest of its preimage";
    return flaw == NULL ? TOPK_JIT_OK : refuse(item, flaw);
}

/* Sorts the items, and refuses those that no pack has. */
static topk_jit_status check_items(tkj_pack_item *items, size_t count)
{
    if (count > TKJ_PACK_COUNT_MAX)
        return tkj_fail(TOPK_JIT_CACHE_FAILED, "pack: %zu entries, expected at most %zu", count,
                        TKJ_PACK_COUNT_MAX);
    if (count > 0) /* qsort wants an address even for nothing */
        qsort(items, count, sizeof *items, compare_items);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && compare_items(&items[i - 1], &items[i]) == 0)
            return refuse(&items[i], "it is there twice");
        topk_jit_status status = check_item(&items[i]);
        if (status != TOPK_JIT_OK)
            return status;
    }
    return TOPK_JIT_OK;
}

static uint64_t encoded_size(const tkj_pack_item *items, size_t count)
{
    uint64_t end = end_of_index(count);
    for (size_t i = 0; i < count; i++)
        end = place_after(end) + items[i].bytes.size;
    return end + TKJ_DIGEST_SIZE;
}

static void put_record(uint8_t *record, const tkj_pack_item *item, uint64_t offset)
{
    memcpy(record + KEY_AT, item->key, TKJ_DIGEST_SIZE);
    tkj_bytes_put(record + MAJOR_AT, item->major, 4);
    tkj_bytes_put(record + SIZE_AT, item->bytes.size, 4);
    tkj_bytes_put(record + OFFSET_AT, offset, 8);
}

static void put_index(uint8_t *index, const tkj_pack_item *items, size_t count)
{
    uint64_t end = end_of_index(count);
    for (size_t i = 0; i < count; i++) {
        uint64_t offset = place_after(end);
        put_record(index + i * RECORD_SIZE, &items[i], offset);
        end = offset + items[i].bytes.size;
    }
}

/* Into zeros, after the index, whose digest is in it. */
static void put_header(uint8_t *bytes, uint64_t size, size_t count)
{
    memcpy(bytes + MAGIC_AT, magic, sizeof magic);
    tkj_bytes_put(bytes + VERSION_AT, FORMAT_VERSION, 4);
    tkj_bytes_put(bytes + COUNT_AT, count, 4);
    tkj_bytes_put(bytes + FILE_SIZE_AT, size, 8);
    tkj_digest(bytes + INDEX_AT, count * RECORD_SIZE, bytes + INDEX_DIGEST_AT);
}

/* The head, then for each entry its padding and itself, then the digest of all these. */
static void put_pieces(const tkj_pack_item *items, size_t count, tkj_pack_pieces *out)
{
    static const uint8_t zeros[ALIGNMENT];
    uint64_t end = end_of_index(count);
    out->at[out->count++] = (tkj_piece){out->head, end_of_index(count)};
    for (size_t i = 0; i < count; i++) {
        uint64_t offset = place_after(end);
        out->at[out->count++] = (tkj_piece){zeros, (size_t)(offset - end)};
        out->at[out->count++] = (tkj_piece){items[i].bytes.bytes, items[i].bytes.size};
        end = offset + items[i].bytes.size;
    }
    tkj_digest_pieces(out->at, out->count, out->digest);
    out->at[out->count++] = (tkj_piece){out->digest, TKJ_DIGEST_SIZE};
}

topk_jit_status tkj_pack_assemble(const topk_jit_allocator *allocator, tkj_pack_item *items,
                                  size_t count, tkj_pack_pieces *out)
{
    *out = (tkj_pack_pieces){.at = NULL};
    topk_jit_status status = check_items(items, count);
    if (status != TOPK_JIT_OK)
        return status;
    uint64_t size = encoded_size(items, count);
    if (size > TKJ_PACK_SIZE_MAX)
        return tkj_fail(TOPK_JIT_CACHE_FAILED, "pack: %llu bytes, expected at most %llu",
                        (unsigned long long)size, (unsigned long long)TKJ_PACK_SIZE_MAX);
    out->head = tkj_alloc_zeroed(allocator, end_of_index(count) + TKJ_DIGEST_SIZE, 1);
    out->at = tkj_alloc(allocator, 2 * count + 2, sizeof *out->at);
    if (out->head == NULL || out->at == NULL) {
        tkj_pack_pieces_release(allocator, out);
        return TOPK_JIT_OUT_OF_MEMORY;
    }
    out->size = size;
    out->digest = out->head + end_of_index(count);
    put_index(out->head + INDEX_AT, items, count);
    put_header(out->head, size, count);
    put_pieces(items, count, out);
    return TOPK_JIT_OK;
}

void tkj_pack_pieces_release(const topk_jit_allocator *allocator, tkj_pack_pieces *pieces)
{
    tkj_free(allocator, pieces->at);
    tkj_free(allocator, pieces->head);
    *pieces = (tkj_pack_pieces){.at = NULL};
}

/* @return as tkj_pack_encode */
static topk_jit_status join(const topk_jit_allocator *allocator, const tkj_pack_pieces *pieces,
                            tkj_blob *out)
{
    if (pieces->size > SIZE_MAX) /* where size_t has 32 bits */
        return tkj_fail(TOPK_JIT_OUT_OF_MEMORY, "pack: it does not fit into memory");
    uint8_t *bytes = tkj_alloc(allocator, (size_t)pieces->size, 1);
    if (bytes == NULL)
        return TOPK_JIT_OUT_OF_MEMORY;
    *out = (tkj_blob){bytes, (size_t)pieces->size};
    for (size_t i = 0; i < pieces->count; i++) {
        memcpy(bytes, pieces->at[i].bytes, pieces->at[i].size);
        bytes += pieces->at[i].size;
    }
    return TOPK_JIT_OK;
}

topk_jit_status tkj_pack_encode(const topk_jit_allocator *allocator, tkj_pack_item *items,
                                size_t count, tkj_blob *out)
{
    tkj_pack_pieces pieces;
    *out = (tkj_blob){NULL, 0};
    topk_jit_status status = tkj_pack_assemble(allocator, items, count, &pieces);
    if (status == TOPK_JIT_OK)
        status = join(allocator, &pieces, out);
    tkj_pack_pieces_release(allocator, &pieces);
    return status;
}

bool tkj_pack_has_magic(const uint8_t *bytes, size_t size)
{
    return size >= sizeof magic && memcmp(bytes + MAGIC_AT, magic, sizeof magic) == 0;
}

const char *tkj_pack_head_size(const uint8_t *bytes, size_t size, uint64_t file_size, size_t *out)
{
    *out = 0;
    if (!tkj_pack_has_magic(bytes, size))
        return "it is not a pack";
    if (size < TKJ_PACK_HEADER_SIZE)
        return "it is cut inside its header";
    if (tkj_bytes_get(bytes + VERSION_AT, 4) != FORMAT_VERSION)
        return "it has another format version";
    if (file_size > TKJ_PACK_SIZE_MAX)
        return "it is larger than any pack";
    uint64_t said_size = tkj_bytes_get(bytes + FILE_SIZE_AT, 8);
    if (file_size < said_size)
        return "it is cut short";
    if (file_size > said_size)
        return "bytes were appended to it";
    uint64_t count = tkj_bytes_get(bytes + COUNT_AT, 4);
    if (count > TKJ_PACK_COUNT_MAX)
        return "it has more entries than any pack";
    size_t head_size = end_of_index((size_t)count);
    if (file_size < head_size + TKJ_DIGEST_SIZE)
        return "its index does not fit into it";
    *out = head_size;
    return NULL;
}

static const char *check_place(const tkj_pack_record *record, uint64_t end, uint64_t limit)
{
    if (record->size == 0 || record->size > TKJ_ENTRY_SIZE_MAX)
        return "the size of an entry in it is impossible";
    if (record->offset > limit || record->size > limit - record->offset)
        return "an entry in it lies beyond its end";
    if (record->offset < end)
        return "an entry in it overlaps what is before";
    if (record->offset != place_after(end))
        return "an entry in it is not where what is before ends";
    return NULL;
}

/* The order is strict, so that no entry is there twice; the places leave no choice, so that nothing
   overlaps and one set of entries has one form. */
static const char *check_records(const tkj_pack_index *index, uint64_t file_size)
{
    const uint64_t limit = file_size - TKJ_DIGEST_SIZE;
    uint64_t end = end_of_index(index->count);
    tkj_pack_record before = {NULL, 0, 0, 0};
    for (size_t i = 0; i < index->count; i++) {
        tkj_pack_record record = tkj_pack_at(index, i);
        int step = i > 0 ? order(before.key, before.major, record.key, record.major) : -1;
        if (step > 0)
            return "its index is not sorted";
        if (step == 0)
            return "an entry in it is there twice";
        const char *flaw = check_place(&record, end, limit);
        if (flaw != NULL)
            return flaw;
        end = record.offset + record.size;
        before = record;
    }
    return end == limit ? NULL : "its digest is not where its entries end";
}

static const char *check_index(const uint8_t *head, const tkj_pack_index *index, uint64_t file_size)
{
    uint8_t digest[TKJ_DIGEST_SIZE];
    tkj_digest(index->records, index->count * RECORD_SIZE, digest);
    if (memcmp(digest, head + INDEX_DIGEST_AT, TKJ_DIGEST_SIZE) != 0)
        return "the checksum of its index does not match";
    if (!tkj_bytes_are_zero(head + RESERVED_AT, TKJ_PACK_HEADER_SIZE - RESERVED_AT))
        return "its header does not end with zeros";
    return check_records(index, file_size);
}

const char *tkj_pack_index_decode(const uint8_t *head, size_t head_size, uint64_t file_size,
                                  tkj_pack_index *out)
{
    *out = (tkj_pack_index){NULL, 0};
    size_t needed;
    const char *flaw = tkj_pack_head_size(head, head_size, file_size, &needed);
    if (flaw != NULL)
        return flaw;
    if (head_size < needed)
        return "it is cut inside its index";
    const tkj_pack_index index = {head + INDEX_AT, (needed - INDEX_AT) / RECORD_SIZE};
    flaw = check_index(head, &index, file_size);
    if (flaw == NULL)
        *out = index;
    return flaw;
}

tkj_pack_record tkj_pack_at(const tkj_pack_index *index, size_t position)
{
    const uint8_t *record = index->records + position * RECORD_SIZE;
    return (tkj_pack_record){
        .key = record + KEY_AT,
        .major = (uint32_t)tkj_bytes_get(record + MAJOR_AT, 4),
        .offset = tkj_bytes_get(record + OFFSET_AT, 8),
        .size = (size_t)tkj_bytes_get(record + SIZE_AT, 4),
    };
}

bool tkj_pack_find(const tkj_pack_index *index, const uint8_t key[TKJ_DIGEST_SIZE], uint32_t major,
                   tkj_pack_record *out)
{
    size_t low = 0, high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        tkj_pack_record record = tkj_pack_at(index, middle);
        int step = order(record.key, record.major, key, major);
        if (step == 0) {
            *out = record;
            return true;
        }
        if (step < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static const char *verify_entry(const uint8_t *bytes, const tkj_pack_record *record)
{
    tkj_entry entry;
    if (tkj_entry_decode(bytes + record->offset, record->size, &entry) != NULL)
        return "an entry in it is damaged";
    if (!is_under_key(&entry, record->key))
        return "an entry in it is not under its key";
    return NULL;
}

/* Places are below size by now, so they fit size_t. */
static const char *verify_entries(const uint8_t *bytes, const tkj_pack_index *index)
{
    size_t end = end_of_index(index->count);
    for (size_t i = 0; i < index->count; i++) {
        tkj_pack_record record = tkj_pack_at(index, i);
        if (!tkj_bytes_are_zero(bytes + end, (size_t)record.offset - end))
            return "its padding is not zero";
        const char *flaw = verify_entry(bytes, &record);
        if (flaw != NULL)
            return flaw;
        end = (size_t)record.offset + record.size;
    }
    return NULL;
}

const char *tkj_pack_verify(const uint8_t *bytes, size_t size)
{
    tkj_pack_index index;
    const char *flaw = tkj_pack_index_decode(bytes, size, size, &index);
    if (flaw != NULL)
        return flaw;
    uint8_t digest[TKJ_DIGEST_SIZE];
    tkj_digest(bytes, size - TKJ_DIGEST_SIZE, digest);
    if (memcmp(digest, bytes + size - TKJ_DIGEST_SIZE, TKJ_DIGEST_SIZE) != 0)
        return "its checksum does not match";
    return verify_entries(bytes, &index);
}
