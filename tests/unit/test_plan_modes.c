/* SPDX-License-Identifier: Apache-2.0 */
/* Modes and layers from above: what is compiled, what is stored, what the disk is asked for. */
#include "plan_layers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "disk_watch.h"

#define HOUR 3600L

static int set_up(void **state)
{
    disk_watch_start(NULL);
    return plan_case_set_up(state);
}

static const char *below(const plan_case *it, const char *name)
{
    return tkj_test_path(it->directory, name);
}

/* A spec of one kernel. */
static topk_jit_spec spec_of(int64_t topk)
{
    const topk_jit_spec spec = plan_case_spec(topk);
    assert_int_equal(plan_case_kernels(&spec, SM90), 1);
    return spec;
}

static void age_file(const char *path, void *user)
{
    disk_set_age(path, *(long *)user);
}

/* Fills the root with a spec, hours ago. */
static void warm_root(plan_case *it, const topk_jit_spec *spec)
{
    long age = 2 * HOUR;
    plan_layers_warm(it, it->root, spec);
    assert_int_equal(plan_case_each_file(it->root, ".tkc", age_file, &age), 1);
}

static void assert_disk_untouched(void)
{
    assert_int_equal(atomic_load(&watched.writes), 0);
    assert_int_equal(atomic_load(&watched.touches), 0);
    assert_int_equal(atomic_load(&watched.locks), 0);
}

/* Prepares for two GPUs that say they are the same: what was compiled for one serves the other. */
static void assert_compiles_once_for_two_gpus(plan_case *it)
{
    static const int known[] = {75};
    const topk_jit_spec spec = spec_of(9004);
    nvrtc->set_architectures(known, 1);
    cuda->claim_capability(80);
    assert_int_equal(plan_case_prepare(it, &spec, SM80), TOPK_JIT_OK);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.compiles, 1);
    assert_int_equal(s.misses, 1);
    assert_int_equal(s.memory_hits, 1);
    assert_int_equal(s.stores + s.failed_stores + s.bytes_written, 0);
    assert_int_equal(nvrtc->calls("nvrtcCompileProgram"), 1);
    assert_int_equal(cuda->live_libraries(), 2);
    assert_int_equal(it->logged[TOPK_JIT_LOG_ERROR], 0);
}

/* ---- auto ---- */

static void auto_reads_compiles_and_writes(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec there = spec_of(9004), missing = spec_of(9008);
    warm_root(it, &there);
    plan_layers_open(it, NULL, TOPK_JIT_MODE_AUTO);
    disk_watch_start(it->directory);
    assert_int_equal(plan_case_prepare(it, &there, SM90), TOPK_JIT_OK);
    assert_int_equal(atomic_load(&watched.writes), 0);
    assert_int_equal(atomic_load(&watched.touches), 1);
    assert_int_equal(plan_case_prepare(it, &missing, SM90), TOPK_JIT_OK);
    assert_true(atomic_load(&watched.writes) > 0 && atomic_load(&watched.locks) > 0);
    assert_int_equal(plan_case_entries(it, 13), 2);
}

static void assert_is_the_groups(const char *path, void *user)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0660);
    ++*(int *)user;
}

static void cache_of_a_group_is_made_where_the_environment_asks_for_it(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = spec_of(9004);
    struct stat status;
    int files = 0;
    assert_int_equal(setenv("TOPK_JIT_SHARED", "1", 1), 0);
    mode_t before = umask(077);
    plan_layers_warm(it, it->root, &spec);
    umask(before);
    assert_int_equal(stat(it->root, &status), 0);
    assert_int_equal(status.st_mode & 07777, 02770);
    plan_case_each_file(it->root, "", assert_is_the_groups, &files);
    assert_int_equal(files, 3); /* the entry, the tag, the locks: which are in the root here */
    assert_int_equal(unsetenv("TOPK_JIT_SHARED"), 0);
    plan_layers_open(it, NULL, TOPK_JIT_MODE_OFFLINE);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OFFLINE_MISS);
    plan_case_assert_logged(it, TOPK_JIT_LOG_WARNING, "is writable by its group or by everybody");
}

/* ---- readonly ---- */

static void readonly_reads_and_compiles_and_leaves_the_disk_alone(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec there = spec_of(9004), missing = spec_of(9008);
    warm_root(it, &there);
    char *before = disk_snapshot(it->directory);
    plan_layers_open(it, NULL, TOPK_JIT_MODE_READONLY);
    disk_watch_start(it->directory);
    assert_int_equal(plan_case_prepare(it, &there, SM90), TOPK_JIT_OK);
    assert_int_equal(plan_case_prepare(it, &missing, SM90), TOPK_JIT_OK);
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.user_hits, 1);
    assert_int_equal(s.compiles, 1);
    assert_int_equal(s.stores + s.failed_stores, 0);
    assert_int_equal(it->logged[TOPK_JIT_LOG_WARNING], 0);
    assert_disk_untouched();
    disk_assert_as_before(it->directory, before);
}

static void readonly_creates_no_directory(void **state)
{
    plan_case *it = *state;
    plan_layers_open(it, NULL, TOPK_JIT_MODE_READONLY);
    disk_watch_start(it->directory);
    assert_compiles_once_for_two_gpus(it);
    assert_disk_untouched();
    assert_int_equal(tkj_test_file_count(it->directory), 0);
}

/* ---- offline ---- */

static void offline_loads_what_is_there_and_opens_no_nvrtc(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec there = spec_of(9004), missing = spec_of(9008);
    plan_call call;
    warm_root(it, &there);
    nvrtc->reset();
    char *before = disk_snapshot(it->directory);
    plan_layers_open(it, NULL, TOPK_JIT_MODE_OFFLINE);
    disk_watch_start(it->directory);
    assert_int_equal(plan_case_prepare(it, &there, SM90), TOPK_JIT_OK);
    assert_int_equal(plan_case_prepare(it, &missing, SM90), TOPK_JIT_OFFLINE_MISS);
    plan_call_init(&call, SM90, 3, 3, 9008);
    assert_int_equal(topk_jit_select(it->context, &call.args, streams[SM90]),
                     TOPK_JIT_OFFLINE_MISS);
    plan_call_init(&call, SM90, 3, 3, 9004);
    assert_int_equal(topk_jit_select(it->context, &call.args, streams[SM90]), TOPK_JIT_OK);
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.user_hits, 1);
    assert_int_equal(s.misses, 2);
    assert_int_equal(s.compiles + s.stores + s.failed_stores, 0);
    assert_int_equal(nvrtc->calls("nvrtcVersion"), 0);
    assert_disk_untouched();
    disk_assert_as_before(it->directory, before);
}

static void offline_corrupt_entry_is_a_miss_and_stays(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = spec_of(9004);
    warm_root(it, &spec);
    plan_layers_spoil(it->root);
    char *before = disk_snapshot(it->directory);
    plan_layers_open(it, NULL, TOPK_JIT_MODE_OFFLINE);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OFFLINE_MISS);
    disk_assert_as_before(it->directory, before);
}

/* ---- off ---- */

static void off_opens_no_file_of_any_layer(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = spec_of(9004);
    char ro_dirs[512];
    warm_root(it, &spec);
    plan_layers_warm(it, below(it, "one"), &spec);
    plan_layers_pack(it->root, below(it, "a.tkp"));
    snprintf(ro_dirs, sizeof ro_dirs, "%s:%s", below(it, "a.tkp"), below(it, "one"));
    char *before = disk_snapshot(it->directory);
    plan_layers_open(it, ro_dirs, TOPK_JIT_MODE_OFF);
    nvrtc->reset();
    disk_watch_start(it->directory);
    assert_compiles_once_for_two_gpus(it);
    assert_int_equal(atomic_load(&watched.opens), 0);
    assert_disk_untouched();
    disk_assert_as_before(it->directory, before);
}

/* ---- entries that do not load ---- */

static void entry_that_does_not_load_gives_way_to_the_next_layer(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = spec_of(9004);
    plan_layers_warm(it, below(it, "one"), &spec);
    plan_layers_spoil(below(it, "one"));
    plan_layers_pack(below(it, "one"), below(it, "one/a.tkp"));
    warm_root(it, &spec);
    plan_layers_open(it, below(it, "one"), TOPK_JIT_MODE_OFFLINE);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.pack_hits, 1);
    assert_int_equal(s.read_only_hits, 1);
    assert_int_equal(s.user_hits, 1);
    assert_int_equal(s.misses + s.compiles + s.corrupt_entries, 0);
    assert_int_equal(it->logged[TOPK_JIT_LOG_WARNING], 2);
    assert_int_equal(cuda->live_libraries(), 1);
}

/* The pack stays in front of what is compiled: the next context meets it again, and no compiler. */
static void entry_that_loads_in_no_layer_is_compiled_and_stored(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = spec_of(9004);
    warm_root(it, &spec);
    plan_layers_spoil(it->root);
    plan_layers_pack(it->root, below(it, "a.tkp"));
    plan_layers_open(it, below(it, "a.tkp"), TOPK_JIT_MODE_AUTO);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.pack_hits, 1);
    assert_int_equal(s.user_hits, 1);
    assert_int_equal(s.misses, 1);
    assert_int_equal(s.stores, 1);
    plan_layers_open(it, below(it, "a.tkp"), TOPK_JIT_MODE_AUTO);
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    s = plan_case_statistics(it);
    assert_int_equal(s.pack_hits, 1);
    assert_int_equal(s.user_hits, 1);
    assert_int_equal(s.compiles, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(auto_reads_compiles_and_writes),
        TEST(cache_of_a_group_is_made_where_the_environment_asks_for_it),
        TEST(readonly_reads_and_compiles_and_leaves_the_disk_alone),
        TEST(readonly_creates_no_directory),
        TEST(offline_loads_what_is_there_and_opens_no_nvrtc),
        TEST(offline_corrupt_entry_is_a_miss_and_stays),
        TEST(off_opens_no_file_of_any_layer),
        TEST(entry_that_does_not_load_gives_way_to_the_next_layer),
        TEST(entry_that_loads_in_no_layer_is_compiled_and_stored),
    };
    return cmocka_run_group_tests_name("plan_modes", tests, NULL, NULL);
}
