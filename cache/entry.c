/* SPDX-License-Identifier: Apache-2.0 */
#include "entry.h"

#include <stdbool.h>
#include <string.h>

#include "bytes.h"
#include "digest.h"
#include "memory.h"
#include "status.h"

/* The bytes around the letters are those of PNG: a transfer that strips bit 7 or turns line ends
   into others shows at once. */
static const uint8_t magic[8] = {0x89, 'T', 'K', 'C', '\r', '\n', 0x1a, '\n'};

#define FORMAT_VERSION 1u

/* Preimages have at most about 3 KiB; the bound keeps a corrupt size from costing anything. */
#define PREIMAGE_SIZE_MAX ((size_t)64 << 10)

/* Header, from the start of the file. */
enum {
    MAGIC_AT = 0,
    VERSION_AT = 8,
    KIND_AT = 12,
    PAYLOAD_SIZE_AT = 16,
    PREIMAGE_SIZE_AT = 24,
    TARGET_AT = 28,
    TOOLCHAIN_AT = 48,
    LIBRARY_AT = 160,
    HEADER_SIZE = 192,
};

/* Metadata, from the end of the preimage: six numbers in the order of tkj_entry_resources. */
enum {
    RESOURCES_AT = 0,
    ENTRY_NAME_AT = 24,
    METADATA_SIZE = 152,
};

/* Sizes of the text fields, NUL included. */
enum {
    TARGET_SIZE = TOOLCHAIN_AT - TARGET_AT,
    TOOLCHAIN_SIZE = LIBRARY_AT - TOOLCHAIN_AT,
    LIBRARY_SIZE = HEADER_SIZE - LIBRARY_AT,
    ENTRY_NAME_SIZE = METADATA_SIZE - ENTRY_NAME_AT,
};

/* Where the parts are, given the two sizes that vary. */
typedef struct entry_layout {
    size_t metadata;
    size_t payload;
    size_t digest;
    size_t total;
} entry_layout;

/* Both sizes are at most their bounds, so nothing here overflows even where size_t has 32 bits. */
_Static_assert(TKJ_ENTRY_SIZE_MAX + PREIMAGE_SIZE_MAX < UINT32_MAX / 2, "sums must not overflow");

static entry_layout lay_out(size_t preimage_size, size_t payload_size)
{
    entry_layout layout;
    layout.metadata = HEADER_SIZE + preimage_size;
    layout.payload = (layout.metadata + METADATA_SIZE + 63) / 64 * 64;
    layout.digest = layout.payload + payload_size;
    layout.total = layout.digest + TKJ_DIGEST_SIZE;
    return layout;
}

static bool is_kind(uint64_t kind)
{
    return kind == TKJ_PAYLOAD_CUBIN || kind == TKJ_PAYLOAD_PTX;
}

/* The driver reads PTX up to its NUL: without one it would read beyond the entry. */
static bool is_terminated(tkj_payload_kind kind, const uint8_t *payload, size_t size)
{
    return kind != TKJ_PAYLOAD_PTX || payload[size - 1] == 0;
}

static topk_jit_status check_text(const char *what, const char *text, size_t field_size)
{
    size_t length = strlen(text);
    if (length < field_size)
        return TOPK_JIT_OK;
    return tkj_fail(TOPK_JIT_CACHE_FAILED,
                    "cache entry: the %s has %zu characters, expected at most %zu", what, length,
                    field_size - 1);
}

static topk_jit_status check_fields(const tkj_entry *entry)
{
    const struct {
        const char *what, *text;
        size_t size;
    } texts[] = {
        {"target", entry->target, TARGET_SIZE},
        {"toolchain", entry->toolchain, TOOLCHAIN_SIZE},
        {"library version", entry->library, LIBRARY_SIZE},
        {"entry name", entry->entry_name, ENTRY_NAME_SIZE},
        {"preimage", entry->preimage, PREIMAGE_SIZE_MAX},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        topk_jit_status status = check_text(texts[i].what, texts[i].text, texts[i].size);
        if (status != TOPK_JIT_OK)
            return status;
    }
    if (!is_kind(entry->kind))
        return tkj_fail(TOPK_JIT_CACHE_FAILED, "cache entry: payload kind %d is unknown",
                        (int)entry->kind);
    if (entry->payload_size == 0 || entry->payload_size > TKJ_ENTRY_SIZE_MAX)
        return tkj_fail(TOPK_JIT_CACHE_FAILED,
                        "cache entry: the payload has %zu bytes, expected 1 to %zu",
                        entry->payload_size, TKJ_ENTRY_SIZE_MAX);
    if (!is_terminated(entry->kind, entry->payload, entry->payload_size))
        return tkj_fail(TOPK_JIT_CACHE_FAILED, "cache entry: the PTX does not end with a NUL");
    return TOPK_JIT_OK;
}

static void put_text(uint8_t *at, const char *text)
{
    memcpy(at, text, strlen(text));
}

static void put_resources(uint8_t *at, const tkj_entry_resources *resources)
{
    const uint32_t numbers[] = {
        resources->registers, resources->static_shared, resources->dynamic_shared,
        resources->stack,     resources->spill,         resources->other_spill,
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        tkj_bytes_put(at + 4 * i, numbers[i], 4);
}

static void put_header(uint8_t *bytes, const tkj_entry *entry, size_t preimage_size)
{
    memcpy(bytes + MAGIC_AT, magic, sizeof magic);
    tkj_bytes_put(bytes + VERSION_AT, FORMAT_VERSION, 4);
    tkj_bytes_put(bytes + KIND_AT, entry->kind, 4);
    tkj_bytes_put(bytes + PAYLOAD_SIZE_AT, entry->payload_size, 8);
    tkj_bytes_put(bytes + PREIMAGE_SIZE_AT, preimage_size, 4);
    put_text(bytes + TARGET_AT, entry->target);
    put_text(bytes + TOOLCHAIN_AT, entry->toolchain);
    put_text(bytes + LIBRARY_AT, entry->library);
}

topk_jit_status tkj_entry_encode(const topk_jit_allocator *allocator, const tkj_entry *entry,
                                 tkj_blob *out)
{
    *out = (tkj_blob){NULL, 0};
    topk_jit_status status = check_fields(entry);
    if (status != TOPK_JIT_OK)
        return status;
    size_t preimage_size = strlen(entry->preimage) + 1;
    entry_layout layout = lay_out(preimage_size, entry->payload_size);
    if (layout.total > TKJ_ENTRY_SIZE_MAX)
        return tkj_fail(TOPK_JIT_CACHE_FAILED, "cache entry: %zu bytes, expected at most %zu",
                        layout.total, TKJ_ENTRY_SIZE_MAX);
    uint8_t *bytes = tkj_alloc_zeroed(allocator, layout.total, 1);
    if (bytes == NULL)
        return TOPK_JIT_OUT_OF_MEMORY;
    put_header(bytes, entry, preimage_size);
    put_text(bytes + HEADER_SIZE, entry->preimage);
    put_resources(bytes + layout.metadata + RESOURCES_AT, &entry->resources);
    put_text(bytes + layout.metadata + ENTRY_NAME_AT, entry->entry_name);
    memcpy(bytes + layout.payload, entry->payload, entry->payload_size);
    tkj_digest(bytes, layout.digest, bytes + layout.digest);
    *out = (tkj_blob){bytes, layout.total};
    return TOPK_JIT_OK;
}

/* A text, its NUL, and zeros to the end of the field: one text has one form. */
static bool is_text_field(const uint8_t *field, size_t size)
{
    const uint8_t *end = memchr(field, 0, size);
    return end != NULL && tkj_bytes_are_zero(end, size - (size_t)(end - field));
}

bool tkj_entry_has_magic(const uint8_t *bytes, size_t size)
{
    return size >= sizeof magic && memcmp(bytes + MAGIC_AT, magic, sizeof magic) == 0;
}

/* What must hold before any other byte is looked at. */
static const char *check_frame(const uint8_t *bytes, size_t size)
{
    if (!tkj_entry_has_magic(bytes, size))
        return "it is not a cache entry";
    if (size < HEADER_SIZE)
        return "it is cut inside its header";
    if (tkj_bytes_get(bytes + VERSION_AT, 4) != FORMAT_VERSION)
        return "it has another format version";
    if (size > TKJ_ENTRY_SIZE_MAX)
        return "it is larger than any entry";
    return NULL;
}

static const char *check_sizes(const uint8_t *bytes, size_t size, entry_layout *layout)
{
    uint64_t payload_size = tkj_bytes_get(bytes + PAYLOAD_SIZE_AT, 8);
    uint64_t preimage_size = tkj_bytes_get(bytes + PREIMAGE_SIZE_AT, 4);
    if (payload_size == 0 || payload_size > TKJ_ENTRY_SIZE_MAX)
        return "its payload size is impossible";
    if (preimage_size == 0 || preimage_size > PREIMAGE_SIZE_MAX)
        return "its preimage size is impossible";
    *layout = lay_out((size_t)preimage_size, (size_t)payload_size);
    if (size < layout->total)
        return "it is cut short";
    if (size > layout->total)
        return "bytes were appended to it";
    return NULL;
}

static const char *check_contents(const uint8_t *bytes, const entry_layout *layout)
{
    uint8_t digest[TKJ_DIGEST_SIZE];
    tkj_digest(bytes, layout->digest, digest);
    if (memcmp(digest, bytes + layout->digest, TKJ_DIGEST_SIZE) != 0)
        return "its checksum does not match";
    uint64_t kind = tkj_bytes_get(bytes + KIND_AT, 4);
    if (!is_kind(kind))
        return "its payload kind is unknown";
    if (!is_terminated((tkj_payload_kind)kind, bytes + layout->payload,
                       layout->digest - layout->payload))
        return "its PTX does not end with a NUL";
    size_t preimage_size = layout->metadata - HEADER_SIZE;
    const uint8_t *preimage = bytes + HEADER_SIZE;
    if (memchr(preimage, 0, preimage_size) != preimage + preimage_size - 1)
        return "its preimage is not one text";
    if (!is_text_field(bytes + TARGET_AT, TARGET_SIZE) ||
        !is_text_field(bytes + TOOLCHAIN_AT, TOOLCHAIN_SIZE) ||
        !is_text_field(bytes + LIBRARY_AT, LIBRARY_SIZE) ||
        !is_text_field(bytes + layout->metadata + ENTRY_NAME_AT, ENTRY_NAME_SIZE))
        return "a text in it is not terminated or not alone in its field";
    size_t padding = layout->metadata + METADATA_SIZE;
    if (!tkj_bytes_are_zero(bytes + padding, layout->payload - padding))
        return "its padding is not zero";
    return NULL;
}

static tkj_entry_resources get_resources(const uint8_t *at)
{
    return (tkj_entry_resources){
        .registers = (uint32_t)tkj_bytes_get(at, 4),
        .static_shared = (uint32_t)tkj_bytes_get(at + 4, 4),
        .dynamic_shared = (uint32_t)tkj_bytes_get(at + 8, 4),
        .stack = (uint32_t)tkj_bytes_get(at + 12, 4),
        .spill = (uint32_t)tkj_bytes_get(at + 16, 4),
        .other_spill = (uint32_t)tkj_bytes_get(at + 20, 4),
    };
}

const char *tkj_entry_decode(const uint8_t *bytes, size_t size, tkj_entry *out)
{
    memset(out, 0, sizeof *out);
    entry_layout layout = {0, 0, 0, 0};
    const char *flaw = check_frame(bytes, size);
    if (flaw == NULL)
        flaw = check_sizes(bytes, size, &layout);
    if (flaw == NULL)
        flaw = check_contents(bytes, &layout);
    if (flaw != NULL)
        return flaw;
    const uint8_t *metadata = bytes + layout.metadata;
    *out = (tkj_entry){
        .kind = (tkj_payload_kind)tkj_bytes_get(bytes + KIND_AT, 4),
        .target = (const char *)bytes + TARGET_AT,
        .toolchain = (const char *)bytes + TOOLCHAIN_AT,
        .library = (const char *)bytes + LIBRARY_AT,
        .preimage = (const char *)bytes + HEADER_SIZE,
        .entry_name = (const char *)metadata + ENTRY_NAME_AT,
        .resources = get_resources(metadata + RESOURCES_AT),
        .payload = bytes + layout.payload,
        .payload_size = layout.digest - layout.payload,
    };
    return NULL;
}
