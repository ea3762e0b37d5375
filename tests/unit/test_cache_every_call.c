/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Every call into the system that the cache makes fails in turn, with every error a disk has, seen
 * from the context on top: the kernel runs, one warning at most, no descriptor, no temporary file
 * and no memory is left, and once the fault is gone everything hits.
 *
 * The list of the calls was found by tracing, `strace -f -e trace=file,desc,getrandom` on this very
 * program: whatever appeared for a preparation and was not yet wrapped was added. fdopendir is seen
 * there as fcntl and fstat, readdir as getdents64, fstat, stat, lstat and fstatat as newfstatat.
 * What is not in it: the fakes (a driver and an NVRTC have files of their own) and the templates,
 * which are read before the faults begin.
 */
#include "plan_case.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "digest.h"
#include "every_call.h"
#include "memory.h"
#include "pack.h"

static const int errors[] = {ENOSPC, EDQUOT, EROFS, EACCES, EIO, ESTALE, EINTR, EMFILE};
#define ERRORS (sizeof errors / sizeof errors[0])

/* More calls than any preparation makes. */
#define CALLS_MAX 2000

/* One kernel on the fake's device, so that each run is short. */
#define TOPK 10000

/* ---- where the entry is ---- */

typedef enum scenario {
    SCENARIO_NOWHERE,   /* compiled and stored, past a directory and a pack that lack it */
    SCENARIO_FULL,      /* the same into a directory that is full, after leavings of the dead */
    SCENARIO_SHARED,    /* the same into a directory that a group shares */
    SCENARIO_USER,      /* in the user's directory, last used hours ago */
    SCENARIO_READ_ONLY, /* in a read-only directory */
    SCENARIO_PACK,      /* in a pack of such a directory */
} scenario;

static char entry_name[64]; /* of the one kernel, below a root */
static uint8_t entry_bytes[65536];
static size_t entry_size;

static void remember_entry(const char *path, void *user)
{
    const plan_case *it = user;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    entry_size = fread(entry_bytes, 1, sizeof entry_bytes, file);
    assert_int_equal(fclose(file), 0);
    snprintf(entry_name, sizeof entry_name, "%s", path + strlen(it->root) + 1);
}

/* Compiles the kernel once, to know its entry. */
static void learn_entry(plan_case *it)
{
    const topk_jit_spec spec = plan_case_spec(TOPK);
    assert_int_equal(plan_case_kernels(&spec, SM90), 1);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    assert_int_equal(plan_case_each_file(it->root, ".tkc", remember_entry, it), 1);
}

static void make_dirs(const char *path)
{
    assert_int_equal(tkj_os_make_dirs(path, TKJ_TRUST_OWNER), 0);
}

/* Writes a file below a directory of the case; used hours ago. */
static void write_old(const plan_case *it, const char *directory, const char *name,
                      const void *bytes, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s/%s", it->directory, directory, name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    make_dirs(path);
    *slash = '/';
    tkj_test_file_write(path, bytes, size);
    const struct timespec then = {.tv_sec = time(NULL) - 7201};
    const struct timespec times[2] = {then, then};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* A pack of the kernel's entry, or of another one. */
static void write_pack(const plan_case *it, bool of_another)
{
    tkj_entry entry;
    tkj_blob pack, other = {NULL, 0};
    assert_null(tkj_entry_decode(entry_bytes, entry_size, &entry));
    tkj_pack_item item = {.major = 13, .bytes = {entry_bytes, entry_size}};
    if (of_another) {
        entry.preimage = "another";
        assert_int_equal(tkj_entry_encode(&tkj_default_allocator, &entry, &other), TOPK_JIT_OK);
        item.bytes = other;
    }
    tkj_digest(entry.preimage, strlen(entry.preimage), item.key);
    assert_int_equal(tkj_pack_encode(&tkj_default_allocator, &item, 1, &pack), TOPK_JIT_OK);
    write_old(it, "ro", "one.tkp", pack.bytes, pack.size);
    tkj_free(&tkj_default_allocator, other.bytes);
    tkj_free(&tkj_default_allocator, pack.bytes);
}

static const char *const cleared[] = {"cache", "ro", "topk-jit"};

/* The disk as a scenario has it. */
static void arrange(const plan_case *it, scenario where)
{
    for (size_t i = 0; i < sizeof cleared / sizeof cleared[0]; i++) {
        char *path = strdup(tkj_test_path(it->directory, cleared[i]));
        assert_non_null(path);
        if (access(path, F_OK) == 0)
            tkj_test_dir_remove(path);
        else
            free(path);
    }
    make_dirs(tkj_test_path(it->directory, "ro"));
    write_pack(it, where != SCENARIO_PACK);
    if (where == SCENARIO_USER)
        write_old(it, "cache", entry_name, entry_bytes, entry_size);
    if (where == SCENARIO_READ_ONLY)
        write_old(it, "ro", entry_name, entry_bytes, entry_size);
    if (where == SCENARIO_FULL) {
        write_old(it, "cache", "v1/7f/000000000000000000000000000001.cu13.tkc", "old", 3);
        write_old(it, "cache", "v1/7f/000000000000000000000000000002.cu13.tkc", "older", 5);
        write_old(it, "cache", "tmp/new-dead", "dead", 4);
    }
}

static void open_context(plan_case *it, scenario where, topk_jit_mode mode)
{
    const tkj_template_set *templates;
    const tkj_nvrtc *compiler;
    topk_jit_options options = plan_case_options(it);
    options.ro_dirs = tkj_test_path(it->directory, "ro");
    options.mode = mode;
    options.shared = where == SCENARIO_SHARED ? TOPK_JIT_SWITCH_ON : TOPK_JIT_SWITCH_OFF;
    options.cache_max_bytes = where == SCENARIO_FULL ? 1 : UINT64_MAX;
    plan_case_open(it, &options);
    assert_int_equal(tkj_context_templates(it->context, &templates), TOPK_JIT_OK);
    assert_int_equal(tkj_context_nvrtc(it->context, &compiler), TOPK_JIT_OK);
}

static topk_jit_status prepare(plan_case *it)
{
    const topk_jit_spec spec = plan_case_spec(TOPK);
    return plan_case_prepare(it, &spec, SM90);
}

/* ---- what must hold ---- */

static void assert_runs(plan_case *it)
{
    plan_call call;
    const int launches = cuda->launches();
    plan_call_init(&call, SM90, 3, 3, TOPK);
    assert_int_equal(topk_jit_select(it->context, &call.args, streams[SM90]), TOPK_JIT_OK);
    assert_int_equal(cuda->launches(), launches + 1);
}

static uint64_t hits(const topk_jit_statistics *s)
{
    return s->user_hits + s->read_only_hits + s->pack_hits;
}

static void assert_counted(plan_case *it)
{
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(hits(&s) + s.compiles, 1);
    assert_int_equal(s.stores + s.failed_stores, s.compiles);
    assert_int_equal(s.corrupt_entries, 0);
    assert_true(it->logged[TOPK_JIT_LOG_WARNING] <= 1);
    assert_int_equal(it->logged[TOPK_JIT_LOG_ERROR], 0);
    if (s.failed_stores > 0)
        assert_int_equal(it->logged[TOPK_JIT_LOG_WARNING], 1);
}

/* The swept one apart, of which a sweep that failed is the fault. */
static void assert_no_temporary_file(const plan_case *it)
{
    const size_t dead = access(tkj_test_path(it->root, "tmp/new-dead"), F_OK) == 0;
    assert_int_equal(tkj_test_file_count(tkj_test_path(it->root, "tmp")), dead);
}

/* The next context hits, or repairs what there is to repair so that the one after it hits. */
static void assert_hits_now(plan_case *it, scenario where)
{
    topk_jit_statistics s = {0};
    for (int attempt = 0; attempt < 2 && hits(&s) == 0; attempt++) {
        open_context(it, where, TOPK_JIT_MODE_AUTO);
        assert_int_equal(prepare(it), TOPK_JIT_OK);
        s = plan_case_statistics(it);
        assert_int_equal(hits(&s) + s.stores, 1);
        assert_int_equal(it->logged[TOPK_JIT_LOG_WARNING], 0);
    }
    assert_int_equal(hits(&s), 1);
    assert_int_equal(s.misses + s.compiles, 0);
}

/* @return false if the fault was not reached */
static bool survives(plan_case *it, scenario where, every_call_fault fault)
{
    arrange(it, where);
    open_context(it, where, TOPK_JIT_MODE_AUTO);
    const size_t files = tkj_test_open_files();
    every_call_begin(fault, it->directory);
    topk_jit_status status = prepare(it);
    const char *struck = every_call_end();
    if (status != TOPK_JIT_OK)
        print_error("call %d, %s: %s\n", fault.nth, struck, strerror(fault.error));
    assert_int_equal(status, TOPK_JIT_OK);
    assert_runs(it);
    if (tkj_test_open_files() != files || it->logged[TOPK_JIT_LOG_WARNING] > 1)
        print_error("call %d, %s: %s\n%s", fault.nth, struck, strerror(fault.error),
                    it->text[TOPK_JIT_LOG_WARNING]);
    assert_int_equal(tkj_test_open_files(), files);
    assert_counted(it);
    assert_no_temporary_file(it);
    assert_hits_now(it, where);
    return struck[0] != '\0';
}

/* Fails each call with each error; or, where they are hundreds of the same kind, with one of them
   in turn. @return how many calls there are */
static int fail_every_call(plan_case *it, scenario where, bool in_turn)
{
    learn_entry(it);
    for (int nth = 1; nth < CALLS_MAX; nth++)
        for (size_t i = 0; i < (in_turn ? 1 : ERRORS); i++) {
            const int error = errors[in_turn ? (size_t)nth % ERRORS : i];
            const every_call_fault fault = {.nth = nth, .error = error};
            if (!survives(it, where, fault))
                return nth - 1;
        }
    fail_msg("a preparation makes more than %d calls", CALLS_MAX);
    return 0;
}

/* ---- the tests ---- */

static void storing_survives_every_failed_call(void **state)
{
    assert_in_range(fail_every_call(*state, SCENARIO_NOWHERE, false), 40, 300);
}

static void eviction_survives_every_failed_call(void **state)
{
    assert_in_range(fail_every_call(*state, SCENARIO_FULL, true), 256 + 40, 600);
}

static void storing_for_a_group_survives_every_failed_call(void **state)
{
    assert_in_range(fail_every_call(*state, SCENARIO_SHARED, false), 40, 300);
}

static void hit_in_the_users_directory_survives_every_failed_call(void **state)
{
    assert_in_range(fail_every_call(*state, SCENARIO_USER, false), 15, 100);
}

static void hit_in_a_read_only_directory_survives_every_failed_call(void **state)
{
    assert_in_range(fail_every_call(*state, SCENARIO_READ_ONLY, false), 15, 100);
}

static void hit_in_a_pack_survives_every_failed_call(void **state)
{
    assert_in_range(fail_every_call(*state, SCENARIO_PACK, false), 10, 100);
}

/* A short read or write is no failure: nothing is compiled that is there, nothing is not stored. */
static void check_short_transfers(plan_case *it, scenario where)
{
    bool reached = true;
    learn_entry(it);
    for (int nth = 0; reached; nth++) { /* 0 = all of them */
        const every_call_fault fault = {.nth = nth, .shortened = true};
        reached = survives(it, where, fault) || nth == 0;
        arrange(it, where);
        open_context(it, where, TOPK_JIT_MODE_AUTO);
        every_call_begin(fault, it->directory);
        assert_int_equal(prepare(it), TOPK_JIT_OK);
        every_call_end();
        const topk_jit_statistics s = plan_case_statistics(it);
        assert_int_equal(hits(&s), where >= SCENARIO_USER);
        assert_int_equal(s.stores, where < SCENARIO_USER);
        assert_int_equal(it->logged[TOPK_JIT_LOG_WARNING], 0);
    }
}

static void short_writes_store_the_whole(void **state)
{
    check_short_transfers(*state, SCENARIO_NOWHERE);
}

static void short_reads_hit_in_the_users_directory(void **state)
{
    check_short_transfers(*state, SCENARIO_USER);
}

static void short_reads_hit_in_a_read_only_directory(void **state)
{
    check_short_transfers(*state, SCENARIO_READ_ONLY);
}

static void short_reads_hit_in_a_pack(void **state)
{
    check_short_transfers(*state, SCENARIO_PACK);
}

/* A pack, or a directory of packs, that the disk does not give is not asked again. */
static bool is_for_good(scenario where, int error)
{
    return where == SCENARIO_PACK && error != EINTR && error != EMFILE;
}

/* Where nothing is compiled a fault is a miss; the same context hits as soon as it is over. */
static bool passes(plan_case *it, scenario where, every_call_fault fault)
{
    arrange(it, where);
    open_context(it, where, TOPK_JIT_MODE_OFFLINE);
    const size_t files = tkj_test_open_files();
    every_call_begin(fault, it->directory);
    topk_jit_status status = prepare(it);
    const char *struck = every_call_end();
    assert_true(status == TOPK_JIT_OK || status == TOPK_JIT_OFFLINE_MISS);
    if (prepare(it) != TOPK_JIT_OK && !is_for_good(where, fault.error))
        fail_msg("for good: call %d, %s: %s", fault.nth, struck, strerror(fault.error));
    assert_int_equal(tkj_test_open_files(), files);
    open_context(it, where, TOPK_JIT_MODE_OFFLINE);
    assert_int_equal(prepare(it), TOPK_JIT_OK);
    return struck[0] != '\0';
}

static void check_offline(plan_case *it, scenario where)
{
    bool reached = true;
    learn_entry(it);
    for (int nth = 1; reached; nth++)
        for (size_t i = 0; i < ERRORS; i++)
            reached = passes(it, where, (every_call_fault){.nth = nth, .error = errors[i]});
}

static void offline_miss_in_the_users_directory_passes(void **state)
{
    check_offline(*state, SCENARIO_USER);
}

static void offline_miss_in_a_read_only_directory_passes(void **state)
{
    check_offline(*state, SCENARIO_READ_ONLY);
}

static void offline_miss_in_a_pack_passes(void **state)
{
    check_offline(*state, SCENARIO_PACK);
}

#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, plan_case_set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    if (access("/dev/shm", W_OK) == 0) /* of the thousands of directories none goes to a disk */
        assert_int_equal(setenv("TMPDIR", "/dev/shm", 0), 0);
    const struct CMUnitTest tests[] = {
        TEST(storing_survives_every_failed_call),
        TEST(eviction_survives_every_failed_call),
        TEST(storing_for_a_group_survives_every_failed_call),
        TEST(hit_in_the_users_directory_survives_every_failed_call),
        TEST(hit_in_a_read_only_directory_survives_every_failed_call),
        TEST(hit_in_a_pack_survives_every_failed_call),
        TEST(short_writes_store_the_whole),
        TEST(short_reads_hit_in_the_users_directory),
        TEST(short_reads_hit_in_a_read_only_directory),
        TEST(short_reads_hit_in_a_pack),
        TEST(offline_miss_in_the_users_directory_passes),
        TEST(offline_miss_in_a_read_only_directory_passes),
        TEST(offline_miss_in_a_pack_passes),
    };
    return cmocka_run_group_tests_name("cache_every_call", tests, NULL, NULL);
}
