/* SPDX-License-Identifier: Apache-2.0 */
#include "bytes.h"
#include "corpus.h"
#include "fuzz.h"
#include "memory.h"

#define TRIO 3

static tkj_blob encode(tkj_pack_item *items, size_t count)
{
    tkj_blob pack;
    FUZZ_CHECK(tkj_pack_encode(&tkj_default_allocator, items, count, &pack) == TOPK_JIT_OK);
    return pack;
}

static void release_items(tkj_pack_item *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tkj_free(&tkj_default_allocator, items[i].bytes.bytes);
}

static tkj_blob trio(void)
{
    tkj_pack_item items[TRIO] = {corpus_item("one", 13), corpus_item("two", 13),
                                 corpus_item("three", 12)};
    tkj_blob pack = encode(items, TRIO);
    release_items(items, TRIO);
    return pack;
}

static void emit_items(corpus_emit *emit, const char *name, tkj_pack_item *items, size_t count)
{
    tkj_blob pack = encode(items, count);
    emit(name, pack.bytes, pack.size);
    tkj_free(&tkj_default_allocator, pack.bytes);
}

static void emit_sound(corpus_emit *emit)
{
    tkj_pack_item items[] = {corpus_item("one", 13), corpus_item("one", 12)};
    emit_items(emit, "sound-none", NULL, 0);
    emit_items(emit, "sound-one", items, 1);
    emit_items(emit, "sound-two-majors", items, 2);
    release_items(items, 2);
    tkj_pack_item odd[] = {corpus_item("spec 3:a\x1b\n\n", 13), corpus_item("\xff", UINT32_MAX)};
    emit_items(emit, "sound-odd-preimages", odd, 2);
    release_items(odd, 2);
}

static void emit_cut(corpus_emit *emit, const tkj_blob *sound)
{
    emit("flaw-empty", sound->bytes, 0);
    emit("flaw-magic-alone", sound->bytes, 8);
    emit("flaw-header-alone", sound->bytes, 64);
    emit("flaw-cut-in-index", sound->bytes, 100);
    emit("flaw-head-alone", sound->bytes, 64 + TRIO * 32);
    emit("flaw-cut-in-digest", sound->bytes, sound->size - 1);
}

static void seal(uint8_t *bytes, size_t size)
{
    tkj_digest(bytes + 64, TRIO * (size_t)32, bytes + 24);
    fuzz_seal(bytes, size);
}

/* With digests made true. The records of three begin at 64, their offsets 24 bytes later. */
static void emit_changed(corpus_emit *emit, const tkj_blob *sound)
{
    const uint64_t first = tkj_bytes_get(sound->bytes + 64 + 24, 8);
    const corpus_change changes[] = {
        {"flaw-version", 8, 4, 2},
        {"flaw-count-huge", 12, 4, UINT32_MAX},
        {"flaw-count-most", 12, 4, TKJ_PACK_COUNT_MAX},
        {"flaw-file-size-huge", 16, 8, UINT64_MAX},
        {"flaw-zeros", 40, 1, 1},
        {"flaw-unsorted", 64, 1, 0xff},
        {"flaw-under-another-key", 64 + 15, 1, 0x55},
        {"flaw-entry-size-zero", 64 + 20, 4, 0},
        {"flaw-entry-size-huge", 64 + 20, 4, UINT32_MAX},
        {"flaw-offset-overflows", 64 + 24, 8, UINT64_MAX - 63},
        {"flaw-overlap", 64 + 32 + 24, 8, first},
        {"flaw-padding", (size_t)first - 1, 1, 1},
        {"flaw-entry-damaged", (size_t)first + 300, 1, 0xee},
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        uint8_t *bytes = fuzz_copy(sound->bytes, sound->size);
        tkj_bytes_put(bytes + changes[i].at, changes[i].value, changes[i].width);
        seal(bytes, sound->size);
        emit(changes[i].name, bytes, sound->size);
        free(bytes);
    }
}

/* 64 bytes more of padding than there must be, before the last entry. */
static void emit_gap(corpus_emit *emit, const tkj_blob *sound)
{
    const size_t offset_at = 64 + (TRIO - 1) * 32 + 24;
    const size_t last = (size_t)tkj_bytes_get(sound->bytes + offset_at, 8);
    const size_t size = sound->size + 64;
    uint8_t *bytes = calloc(size, 1);
    FUZZ_CHECK(bytes != NULL);
    memcpy(bytes, sound->bytes, last);
    memcpy(bytes + last + 64, sound->bytes + last, sound->size - last);
    tkj_bytes_put(bytes + offset_at, last + 64, 8);
    tkj_bytes_put(bytes + 16, size, 8);
    seal(bytes, size);
    emit("flaw-gap", bytes, size);
    free(bytes);
}

static void emit_checksum(corpus_emit *emit, const tkj_blob *sound)
{
    uint8_t *bytes = fuzz_copy(sound->bytes, sound->size);
    bytes[sound->size - 1] ^= 1;
    emit("flaw-checksum", bytes, sound->size);
    free(bytes);
}

void corpus_packs(corpus_emit *emit)
{
    emit_sound(emit);
    tkj_blob sound = trio();
    emit("sound-three", sound.bytes, sound.size);
    emit_cut(emit, &sound);
    emit_changed(emit, &sound);
    emit_gap(emit, &sound);
    emit_checksum(emit, &sound);
    tkj_free(&tkj_default_allocator, sound.bytes);
}
