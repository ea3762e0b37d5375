/* SPDX-License-Identifier: Apache-2.0 */
#include "cache_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

static void listen_to(void *user, topk_jit_log_level level, const char *text)
{
    cache_case *it = user;
    if (level != TOPK_JIT_LOG_WARNING)
        return;
    if (atomic_fetch_add(&it->warnings, 1) == 0)
        snprintf(it->warning, sizeof it->warning, "%s", text);
}

static tkj_entry sample(void)
{
    static uint8_t payload[5000];
    for (size_t i = 0; i < sizeof payload; i++)
        payload[i] = (uint8_t)(i * 7 + 1);
    return (tkj_entry){
        .kind = TKJ_PAYLOAD_CUBIN,
        .target = CACHE_CASE_TARGET,
        .toolchain = "nvrtc 13.0 build-id 3f2a",
        .library = "0.1.0",
        .preimage = CACHE_CASE_PREIMAGE,
        .entry_name = "topk_jit_general_k2048_f32",
        .payload = payload,
        .payload_size = sizeof payload,
    };
}

tkj_cache_options cache_case_options(const cache_case *it)
{
    return (tkj_cache_options){
        .root = it->root,
        .runtime_dir = it->directory,
        .mode = TOPK_JIT_MODE_AUTO,
        .max_bytes = UINT64_C(1) << 30,
        .lock_timeout_ns = UINT64_C(30000000000),
    };
}

void cache_case_open(cache_case *it, const tkj_cache_options *options)
{
    const tkj_logger logger = {listen_to, it, TOPK_JIT_LOG_DEBUG};
    tkj_cache_destroy(it->cache);
    assert_int_equal(tkj_cache_create(&it->test.allocator, &logger, options, &it->cache),
                     TOPK_JIT_OK);
}

int cache_case_set_up(void **state)
{
    cache_case *it = calloc(1, sizeof *it);
    assert_non_null(it);
    it->directory = tkj_test_dir_create();
    it->root = strdup(tkj_test_path(it->directory, "root"));
    tkj_test_allocator_init(&it->test, 0);
    const tkj_cache_options options = cache_case_options(it);
    cache_case_open(it, &options);
    for (size_t i = 0; i < sizeof it->key.digest; i++)
        it->key.digest[i] = (uint8_t)i;
    tkj_entry entry = sample();
    assert_int_equal(tkj_entry_encode(&it->test.allocator, &entry, &it->bytes), TOPK_JIT_OK);
    *state = it;
    return 0;
}

int cache_case_tear_down(void **state)
{
    cache_case *it = *state;
    tkj_cache_destroy(it->cache);
    tkj_free(&it->test.allocator, it->bytes.bytes);
    assert_int_equal(atomic_load(&it->test.live), 0);
    tkj_test_dir_remove(it->directory);
    free(it->root);
    free(it);
    return 0;
}

topk_jit_status cache_case_put(cache_case *it)
{
    return tkj_cache_put(it->cache, &it->key, CACHE_CASE_MAJOR, &it->bytes);
}

tkj_cache_query cache_case_query(const cache_case *it)
{
    return (tkj_cache_query){
        .key = it->key,
        .major = CACHE_CASE_MAJOR,
        .preimage = CACHE_CASE_PREIMAGE,
        .target = CACHE_CASE_TARGET,
    };
}

tkj_cache_outcome cache_case_ask(cache_case *it, const tkj_cache_query *query)
{
    tkj_blob bytes;
    tkj_entry entry;
    size_t layer = 0;
    tkj_cache_outcome outcome = tkj_cache_get(it->cache, query, &layer, &bytes, &entry);
    tkj_free(&it->test.allocator, bytes.bytes);
    return outcome;
}

tkj_cache_outcome cache_case_get(cache_case *it)
{
    tkj_blob bytes = {(uint8_t *)1, 1};
    tkj_entry entry;
    size_t layer = 0;
    const tkj_cache_query query = cache_case_query(it);
    tkj_cache_outcome outcome = tkj_cache_get(it->cache, &query, &layer, &bytes, &entry);
    if (outcome == TKJ_CACHE_HIT) {
        assert_int_equal(bytes.size, it->bytes.size);
        assert_memory_equal(bytes.bytes, it->bytes.bytes, bytes.size);
        assert_true(entry.payload > bytes.bytes && entry.payload < bytes.bytes + bytes.size);
    } else {
        assert_null(bytes.bytes);
        assert_int_equal(bytes.size, 0);
        assert_null(entry.payload);
    }
    tkj_free(&it->test.allocator, bytes.bytes);
    return outcome;
}

void cache_case_assert_message(const char *part)
{
    if (strstr(topk_jit_last_error()->message, part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, topk_jit_last_error()->message);
}

const char *cache_case_path(const cache_case *it, const char *name)
{
    return tkj_test_path(it->root, name);
}
