/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever is done to an entry's file or to a pack: it is a miss there, the next layer serves, and
 * a put repairs what can be repaired. */
#include "testing.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache_case.h"
#include "digest.h"
#include "memory.h"
#include "pack.h"

#define PACK "pack.tkp"
#define OTHER_PREIMAGE "operation=select,topk=512"

/* What a disk does is another test's; this one stores thousands of times. Linked with --wrap. */
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    (void)fd;
    return 0;
}

/* ---- a small entry, and others that could stand in its place ---- */

static const uint8_t payload[16] = {0x7f, 'E', 'L', 'F'};

static tkj_entry small_entry(void)
{
    return (tkj_entry){
        .kind = TKJ_PAYLOAD_CUBIN,
        .target = CACHE_CASE_TARGET,
        .toolchain = "nvrtc 13.0",
        .library = "0.1.0",
        .preimage = CACHE_CASE_PREIMAGE,
        .entry_name = "topk_jit_small",
        .payload = payload,
        .payload_size = sizeof payload,
    };
}

static tkj_blob encode(cache_case *it, const tkj_entry *entry)
{
    tkj_blob bytes;
    assert_int_equal(tkj_entry_encode(&it->test.allocator, entry, &bytes), TOPK_JIT_OK);
    return bytes;
}

/* The case's entry becomes a small one under its key, as packs want it. */
static int set_up(void **state)
{
    cache_case_set_up(state);
    cache_case *it = *state;
    const tkj_entry entry = small_entry();
    tkj_free(&it->test.allocator, it->bytes.bytes);
    it->bytes = encode(it, &entry);
    tkj_digest(entry.preimage, strlen(entry.preimage), it->key.digest);
    return 0;
}

static const char *entry_path(const cache_case *it)
{
    char name[TKJ_ENTRY_FILE_SIZE];
    tkj_entry_file(&it->key, CACHE_CASE_MAJOR, name);
    return cache_case_path(it, name);
}

static tkj_cache_outcome get(cache_case *it)
{
    tkj_cache_query query = cache_case_query(it);
    query.kind = TKJ_PAYLOAD_CUBIN;
    return cache_case_ask(it, &query);
}

/* ---- an entry's file ---- */

/* Asserts a corrupt entry that is counted and told, and that a put repairs it. */
static void assert_repaired(cache_case *it)
{
    const uint64_t corrupt = tkj_cache_counts(it->cache)->corrupt;
    atomic_store(&it->warnings, 0);
    assert_int_equal(get(it), TKJ_CACHE_CORRUPT);
    assert_int_equal(tkj_cache_counts(it->cache)->corrupt, corrupt + 1);
    assert_int_equal(atomic_load(&it->warnings), 1);
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(get(it), TKJ_CACHE_HIT);
    assert_int_equal(atomic_load(&it->warnings), 1);
}

static void sound_entry_is_a_hit(void **state)
{
    cache_case *it = *state;
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(get(it), TKJ_CACHE_HIT);
    tkj_test_file_write(entry_path(it), it->bytes.bytes, it->bytes.size);
    assert_int_equal(get(it), TKJ_CACHE_HIT);
    assert_int_equal(tkj_cache_counts(it->cache)->corrupt, 0);
}

static void every_flipped_byte_is_a_miss_that_a_put_repairs(void **state)
{
    cache_case *it = *state;
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    for (size_t i = 0; i < it->bytes.size; i++) {
        const uint8_t flip = (uint8_t)(1u << i % 8);
        it->bytes.bytes[i] ^= flip;
        tkj_test_file_write(entry_path(it), it->bytes.bytes, it->bytes.size);
        it->bytes.bytes[i] ^= flip;
        assert_repaired(it);
    }
}

static void every_truncation_is_a_miss_that_a_put_repairs(void **state)
{
    cache_case *it = *state;
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    for (size_t size = 0; size < it->bytes.size; size++) {
        assert_int_equal(truncate(entry_path(it), (off_t)size), 0);
        assert_repaired(it);
    }
}

/* truncate appends zeros, which are what a crash leaves at a file's end. */
static void appended_bytes_are_a_miss_that_a_put_repairs(void **state)
{
    static const size_t added[] = {1, 2, 15, 16, 63, 64, 4096, 1 << 20};
    cache_case *it = *state;
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    for (size_t i = 0; i < sizeof added / sizeof added[0]; i++) {
        assert_int_equal(truncate(entry_path(it), (off_t)(it->bytes.size + added[i])), 0);
        assert_repaired(it);
    }
}

static void zeros_of_the_right_size_are_a_miss_that_a_put_repairs(void **state)
{
    cache_case *it = *state;
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(truncate(entry_path(it), 0), 0);
    assert_int_equal(truncate(entry_path(it), (off_t)it->bytes.size), 0);
    assert_repaired(it);
}

/* ---- a sound entry in another one's place ---- */

static void put_another(cache_case *it, const tkj_entry *entry)
{
    tkj_blob bytes = encode(it, entry);
    tkj_test_file_write(entry_path(it), bytes.bytes, bytes.size);
    tkj_free(&it->test.allocator, bytes.bytes);
}

static void assert_another_is_repaired(cache_case *it, const tkj_entry *entry, const char *flaw)
{
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    put_another(it, entry);
    it->warning[0] = '\0';
    assert_repaired(it);
    if (strstr(it->warning, flaw) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", flaw, it->warning);
}

static void entry_of_another_key_is_a_miss_that_a_put_repairs(void **state)
{
    tkj_entry entry = small_entry();
    entry.preimage = OTHER_PREIMAGE;
    assert_another_is_repaired(*state, &entry, "it is of another kernel");
    entry.preimage = "";
    assert_another_is_repaired(*state, &entry, "it is of another kernel");
}

static void entry_for_another_target_is_a_miss_that_a_put_repairs(void **state)
{
    tkj_entry entry = small_entry();
    entry.target = CACHE_CASE_TARGET "0";
    assert_another_is_repaired(*state, &entry, "it is for another target");
    entry.target = "sm_9";
    assert_another_is_repaired(*state, &entry, "it is for another target");
}

static void entry_of_another_payload_kind_is_a_miss_that_a_put_repairs(void **state)
{
    tkj_entry entry = small_entry();
    entry.kind = TKJ_PAYLOAD_PTX;
    assert_another_is_repaired(*state, &entry, "it has another kind of payload");
}

static void entry_of_another_toolchain_is_a_miss_for_who_asks_for_one_only(void **state)
{
    cache_case *it = *state;
    tkj_cache_query query = cache_case_query(it);
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    query.toolchain = "nvrtc 13.0";
    assert_int_equal(cache_case_ask(it, &query), TKJ_CACHE_HIT);
    query.toolchain = "nvrtc 13.1";
    assert_int_equal(cache_case_ask(it, &query), TKJ_CACHE_ABSENT);
    assert_int_equal(get(it), TKJ_CACHE_HIT);
    assert_int_equal(tkj_cache_counts(it->cache)->corrupt, 0);
}

/* ---- a pack ---- */

/* Writes a pack of the case's entry and another one; the case's cache reads it first, then the
   user's directory, which has the entry too. @return where the entry is in the file */
static tkj_pack_record start_with_pack(cache_case *it, tkj_blob *pack)
{
    tkj_entry entry = small_entry();
    entry.preimage = OTHER_PREIMAGE;
    tkj_pack_item items[2] = {{.major = CACHE_CASE_MAJOR, .bytes = it->bytes},
                              {.major = CACHE_CASE_MAJOR, .bytes = encode(it, &entry)}};
    memcpy(items[0].key, it->key.digest, sizeof items[0].key);
    tkj_digest(OTHER_PREIMAGE, strlen(OTHER_PREIMAGE), items[1].key);
    uint8_t *other = items[1].bytes.bytes;
    assert_int_equal(tkj_pack_encode(&it->test.allocator, items, 2, pack), TOPK_JIT_OK);
    tkj_free(&it->test.allocator, other);
    tkj_pack_index index;
    tkj_pack_record record;
    assert_null(tkj_pack_index_decode(pack->bytes, pack->size, pack->size, &index));
    assert_true(tkj_pack_find(&index, it->key.digest, CACHE_CASE_MAJOR, &record));
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    return record;
}

static void write_pack(const cache_case *it, const tkj_blob *pack, size_t size)
{
    tkj_test_file_write(tkj_test_path(it->directory, PACK), pack->bytes, size);
}

/* Opens a cache that reads the pack as it is now. */
static void open_with_pack(cache_case *it)
{
    tkj_cache_options options = cache_case_options(it);
    options.ro_dirs = tkj_test_path(it->directory, PACK);
    cache_case_open(it, &options);
    atomic_store(&it->warnings, 0);
}

/* Asserts a hit in one layer and none in the other, after so many warnings. */
static void assert_served_by(cache_case *it, tkj_layer_kind kind, int warnings)
{
    const tkj_cache_counters *counts = tkj_cache_counts(it->cache);
    const uint64_t pack = counts->hits[TKJ_LAYER_PACK], user = counts->hits[TKJ_LAYER_USER];
    atomic_store(&it->warnings, 0);
    assert_int_equal(get(it), TKJ_CACHE_HIT);
    assert_int_equal(counts->hits[TKJ_LAYER_PACK], pack + (kind == TKJ_LAYER_PACK));
    assert_int_equal(counts->hits[TKJ_LAYER_USER], user + (kind == TKJ_LAYER_USER));
    assert_int_equal(atomic_load(&it->warnings), warnings);
}

static void every_flipped_byte_of_an_entry_in_a_pack_is_a_hit_in_the_next_layer(void **state)
{
    cache_case *it = *state;
    tkj_blob pack;
    const tkj_pack_record record = start_with_pack(it, &pack);
    write_pack(it, &pack, pack.size);
    open_with_pack(it);
    assert_served_by(it, TKJ_LAYER_PACK, 0);
    for (size_t i = 0; i < record.size; i++) {
        uint8_t *byte = pack.bytes + record.offset + i;
        *byte ^= (uint8_t)(1u << i % 8);
        write_pack(it, &pack, pack.size);
        *byte ^= (uint8_t)(1u << i % 8);
        assert_served_by(it, TKJ_LAYER_USER, 1);
    }
    assert_int_equal(tkj_cache_counts(it->cache)->corrupt, record.size);
    write_pack(it, &pack, pack.size);
    assert_served_by(it, TKJ_LAYER_PACK, 0);
    tkj_free(&it->test.allocator, pack.bytes);
}

static void every_flipped_byte_before_the_entries_of_a_pack_makes_it_unused(void **state)
{
    cache_case *it = *state;
    tkj_blob pack;
    start_with_pack(it, &pack);
    for (size_t i = 0; i < TKJ_PACK_HEADER_SIZE + 2 * (size_t)32; i++) {
        pack.bytes[i] ^= (uint8_t)(1u << i % 8);
        write_pack(it, &pack, pack.size);
        pack.bytes[i] ^= (uint8_t)(1u << i % 8);
        open_with_pack(it);
        assert_served_by(it, TKJ_LAYER_USER, 1);
        assert_served_by(it, TKJ_LAYER_USER, 0); /* told once */
    }
    tkj_free(&it->test.allocator, pack.bytes);
}

static void every_truncated_pack_is_unused(void **state)
{
    cache_case *it = *state;
    tkj_blob pack;
    start_with_pack(it, &pack);
    for (size_t size = 0; size < pack.size; size++) {
        write_pack(it, &pack, size);
        open_with_pack(it);
        assert_served_by(it, TKJ_LAYER_USER, 1);
    }
    tkj_free(&it->test.allocator, pack.bytes);
}

static void pack_that_is_cut_while_it_is_used_is_used_no_more(void **state)
{
    cache_case *it = *state;
    tkj_blob pack;
    start_with_pack(it, &pack);
    write_pack(it, &pack, pack.size);
    open_with_pack(it);
    assert_served_by(it, TKJ_LAYER_PACK, 0); /* its index is read now */
    for (size_t size = pack.size; size-- > 0;) {
        assert_int_equal(truncate(tkj_test_path(it->directory, PACK), (off_t)size), 0);
        assert_served_by(it, TKJ_LAYER_USER, size == pack.size - 1); /* which is said once */
    }
    assert_int_equal(unlink(tkj_test_path(it->directory, PACK)), 0);
    assert_served_by(it, TKJ_LAYER_USER, 0);
    tkj_free(&it->test.allocator, pack.bytes);
}

#define IN_CACHE(test) cmocka_unit_test_setup_teardown(test, set_up, cache_case_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_CACHE(sound_entry_is_a_hit),
        IN_CACHE(every_flipped_byte_is_a_miss_that_a_put_repairs),
        IN_CACHE(every_truncation_is_a_miss_that_a_put_repairs),
        IN_CACHE(appended_bytes_are_a_miss_that_a_put_repairs),
        IN_CACHE(zeros_of_the_right_size_are_a_miss_that_a_put_repairs),
        IN_CACHE(entry_of_another_key_is_a_miss_that_a_put_repairs),
        IN_CACHE(entry_for_another_target_is_a_miss_that_a_put_repairs),
        IN_CACHE(entry_of_another_payload_kind_is_a_miss_that_a_put_repairs),
        IN_CACHE(entry_of_another_toolchain_is_a_miss_for_who_asks_for_one_only),
        IN_CACHE(every_flipped_byte_of_an_entry_in_a_pack_is_a_hit_in_the_next_layer),
        IN_CACHE(every_flipped_byte_before_the_entries_of_a_pack_makes_it_unused),
        IN_CACHE(every_truncated_pack_is_unused),
        IN_CACHE(pack_that_is_cut_while_it_is_used_is_used_no_more),
    };
    return cmocka_run_group_tests_name("cache_damage", tests, NULL, NULL);
}
