/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "bytes.h"
#include "corpus.h"
#include "fuzz.h"
#include "memory.h"

static const uint8_t cubin[] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
static const uint8_t ptx[] = ".version 7.0";

static tkj_entry sample(void)
{
    return (tkj_entry){
        .kind = TKJ_PAYLOAD_CUBIN,
        .target = "sm_90",
        .toolchain = "nvrtc 13.0",
        .library = "0.1.0",
        .preimage = "schema 1:1\nspec 26:operation=select,topk=2048\ntarget 5:sm_90\n",
        .entry_name = "topk_jit_general_k2048_f32",
        .resources = {40, 1024, 65536, 16, 8, 4},
        .payload = cubin,
        .payload_size = sizeof cubin,
    };
}

static tkj_blob encode(const tkj_entry *entry)
{
    tkj_blob blob;
    FUZZ_CHECK(tkj_entry_encode(&tkj_default_allocator, entry, &blob) == TOPK_JIT_OK);
    return blob;
}

tkj_pack_item corpus_item(const char *preimage, uint32_t major)
{
    char toolchain[32];
    tkj_entry entry = sample();
    snprintf(toolchain, sizeof toolchain, "nvrtc %u.0", (unsigned)major);
    entry.toolchain = toolchain;
    entry.preimage = preimage;
    tkj_pack_item item = {.major = major, .bytes = encode(&entry)};
    tkj_digest(preimage, strlen(preimage), item.key);
    return item;
}

static void emit_entry(corpus_emit *emit, const char *name, const tkj_entry *entry)
{
    tkj_blob blob = encode(entry);
    emit(name, blob.bytes, blob.size);
    tkj_free(&tkj_default_allocator, blob.bytes);
}

static void emit_sound(corpus_emit *emit)
{
    tkj_entry entry = sample();
    emit_entry(emit, "sound-cubin", &entry);
    entry.kind = TKJ_PAYLOAD_PTX;
    entry.target = "compute_90";
    entry.preimage = "schema 1:1\nspec 26:operation=select,topk=2048\ntarget 10:compute_90\n";
    entry.payload = ptx;
    entry.payload_size = sizeof ptx;
    emit_entry(emit, "sound-ptx", &entry);
    entry = sample();
    entry.target = entry.toolchain = entry.library = entry.preimage = entry.entry_name = "";
    entry.payload_size = 1;
    emit_entry(emit, "sound-least", &entry);
    entry = sample(); /* what must not reach a terminal as it is */
    entry.target = "sm_\n90";
    entry.toolchain = "\x1b[31mred";
    entry.library = "\xff\xfe";
    entry.preimage = "spec 3:a\x1b\n\n";
    entry.entry_name = "back\\slash\t\x7f";
    emit_entry(emit, "sound-control-characters", &entry);
}

static void emit_cut(corpus_emit *emit, const tkj_blob *sound)
{
    emit("flaw-empty", sound->bytes, 0);
    emit("flaw-magic-alone", sound->bytes, 8);
    emit("flaw-header-alone", sound->bytes, 192);
    emit("flaw-cut-in-preimage", sound->bytes, 200);
    emit("flaw-cut-in-digest", sound->bytes, sound->size - 1);
}

/* Digest left as it was, or made true. */
static void emit_changed(corpus_emit *emit, const tkj_blob *sound)
{
    static const corpus_change changes[] = {
        {"flaw-version", 8, 4, 2},
        {"flaw-kind", 12, 4, 3},
        {"flaw-ptx-without-nul", 12, 4, TKJ_PAYLOAD_PTX},
        {"flaw-payload-size-zero", 16, 8, 0},
        {"flaw-payload-size-huge", 16, 8, UINT64_MAX},
        {"flaw-payload-size-one-more", 16, 8, sizeof cubin + 1},
        {"flaw-preimage-size-zero", 24, 4, 0},
        {"flaw-preimage-size-huge", 24, 4, UINT32_MAX},
        {"flaw-text-without-nul", 47, 1, 'x'},
        {"flaw-preimage-with-nul", 195, 1, 0},
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        uint8_t *bytes = fuzz_copy(sound->bytes, sound->size);
        tkj_bytes_put(bytes + changes[i].at, changes[i].value, changes[i].width);
        fuzz_seal(bytes, sound->size);
        emit(changes[i].name, bytes, sound->size);
        free(bytes);
    }
    uint8_t *bytes = fuzz_copy(sound->bytes, sound->size);
    bytes[300] ^= 1;
    emit("flaw-checksum", bytes, sound->size);
    free(bytes);
}

void corpus_entries(corpus_emit *emit)
{
    emit_sound(emit);
    const tkj_entry entry = sample();
    tkj_blob sound = encode(&entry);
    emit_cut(emit, &sound);
    emit_changed(emit, &sound);
    tkj_free(&tkj_default_allocator, sound.bytes);
}
