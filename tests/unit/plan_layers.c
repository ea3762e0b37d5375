/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_layers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "digest.h"
#include "memory.h"
#include "pack.h"

#define ITEMS_MAX 16

void plan_layers_warm(plan_case *it, const char *directory, const topk_jit_spec *spec)
{
    topk_jit_options options = plan_case_options(it);
    options.cache_dir = directory;
    options.mode = TOPK_JIT_MODE_AUTO;
    plan_case_open(it, &options);
    assert_int_equal(plan_case_warm(it, spec, 90, "sm_90"), TOPK_JIT_OK);
    plan_case_close(it);
}

static tkj_blob read_entry(const char *path, tkj_entry *entry)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    tkj_blob bytes = {malloc((size_t)status.st_size), (size_t)status.st_size};
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_non_null(bytes.bytes);
    assert_int_equal(fread(bytes.bytes, 1, bytes.size, file), bytes.size);
    assert_int_equal(fclose(file), 0);
    assert_null(tkj_entry_decode(bytes.bytes, bytes.size, entry));
    return bytes;
}

typedef struct item_list {
    tkj_pack_item items[ITEMS_MAX];
    size_t count;
} item_list;

static void add_item(const char *path, void *user)
{
    item_list *list = user;
    tkj_entry entry;
    assert_true(list->count < ITEMS_MAX);
    tkj_pack_item *item = &list->items[list->count++];
    item->bytes = read_entry(path, &entry);
    item->major = (uint32_t)strtoul(strstr(path, ".cu") + strlen(".cu"), NULL, 10);
    tkj_digest(entry.preimage, strlen(entry.preimage), item->key);
}

void plan_layers_pack(const char *directory, const char *path)
{
    item_list list = {.count = 0};
    tkj_blob pack;
    assert_true(plan_case_each_file(directory, ".tkc", add_item, &list) > 0);
    assert_int_equal(tkj_pack_encode(&tkj_default_allocator, list.items, list.count, &pack),
                     TOPK_JIT_OK);
    tkj_test_file_write(path, pack.bytes, pack.size);
    tkj_free(&tkj_default_allocator, pack.bytes);
    for (size_t i = 0; i < list.count; i++)
        free(list.items[i].bytes.bytes);
}

static void spoil(const char *path, void *user)
{
    static const char foreign[] = "FAKECUBIN sm_80\n"; /* which no GPU of sm_90 runs */
    tkj_entry entry;
    tkj_blob bytes = read_entry(path, &entry), spoilt;
    (void)user;
    entry.payload = (const uint8_t *)foreign;
    entry.payload_size = sizeof foreign;
    assert_int_equal(tkj_entry_encode(&tkj_default_allocator, &entry, &spoilt), TOPK_JIT_OK);
    tkj_test_file_write(path, spoilt.bytes, spoilt.size);
    tkj_free(&tkj_default_allocator, spoilt.bytes);
    free(bytes.bytes);
}

void plan_layers_spoil(const char *directory)
{
    assert_true(plan_case_each_file(directory, ".tkc", spoil, NULL) > 0);
}

void plan_layers_open(plan_case *it, const char *ro_dirs, topk_jit_mode mode)
{
    topk_jit_options options = plan_case_options(it);
    options.ro_dirs = ro_dirs;
    options.mode = mode;
    plan_case_open(it, &options);
}
