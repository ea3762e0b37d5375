/* SPDX-License-Identifier: Apache-2.0 */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "entry.h"
#include "memory.h"

/* Offsets of the format, as README.md of the cache has them. */
enum {
    VERSION_AT = 8,
    KIND_AT = 12,
    PAYLOAD_SIZE_AT = 16,
    PREIMAGE_SIZE_AT = 24,
    TARGET_AT = 28,
    TOOLCHAIN_AT = 48,
    LIBRARY_AT = 160,
    PREIMAGE_AT = 192,
};

static const uint8_t payload[] = {0x7f, 'E', 'L', 'F', 0, 1, 2, 3, 4, 5};

static tkj_entry sample(void)
{
    return (tkj_entry){
        .kind = TKJ_PAYLOAD_CUBIN,
        .target = "sm_90",
        .toolchain = "nvrtc 13.0 build-id 3f2a",
        .library = "0.1.0",
        .preimage = "operation=select,topk=2048",
        .entry_name = "topk_jit_general_k2048_f32",
        .resources = {40, 1024, 65536, 16, 8, 0x01020304},
        .payload = payload,
        .payload_size = sizeof payload,
    };
}

static tkj_blob encode(const tkj_entry *entry)
{
    tkj_blob blob = {NULL, 0};
    assert_int_equal(tkj_entry_encode(&tkj_default_allocator, entry, &blob), TOPK_JIT_OK);
    return blob;
}

static void release(tkj_blob *blob)
{
    tkj_free(&tkj_default_allocator, blob->bytes);
}

/* A copy that ends where its memory ends, so that a sanitizer sees any read beyond it. */
static const char *decode_copy(const uint8_t *bytes, size_t size, tkj_entry *out)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    const char *flaw = tkj_entry_decode(copy, size, out);
    free(copy);
    return flaw;
}

static void assert_flawed(const uint8_t *bytes, size_t size)
{
    tkj_entry entry;
    memset(&entry, 0xA5, sizeof entry);
    const tkj_entry nothing = {0};
    assert_non_null(decode_copy(bytes, size, &entry));
    assert_memory_equal(&entry, &nothing, sizeof entry);
}

/* Makes the checksum true again after a change, to reach the checks behind it. */
static void reseal(tkj_blob *blob)
{
    size_t digest_at = blob->size - TKJ_DIGEST_SIZE;
    tkj_digest(blob->bytes, digest_at, blob->bytes + digest_at);
}

static void assert_flaw_after(size_t at, uint8_t value, const char *expected)
{
    tkj_entry entry = sample();
    tkj_blob blob = encode(&entry);
    assert_int_not_equal(blob.bytes[at], value);
    blob.bytes[at] = value;
    reseal(&blob);
    const char *flaw = decode_copy(blob.bytes, blob.size, &entry);
    assert_non_null(flaw);
    assert_string_equal(flaw, expected);
    release(&blob);
}

static void entry_comes_back_as_it_was(void **state)
{
    (void)state;
    tkj_entry entry = sample(), back;
    tkj_blob blob = encode(&entry);
    assert_null(tkj_entry_decode(blob.bytes, blob.size, &back));
    assert_int_equal(back.kind, entry.kind);
    assert_string_equal(back.target, entry.target);
    assert_string_equal(back.toolchain, entry.toolchain);
    assert_string_equal(back.library, entry.library);
    assert_string_equal(back.preimage, entry.preimage);
    assert_string_equal(back.entry_name, entry.entry_name);
    assert_memory_equal(&back.resources, &entry.resources, sizeof back.resources);
    assert_int_equal(back.payload_size, sizeof payload);
    assert_memory_equal(back.payload, payload, sizeof payload);
    release(&blob);
}

static void format_is_the_documented_one(void **state)
{
    (void)state;
    static const uint8_t head[] = {0x89, 'T', 'K', 'C', '\r', '\n', 0x1a, '\n', 1, 0, 0,  0, 1, 0,
                                   0,    0,   10,  0,   0,    0,    0,    0,    0, 0, 27, 0, 0, 0};
    static const uint8_t numbers[] = {40, 0, 0, 0, 0, 4, 0, 0, 0, 0, 1, 0,
                                      16, 0, 0, 0, 8, 0, 0, 0, 4, 3, 2, 1};
    tkj_entry entry = sample();
    tkj_blob blob = encode(&entry);
    size_t metadata_at = PREIMAGE_AT + 27;
    size_t payload_at = 384; /* 192 + 27 + 152 rounded up to 64 */
    assert_int_equal(blob.size, payload_at + sizeof payload + 16);
    assert_memory_equal(blob.bytes, head, sizeof head);
    assert_string_equal((char *)blob.bytes + TARGET_AT, entry.target);
    assert_string_equal((char *)blob.bytes + TOOLCHAIN_AT, entry.toolchain);
    assert_string_equal((char *)blob.bytes + LIBRARY_AT, entry.library);
    assert_string_equal((char *)blob.bytes + PREIMAGE_AT, entry.preimage);
    assert_memory_equal(blob.bytes + metadata_at, numbers, sizeof numbers);
    assert_string_equal((char *)blob.bytes + metadata_at + 24, entry.entry_name);
    assert_memory_equal(blob.bytes + payload_at, payload, sizeof payload);
    release(&blob);
}

static void payload_is_aligned_whatever_the_preimage(void **state)
{
    (void)state;
    char preimage[140];
    for (size_t length = 0; length < sizeof preimage; length++) {
        memset(preimage, 'p', length);
        preimage[length] = '\0';
        tkj_entry entry = sample(), back;
        entry.preimage = preimage;
        tkj_blob blob = encode(&entry);
        assert_null(tkj_entry_decode(blob.bytes, blob.size, &back));
        assert_int_equal((back.payload - blob.bytes) % 64, 0);
        assert_string_equal(back.preimage, preimage);
        release(&blob);
    }
}

static void same_fields_are_the_same_bytes(void **state)
{
    (void)state;
    tkj_test_allocator test; /* fills new memory with another byte than malloc */
    tkj_test_allocator_init(&test, 0);
    tkj_entry entry = sample();
    tkj_blob first = encode(&entry), second = {NULL, 0};
    assert_int_equal(tkj_entry_encode(&test.allocator, &entry, &second), TOPK_JIT_OK);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.bytes, second.bytes, first.size);
    tkj_free(&test.allocator, second.bytes);
    release(&first);
}

static void every_truncated_prefix_is_detected(void **state)
{
    (void)state;
    tkj_entry entry = sample();
    tkj_blob blob = encode(&entry);
    for (size_t size = 0; size < blob.size; size++)
        assert_flawed(blob.bytes, size);
    release(&blob);
}

static void every_flipped_byte_is_detected(void **state)
{
    (void)state;
    tkj_entry entry = sample();
    tkj_blob blob = encode(&entry);
    for (size_t i = 0; i < blob.size; i++)
        for (unsigned flip = 1; flip < 256; flip = flip * 2 + 1) {
            blob.bytes[i] ^= (uint8_t)flip;
            assert_flawed(blob.bytes, blob.size);
            blob.bytes[i] ^= (uint8_t)flip;
        }
    assert_null(decode_copy(blob.bytes, blob.size, &entry));
    release(&blob);
}

static void appended_bytes_are_detected(void **state)
{
    (void)state;
    tkj_entry entry = sample();
    tkj_blob blob = encode(&entry);
    uint8_t longer[1024] = {0};
    memcpy(longer, blob.bytes, blob.size);
    assert_string_equal(decode_copy(longer, blob.size + 1, &entry), "bytes were appended to it");
    assert_flawed(longer, sizeof longer);
    release(&blob);
}

static void other_format_version_is_told_before_anything_else(void **state)
{
    (void)state;
    assert_flaw_after(VERSION_AT, 2, "it has another format version");
    assert_flaw_after(VERSION_AT + 3, 1, "it has another format version");
    assert_flaw_after(0, 0x88, "it is not a cache entry");
}

static void magic_tells_an_entry_of_any_version(void **state)
{
    (void)state;
    tkj_entry entry = sample();
    tkj_blob blob = encode(&entry);
    blob.bytes[VERSION_AT] = 2;
    assert_true(tkj_entry_has_magic(blob.bytes, blob.size));
    assert_true(tkj_entry_has_magic(blob.bytes, 8));
    for (size_t size = 0; size < 8; size++)
        assert_false(tkj_entry_has_magic(blob.bytes, size));
    blob.bytes[3] = 'P';
    assert_false(tkj_entry_has_magic(blob.bytes, blob.size));
    release(&blob);
}

static void huge_sizes_are_impossible_before_they_are_used(void **state)
{
    (void)state;
    for (size_t i = 3; i < 8; i++)
        assert_flaw_after(PAYLOAD_SIZE_AT + i, 0xff, "its payload size is impossible");
    assert_flaw_after(PAYLOAD_SIZE_AT, 0, "its payload size is impossible");
    assert_flaw_after(PREIMAGE_SIZE_AT + 2, 0xff, "its preimage size is impossible");
    assert_flaw_after(PREIMAGE_SIZE_AT + 3, 0xff, "its preimage size is impossible");
    assert_flaw_after(PREIMAGE_SIZE_AT, 0, "its preimage size is impossible");
}

static void wrong_sizes_within_bounds_do_not_fit_the_file(void **state)
{
    (void)state;
    assert_flaw_after(PAYLOAD_SIZE_AT, 11, "it is cut short");
    assert_flaw_after(PAYLOAD_SIZE_AT, 9, "bytes were appended to it");
    assert_flaw_after(PREIMAGE_SIZE_AT, 255, "it is cut short");
    assert_flaw_after(PREIMAGE_SIZE_AT, 26, "its preimage is not one text");
    assert_flaw_after(PREIMAGE_SIZE_AT, 28, "its preimage is not one text");
}

static void texts_must_be_alone_in_their_fields(void **state)
{
    (void)state;
    const char *expected = "a text in it is not terminated or not alone in its field";
    assert_flaw_after(TOOLCHAIN_AT - 1, 'x', expected);
    assert_flaw_after(LIBRARY_AT - 1, 'x', expected);
    assert_flaw_after(PREIMAGE_AT - 1, 'x', expected);
    assert_flaw_after(PREIMAGE_AT + 27 + 151, 'x', expected);
    assert_flaw_after(PREIMAGE_AT + 5, 0, "its preimage is not one text");
    assert_flaw_after(PREIMAGE_AT + 26, 'x', "its preimage is not one text");
}

static void text_that_fills_its_field_is_not_terminated(void **state)
{
    (void)state;
    tkj_entry entry = sample();
    tkj_blob blob = encode(&entry);
    memset(blob.bytes + TARGET_AT, 'x', TOOLCHAIN_AT - TARGET_AT);
    reseal(&blob);
    assert_flawed(blob.bytes, blob.size);
    release(&blob);
}

static void padding_must_be_zero_and_kind_known(void **state)
{
    (void)state;
    for (size_t i = PREIMAGE_AT + 27 + 152; i < 384; i++)
        assert_flaw_after(i, 1, "its padding is not zero");
    assert_flaw_after(KIND_AT, 0, "its payload kind is unknown");
    assert_flaw_after(KIND_AT, 3, "its payload kind is unknown");
    assert_flaw_after(KIND_AT + 2, 1, "its payload kind is unknown");
}

static void ptx_must_end_with_a_nul(void **state)
{
    (void)state;
    static const uint8_t text[] = ".version 7.0";
    tkj_entry entry = sample(), back;
    entry.kind = TKJ_PAYLOAD_PTX;
    entry.payload = text;
    entry.payload_size = sizeof text;
    tkj_blob blob = encode(&entry);
    assert_null(tkj_entry_decode(blob.bytes, blob.size, &back));
    assert_int_equal(back.kind, TKJ_PAYLOAD_PTX);
    assert_string_equal((const char *)back.payload, (const char *)text);
    release(&blob);
    entry.payload_size = sizeof text - 1;
    assert_int_equal(tkj_entry_encode(&tkj_default_allocator, &entry, &blob),
                     TOPK_JIT_CACHE_FAILED);
    assert_flaw_after(KIND_AT, TKJ_PAYLOAD_PTX, "its PTX does not end with a NUL");
}

static void assert_not_encoded(const tkj_entry *entry, const char *message)
{
    tkj_blob blob = {(uint8_t *)1, 1};
    assert_int_equal(tkj_entry_encode(&tkj_default_allocator, entry, &blob), TOPK_JIT_CACHE_FAILED);
    assert_null(blob.bytes);
    assert_int_equal(blob.size, 0);
    if (strstr(topk_jit_last_error()->message, message) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", message, topk_jit_last_error()->message);
}

static void text_fits_up_to_its_field_and_not_beyond(void **state)
{
    (void)state;
    static char text[(64 << 10) + 1];
    const struct {
        size_t member, capacity;
        const char *message;
    } fields[] = {
        {offsetof(tkj_entry, target), 19, "the target has 20 characters, expected at most 19"},
        {offsetof(tkj_entry, toolchain), 111, "the toolchain has 112 characters"},
        {offsetof(tkj_entry, library), 31, "the library version has 32 characters"},
        {offsetof(tkj_entry, entry_name), 127, "the entry name has 128 characters"},
        {offsetof(tkj_entry, preimage), (64 << 10) - 1, "the preimage has 65536 characters"},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        tkj_entry entry = sample(), back;
        const char *longest = text;
        memcpy((char *)&entry + fields[i].member, &longest, sizeof longest);
        memset(text, 'x', fields[i].capacity);
        text[fields[i].capacity] = '\0';
        tkj_blob blob = encode(&entry);
        assert_null(tkj_entry_decode(blob.bytes, blob.size, &back));
        const char *decoded;
        memcpy(&decoded, (char *)&back + fields[i].member, sizeof decoded);
        assert_string_equal(decoded, text);
        release(&blob);
        text[fields[i].capacity] = 'x';
        text[fields[i].capacity + 1] = '\0';
        assert_not_encoded(&entry, fields[i].message);
    }
}

static void payload_of_impossible_size_is_not_encoded(void **state)
{
    (void)state;
    tkj_entry entry = sample();
    entry.payload_size = 0;
    assert_not_encoded(&entry, "the payload has 0 bytes");
    entry.payload_size = SIZE_MAX;
    assert_not_encoded(&entry, "expected 1 to 67108864");
    entry.payload_size = TKJ_ENTRY_SIZE_MAX; /* fits alone, not with what surrounds it */
    assert_not_encoded(&entry, "expected at most 67108864");
    entry = sample();
    entry.kind = (tkj_payload_kind)3;
    assert_not_encoded(&entry, "payload kind 3 is unknown");
}

static void encoding_without_memory_is_out_of_memory(void **state)
{
    (void)state;
    tkj_test_allocator test;
    tkj_test_allocator_init(&test, 1);
    tkj_entry entry = sample();
    tkj_blob blob = {(uint8_t *)1, 1};
    assert_int_equal(tkj_entry_encode(&test.allocator, &entry, &blob), TOPK_JIT_OUT_OF_MEMORY);
    assert_null(blob.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entry_comes_back_as_it_was),
        cmocka_unit_test(format_is_the_documented_one),
        cmocka_unit_test(payload_is_aligned_whatever_the_preimage),
        cmocka_unit_test(same_fields_are_the_same_bytes),
        cmocka_unit_test(every_truncated_prefix_is_detected),
        cmocka_unit_test(every_flipped_byte_is_detected),
        cmocka_unit_test(appended_bytes_are_detected),
        cmocka_unit_test(other_format_version_is_told_before_anything_else),
        cmocka_unit_test(magic_tells_an_entry_of_any_version),
        cmocka_unit_test(huge_sizes_are_impossible_before_they_are_used),
        cmocka_unit_test(wrong_sizes_within_bounds_do_not_fit_the_file),
        cmocka_unit_test(texts_must_be_alone_in_their_fields),
        cmocka_unit_test(text_that_fills_its_field_is_not_terminated),
        cmocka_unit_test(padding_must_be_zero_and_kind_known),
        cmocka_unit_test(ptx_must_end_with_a_nul),
        cmocka_unit_test(text_fits_up_to_its_field_and_not_beyond),
        cmocka_unit_test(payload_of_impossible_size_is_not_encoded),
        cmocka_unit_test(encoding_without_memory_is_out_of_memory),
    };
    return cmocka_run_group_tests_name("cache_entry", tests, NULL, NULL);
}
