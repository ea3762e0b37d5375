/* SPDX-License-Identifier: Apache-2.0 */
#include "layer_case.h"

#include <stdio.h>
#include <string.h>

#include "memory.h"

static const uint8_t payload[] = {0x7f, 'E', 'L', 'F', 1, 2, 3};

int layer_case_set_up(void **state)
{
    int result = cache_case_set_up(state);
    cache_case *it = *state;
    tkj_digest(CACHE_CASE_PREIMAGE, strlen(CACHE_CASE_PREIMAGE), it->key.digest);
    return result;
}

static tkj_blob encode(const char *toolchain)
{
    const tkj_entry entry = {
        .kind = TKJ_PAYLOAD_CUBIN,
        .target = CACHE_CASE_TARGET,
        .toolchain = toolchain,
        .library = "0.1.0",
        .preimage = CACHE_CASE_PREIMAGE,
        .entry_name = "topk_jit_general_k2048_f32",
        .payload = payload,
        .payload_size = sizeof payload,
    };
    tkj_blob bytes;
    assert_int_equal(tkj_entry_encode(&tkj_default_allocator, &entry, &bytes), TOPK_JIT_OK);
    return bytes;
}

void layer_case_fill(cache_case *it, const char *directory, const char *toolchain)
{
    const tkj_logger silent = {NULL, NULL, 0};
    const tkj_cache_options options = {
        .root = directory, .mode = TOPK_JIT_MODE_AUTO, .max_bytes = UINT64_MAX};
    tkj_cache *writer = NULL;
    tkj_blob bytes = encode(toolchain);
    assert_int_equal(tkj_cache_create(&tkj_default_allocator, &silent, &options, &writer),
                     TOPK_JIT_OK);
    assert_int_equal(tkj_cache_put(writer, &it->key, CACHE_CASE_MAJOR, &bytes), TOPK_JIT_OK);
    tkj_cache_destroy(writer);
    tkj_free(&tkj_default_allocator, bytes.bytes);
}

void layer_case_pack(cache_case *it, const char *path, const char *toolchain)
{
    tkj_pack_item item = {.major = CACHE_CASE_MAJOR, .bytes = encode(toolchain)};
    tkj_blob pack;
    memcpy(item.key, it->key.digest, sizeof item.key);
    assert_int_equal(tkj_pack_encode(&tkj_default_allocator, &item, 1, &pack), TOPK_JIT_OK);
    tkj_test_file_write(path, pack.bytes, pack.size);
    tkj_free(&tkj_default_allocator, pack.bytes);
    tkj_free(&tkj_default_allocator, item.bytes.bytes);
}

const char *layer_case_file(const cache_case *it, const char *directory)
{
    char name[TKJ_ENTRY_FILE_SIZE];
    tkj_entry_file(&it->key, CACHE_CASE_MAJOR, name);
    return tkj_test_path(directory, name);
}

void layer_case_flip(const char *path, long from_end)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, -from_end, SEEK_END), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, -from_end, SEEK_END), 0);
    assert_int_equal(fputc(byte ^ 1, file), byte ^ 1);
    assert_int_equal(fclose(file), 0);
}

void layer_case_open(cache_case *it, const char *ro_dirs)
{
    tkj_cache_options options = cache_case_options(it);
    options.ro_dirs = ro_dirs;
    cache_case_open(it, &options);
}

const char *layer_case_ask(cache_case *it, const tkj_cache_query *query, size_t *layer)
{
    static _Thread_local char toolchain[128];
    tkj_blob bytes;
    tkj_entry entry;
    tkj_cache_outcome outcome = tkj_cache_get(it->cache, query, layer, &bytes, &entry);
    snprintf(toolchain, sizeof toolchain, "%s",
             outcome == TKJ_CACHE_HIT ? entry.toolchain : "nobody");
    tkj_free(&it->test.allocator, bytes.bytes);
    return toolchain;
}

void layer_case_assert_answer(cache_case *it, const char *toolchain)
{
    size_t layer = 0;
    const tkj_cache_query query = cache_case_query(it);
    assert_string_equal(layer_case_ask(it, &query, &layer), toolchain);
}

void layer_case_assert_warned(cache_case *it, int count, const char *part)
{
    assert_int_equal(atomic_load(&it->warnings), count);
    if (strstr(it->warning, part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, it->warning);
}
