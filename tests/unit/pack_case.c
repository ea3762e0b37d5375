/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "digest.h"
#include "memory.h"

tkj_pack_item pack_case_item(unsigned number, uint32_t major)
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

void pack_case_release(tkj_blob *blob)
{
    tkj_free(&tkj_default_allocator, blob->bytes);
}

void pack_case_release_items(tkj_pack_item *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pack_case_release(&items[i].bytes);
}

tkj_blob pack_case_encode(tkj_pack_item *items, size_t count)
{
    tkj_blob pack = {NULL, 0};
    assert_int_equal(tkj_pack_encode(&tkj_default_allocator, items, count, &pack), TOPK_JIT_OK);
    return pack;
}

tkj_blob pack_case_of(unsigned count)
{
    tkj_pack_item *items = calloc(count + 1, sizeof *items);
    assert_non_null(items);
    for (unsigned i = 0; i < count; i++)
        items[i] = pack_case_item(i, 13);
    tkj_blob pack = pack_case_encode(items, count);
    pack_case_release_items(items, count);
    free(items);
    return pack;
}

static uint8_t *copy_of(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    return copy;
}

const char *pack_case_verify(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = copy_of(bytes, size);
    const char *flaw = tkj_pack_verify(copy, size);
    free(copy);
    return flaw;
}

const char *pack_case_decode_head(const uint8_t *head, size_t head_size, uint64_t file_size)
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

tkj_pack_index pack_case_index(const tkj_blob *pack)
{
    tkj_pack_index index;
    assert_null(tkj_pack_index_decode(pack->bytes, pack->size, pack->size, &index));
    return index;
}

uint8_t *pack_case_record(tkj_blob *pack, size_t position)
{
    return pack->bytes + PACK_INDEX_AT + position * PACK_RECORD_SIZE;
}

uint64_t pack_case_offset(tkj_blob *pack, size_t position)
{
    return tkj_bytes_get(pack_case_record(pack, position) + PACK_OFFSET_IN_RECORD, 8);
}
