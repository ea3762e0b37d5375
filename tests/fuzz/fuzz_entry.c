/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fuzz_entry.c
 * @brief Any bytes as a cache entry: what decodes lies within the bytes and encodes to the same
 * ones; what does not leaves nothing behind.
 */
#include "entry.h"
#include "fuzz.h"
#include "memory.h"

static void check_sound(const uint8_t *bytes, size_t size, const tkj_entry *entry)
{
    FUZZ_CHECK(tkj_entry_has_magic(bytes, size));
    FUZZ_CHECK(entry->payload > bytes && entry->payload_size > 0);
    FUZZ_CHECK(entry->payload_size < size - (size_t)(entry->payload - bytes));
    tkj_blob again;
    FUZZ_CHECK(tkj_entry_encode(&tkj_default_allocator, entry, &again) == TOPK_JIT_OK);
    FUZZ_CHECK(again.size == size && memcmp(again.bytes, bytes, size) == 0);
    tkj_free(&tkj_default_allocator, again.bytes);
}

static void check(const uint8_t *bytes, size_t size)
{
    const tkj_entry nothing = {0};
    tkj_entry entry;
    memset(&entry, 0xA5, sizeof entry);
    if (tkj_entry_decode(bytes, size, &entry) == NULL)
        check_sound(bytes, size, &entry);
    else
        FUZZ_CHECK(entry.payload == nothing.payload && entry.preimage == nothing.preimage);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = fuzz_copy(data, size);
    check(bytes, size);
    fuzz_seal(bytes, size);
    check(bytes, size);
    free(bytes);
    return 0;
}
