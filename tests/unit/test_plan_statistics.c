/* SPDX-License-Identifier: Apache-2.0 */
/* Every field of topk_jit_statistics, in the life of one context. */
#include "plan_layers.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk_watch.h"

#define LARGE (1 << 20) /* more than all entries of the test */
#define TIMEOUT_MS 20
#define DAY 86400L

typedef struct specs {
    topk_jit_spec in_pack, in_directory, in_root, corrupt, locked, unstored;
} specs;

/* Each of one kernel. */
static specs all_specs(void)
{
    return (specs){plan_case_spec(9001), plan_case_spec(9002), plan_case_spec(9003),
                   plan_case_spec(9004), plan_case_spec(9005), plan_case_spec(9006)};
}

static const char *below(const plan_case *it, const char *name)
{
    return tkj_test_path(it->directory, name);
}

static void make_empty(const char *path, void *user)
{
    (void)user;
    tkj_test_file_write(path, "", 0);
}

static void add_size(const char *path, void *user)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    *(uint64_t *)user += (uint64_t)status.st_size;
}

/* A root with a sound entry, a corrupt one, and a large one that nobody has used for days. */
static void fill_root(plan_case *it, const specs *s)
{
    const char *old = tkj_test_path(it->root, "v1/00/000000000000000000000000000000.cu13.tkc");
    plan_layers_warm(it, it->root, &s->corrupt);
    plan_case_each_file(it->root, ".tkc", make_empty, NULL);
    plan_layers_warm(it, it->root, &s->in_root);
    (void)mkdir(tkj_test_path(it->root, "v1/00"), 0700);
    tkj_test_file_write(old, "", 0);
    assert_int_equal(truncate(old, LARGE), 0);
    disk_set_age(old, 7 * DAY);
}

/* Fills all layers and opens a context of them. @return bytes of the sound entries */
static uint64_t open_layers(plan_case *it, const specs *s)
{
    uint64_t bytes = 0;
    char ro_dirs[512];
    topk_jit_options options = plan_case_options(it);
    plan_layers_warm(it, below(it, "packed"), &s->in_pack);
    plan_layers_pack(below(it, "packed"), below(it, "a.tkp"));
    plan_layers_warm(it, below(it, "directory"), &s->in_directory);
    fill_root(it, s);
    plan_case_each_file(it->directory, ".tkc", add_size, &bytes);
    snprintf(ro_dirs, sizeof ro_dirs, "%s:%s", below(it, "a.tkp"), below(it, "directory"));
    options.ro_dirs = ro_dirs;
    options.lock_timeout_ms = TIMEOUT_MS;
    options.cache_max_bytes = LARGE;
    plan_case_open(it, &options);
    return bytes - LARGE;
}

static void prepare(plan_case *it, const topk_jit_spec *spec)
{
    assert_int_equal(plan_case_kernels(spec, SM90), 1);
    assert_int_equal(plan_case_prepare(it, spec, SM90), TOPK_JIT_OK);
}

/* While every key is locked. */
static void prepare_in_vain_for_another(plan_case *it, const topk_jit_spec *spec)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open(below(it, "topk-jit/locks"), O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &whole), 0);
    prepare(it, spec);
    assert_int_equal(close(fd), 0);
}

static void every_field_counts_what_it_says(void **state)
{
    plan_case *it = *state;
    const specs s = all_specs();
    const uint64_t bytes_read = open_layers(it, &s);
    nvrtc->set_delay_ms(1);
    prepare(it, &s.in_pack);
    prepare(it, &s.in_directory);
    prepare(it, &s.in_root);
    prepare(it, &s.in_root);
    prepare(it, &s.corrupt);
    prepare_in_vain_for_another(it, &s.locked);
    uint64_t bytes_of_root = plan_case_entry_bytes(it), bytes_there = 0;
    plan_case_each_file(below(it, "directory"), ".tkc", add_size, &bytes_there);
    assert_int_equal(chmod(it->root, 0777), 0); /* not to be trusted any more */
    prepare(it, &s.unstored);

    const topk_jit_statistics found = plan_case_statistics(it);
    const topk_jit_statistics expected = {
        .struct_size = sizeof expected,
        .memory_hits = 1,
        .pack_hits = 1,
        .read_only_hits = 1,
        .user_hits = 1,
        .misses = 3,
        .waits = 1,
        .lock_timeouts = 1,
        .compiles = 3,
        .stores = 2,
        .failed_stores = 1,
        .corrupt_entries = 1,
        .evictions = 1,
        .bytes_read = bytes_read,
        .bytes_written = found.bytes_written,
        .bytes_evicted = LARGE,
        .lookup_ns = found.lookup_ns,
        .wait_ns = found.wait_ns,
        .compile_ns = found.compile_ns,
        .store_ns = found.store_ns,
        .load_ns = found.load_ns,
    };
    assert_memory_equal(&found, &expected, sizeof expected);
    assert_true(found.bytes_written > 0 && found.bytes_written < bytes_of_root);
    assert_true(found.lookup_ns > 0 && found.store_ns > 0 && found.load_ns > 0);
    assert_true(found.wait_ns >= TIMEOUT_MS * UINT64_C(1000000));
    assert_true(found.compile_ns >= 3 * UINT64_C(1000000));
}

#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, plan_case_set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(every_field_counts_what_it_says),
    };
    return cmocka_run_group_tests_name("plan_statistics", tests, NULL, NULL);
}
