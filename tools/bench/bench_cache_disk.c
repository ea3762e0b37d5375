/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench_cache.h"
#include "bench_complain.h"
#include "bench_rows.h"
#include "cache.h"
#include "kernel_map.h"
#include "memory.h"
#include "pack.h"
#include "spec.h"

#define PAYLOAD_SIZE 50000 /* of a usual kernel */
#define ROUNDS 501
#define STORES 51
#define MANY 10000
#define SPECS 24 /* kernels of a model; here each is a spec, which makes the map larger */
#define FINDS 1000

static const tkj_logger silent;

/** An entry, its key and its query: one of as many as there are numbers. */
typedef struct sample {
    char preimage[64];
    tkj_cache_query query;
    tkj_blob bytes;
} sample;

static void sample_create(sample *out, unsigned number, size_t payload_size)
{
    uint8_t *payload = bench_allocate(payload_size);
    for (size_t i = 0; i < payload_size; i++)
        payload[i] = (uint8_t)(i * i + number);
    snprintf(out->preimage, sizeof out->preimage, "bench %u", number);
    const tkj_entry entry = {
        .kind = TKJ_PAYLOAD_CUBIN,
        .target = "sm_90",
        .toolchain = "none",
        .library = TOPK_JIT_VERSION_STRING,
        .preimage = out->preimage,
        .entry_name = "bench",
        .payload = payload,
        .payload_size = payload_size,
    };
    bench_require(tkj_entry_encode(&tkj_default_allocator, &entry, &out->bytes) == TOPK_JIT_OK,
                  "an entry cannot be made");
    out->query = (tkj_cache_query){.major = 13, .preimage = out->preimage, .target = "sm_90"};
    tkj_digest(out->preimage, strlen(out->preimage), out->query.key.digest);
    free(payload);
}

static void sample_release(sample *s)
{
    tkj_free(&tkj_default_allocator, s->bytes.bytes);
}

static tkj_cache *open_cache(const char *root, const char *ro_dirs, uint64_t max_bytes)
{
    const tkj_cache_options options = {.root = root,
                                       .ro_dirs = ro_dirs,
                                       .mode = TOPK_JIT_MODE_AUTO,
                                       .max_bytes = max_bytes,
                                       .lock_timeout_ns = 1};
    tkj_cache *cache;
    bench_require(tkj_cache_create(&tkj_default_allocator, &silent, &options, &cache) ==
                      TOPK_JIT_OK,
                  "no cache can be created");
    return cache;
}

static void put(tkj_cache *cache, const sample *s)
{
    bench_require(tkj_cache_put(cache, &s->query.key, s->query.major, &s->bytes) == TOPK_JIT_OK,
                  "an entry cannot be stored");
}

static void get(tkj_cache *cache, const sample *s)
{
    tkj_blob bytes;
    tkj_entry entry;
    size_t layer = 0;
    bench_require(tkj_cache_get(cache, &s->query, &layer, &bytes, &entry) == TKJ_CACHE_HIT,
                  "a stored entry is not found");
    tkj_free(&tkj_default_allocator, bytes.bytes);
}

static void time_hits(bench_costs *costs, const char *name, const char *text, tkj_cache *cache,
                      const sample *s)
{
    double ns[ROUNDS];
    get(cache, s);
    for (size_t i = 0; i < ROUNDS; i++) {
        uint64_t start = tkj_os_now_ns();
        get(cache, s);
        ns[i] = (double)(tkj_os_now_ns() - start);
    }
    bench_costs_add(costs, name, text, "us", ns, ROUNDS, 1e-3);
}

/** The steps of a hit, one after the other, as the cache takes them. */
static void time_parts(bench_costs *costs, const char *root, const sample *s)
{
    enum { OPEN_ROOT, OPEN_FILE, READ, VERIFY, CLOSE, PARTS };
    static const char *const names[PARTS][2] = {
        {"hit.open_root", "  of it: opening the directory, and looking who may write there"},
        {"hit.open_file", "  opening the entry, and looking at its owner and size"},
        {"hit.read", "  reading it to memory"},
        {"hit.verify", "  checksum, and everything the grammar says"},
        {"hit.close", "  closing both, releasing the memory"},
    };
    static double ns[PARTS][ROUNDS];
    char name[TKJ_ENTRY_FILE_SIZE];
    tkj_entry_file(&s->query.key, s->query.major, name);
    for (size_t i = 0; i < ROUNDS; i++) {
        const char *why;
        tkj_file file;
        tkj_blob bytes;
        tkj_entry entry;
        uint64_t at[PARTS + 1];
        at[0] = tkj_os_now_ns();
        int root_fd = tkj_os_open_trusted_dir(root, TKJ_TRUST_OWNER, &why);
        at[1] = tkj_os_now_ns();
        int opened = tkj_os_open_file(root_fd, name, TKJ_TRUST_OWNER, TKJ_ENTRY_SIZE_MAX, &file);
        at[2] = tkj_os_now_ns();
        int result = tkj_os_read(&tkj_default_allocator, &file, 0, file.size, &bytes);
        at[3] = tkj_os_now_ns();
        bench_require(opened == 0 && result == 0 &&
                          tkj_entry_verify(&bytes, &s->query, &entry) == NULL,
                      "a stored entry cannot be read");
        at[4] = tkj_os_now_ns();
        close(file.fd);
        close(root_fd);
        tkj_free(&tkj_default_allocator, bytes.bytes);
        at[5] = tkj_os_now_ns();
        for (size_t p = 0; p < PARTS; p++)
            ns[p][i] = (double)(at[p + 1] - at[p]);
    }
    for (size_t p = 0; p < PARTS; p++)
        bench_costs_add(costs, names[p][0], names[p][1], "us", ns[p], ROUNDS, 1e-3);
}

/** Different entries: each store makes a new file. */
static void time_stores(bench_costs *costs, const char *name, const char *text, tkj_cache *cache,
                        unsigned first)
{
    double ns[STORES];
    for (unsigned i = 0; i < STORES; i++) {
        sample s;
        sample_create(&s, first + i, PAYLOAD_SIZE);
        uint64_t start = tkj_os_now_ns();
        put(cache, &s);
        ns[i] = (double)(tkj_os_now_ns() - start);
        sample_release(&s);
    }
    bench_costs_add(costs, name, text, "us", ns, STORES, 1e-3);
}

static void time_held(bench_costs *costs, const sample *s)
{
    tkj_cache *cache = open_cache(NULL, NULL, UINT64_MAX);
    tkj_cache_hold(cache, &s->query.key, &s->bytes);
    time_hits(costs, "hit.held", "hit in memory, of an entry that is on no disk (a copy)", cache,
              s);
    tkj_cache_destroy(cache);
}

static void time_pack(bench_costs *costs, const char *directory, const sample *s)
{
    char path[4096];
    tkj_blob pack;
    tkj_pack_item item = {.major = (uint32_t)s->query.major, .bytes = s->bytes};
    memcpy(item.key, s->query.key.digest, sizeof item.key);
    bench_require(tkj_pack_encode(&tkj_default_allocator, &item, 1, &pack) == TOPK_JIT_OK,
                  "a pack cannot be made");
    snprintf(path, sizeof path, "%s/bench.tkp", directory);
    FILE *file = fopen(path, "wb");
    bench_require(file != NULL && fwrite(pack.bytes, 1, pack.size, file) == pack.size &&
                      fclose(file) == 0,
                  "a pack cannot be written");
    bench_require(chmod(path, 0600) == 0, "a pack cannot be made our own");
    tkj_free(&tkj_default_allocator, pack.bytes);
    tkj_cache *cache = open_cache(NULL, path, UINT64_MAX);
    time_hits(costs, "hit.pack", "hit in a pack", cache, s);
    tkj_cache_destroy(cache);
}

/** The map of loaded kernels: what every prepared call looks into. */
static void time_map(bench_costs *costs)
{
    static tkj_kernel_map map;
    topk_jit_spec specs[SPECS];
    static double ns[ROUNDS];
    bool found = true;
    for (int i = 0; i < SPECS; i++) {
        tkj_prepared *prepared = bench_allocate(sizeof *prepared);
        topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
        spec.topk = 1 + i;
        specs[i] = tkj_spec_canonical(&spec);
        memset(prepared, 0, sizeof *prepared);
        prepared->spec = specs[i];
        bench_require(tkj_kernel_map_insert(&tkj_default_allocator, &map, prepared) == TOPK_JIT_OK,
                      "no memory");
    }
    for (size_t round = 0; round < ROUNDS; round++) {
        uint64_t start = tkj_os_now_ns();
        for (size_t i = 0; i < FINDS; i++)
            found = found && tkj_kernel_map_find(&map, &specs[i % SPECS], 0) != NULL;
        ns[round] = (double)(tkj_os_now_ns() - start) / FINDS;
    }
    bench_require(found, "a spec that was entered is not found");
    bench_costs_add(costs, "look_up", "look-up of a prepared spec, among 24", "ns", ns, ROUNDS, 1);
    tkj_kernel_map_release(&tkj_default_allocator, &map);
}

/** A directory that holds many small entries. @return their bytes */
static uint64_t fill(const char *root, unsigned count)
{
    uint64_t bytes = 0;
    tkj_cache *cache = open_cache(root, NULL, UINT64_MAX);
    for (unsigned i = 0; i < count; i++) {
        sample s;
        sample_create(&s, 1000000 + i, 1000);
        put(cache, &s);
        bytes += s.bytes.size;
        sample_release(&s);
    }
    tkj_cache_destroy(cache);
    return bytes;
}

static void time_many(bench_costs *costs, const char *root)
{
    sample s;
    double first, evicting;
    uint64_t bytes = fill(root, MANY);
    sample_create(&s, 1, PAYLOAD_SIZE);

    tkj_cache *cache = open_cache(root, NULL, UINT64_C(1) << 40);
    uint64_t start = tkj_os_now_ns();
    put(cache, &s);
    first = (double)(tkj_os_now_ns() - start);
    time_hits(costs, "many.hit", "hit among 10000 entries", cache, &s);
    time_stores(costs, "many.store", "store among 10000 entries", cache, 2000000);
    tkj_cache_destroy(cache);
    bench_costs_add_number(costs, "many.first_store",
                           "a process's first store there, which counts them all", "us",
                           first * 1e-3);

    cache = open_cache(root, NULL, bytes);
    start = tkj_os_now_ns();
    put(cache, &s);
    evicting = (double)(tkj_os_now_ns() - start);
    bench_costs_add_number(costs, "many.evicting_store", "the same, which removes what is too much",
                           "us", evicting * 1e-3);
    bench_costs_add_number(costs, "many.evicted", "  entries removed by it", "count",
                           (double)tkj_cache_counts(cache)->evictions);
    tkj_cache_destroy(cache);
    sample_release(&s);
}

void bench_cache_disk(const char *directory, bench_costs *costs)
{
    char root[4096], many[4096];
    sample s;
    snprintf(root, sizeof root, "%s/few", directory);
    snprintf(many, sizeof many, "%s/many", directory);
    sample_create(&s, 0, PAYLOAD_SIZE);
    tkj_cache *cache = open_cache(root, NULL, UINT64_C(1) << 30);
    put(cache, &s);
    fill(root, 9);
    time_hits(costs, "hit", "hit in the user's directory, 50 kB, page cache warm, 10 entries",
              cache, &s);
    time_parts(costs, root, &s);
    time_pack(costs, directory, &s);
    time_held(costs, &s);
    time_map(costs);
    time_stores(costs, "store", "store of 50 kB, with its fsync", cache, 3000000);
    tkj_cache_destroy(cache);
    time_many(costs, many);
    sample_release(&s);
}
