/* SPDX-License-Identifier: Apache-2.0 */
/* File systems that are full or read-only, mounted in a namespace of the test's own: the kernels
   run, and one warning says what is wrong. (NixOS/nixpkgs#453992, triton#11778, flashinfer#2834) */
#include "plan_case.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault_case.h"

#define CAPABILITY_TO_MOUNT 21 /* CAP_SYS_ADMIN */

static const char *why_no_mounts; /* NULL = mounts can be made, and are seen by nobody else */

/* ---- a namespace ---- */

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return written;
}

static bool has_capability_to_mount(void)
{
    char line[256];
    unsigned long long effective = 0;
    FILE *status = fopen("/proc/self/status", "re");
    assert_non_null(status);
    while (fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, "CapEff:", 7) == 0)
            effective = strtoull(line + 7, NULL, 16);
    assert_int_equal(fclose(status), 0);
    return (effective >> CAPABILITY_TO_MOUNT & 1) != 0;
}

/* Root of a namespace in which this user is root. */
static const char *become_root_of_a_user_namespace(void)
{
    char map[64];
    const unsigned long user = geteuid(), group = getegid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return "this user can have no namespaces";
    snprintf(map, sizeof map, "0 %lu 1", user);
    if (!write_text("/proc/self/uid_map", map) || !write_text("/proc/self/setgroups", "deny"))
        return "users cannot be mapped";
    snprintf(map, sizeof map, "0 %lu 1", group);
    return write_text("/proc/self/gid_map", map) ? NULL : "groups cannot be mapped";
}

static const char *enter_namespace(void)
{
    const char *why = NULL;
    if (!has_capability_to_mount())
        why = become_root_of_a_user_namespace();
    else if (unshare(CLONE_NEWNS) != 0)
        why = "root can have no namespace";
    if (why == NULL && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        why = "mounts cannot be made private";
    return why;
}

static int set_up(void **state)
{
    fault_reset();
    if (plan_case_set_up(state) != 0)
        return -1;
    plan_case *it = *state;
    return mkdir(it->root, 0700);
}

/* What is mounted on the root goes first. */
static int tear_down(void **state)
{
    plan_case *it = *state;
    while (umount2(it->root, MNT_DETACH) == 0) {
    }
    return plan_case_tear_down(state);
}

static void skip_without_mounts(void)
{
    if (why_no_mounts == NULL)
        return;
    print_message("nothing can be mounted: %s\n", why_no_mounts);
    skip();
}

static void mount_tmpfs(const plan_case *it, const char *options)
{
    assert_int_equal(mount("none", it->root, "tmpfs", MS_NOSUID | MS_NODEV, options), 0);
}

static void make_read_only(const char *path)
{
    assert_int_equal(mount(path, path, NULL, MS_BIND, NULL), 0);
    assert_int_equal(mount(NULL, path, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL), 0);
}

/* ---- kernels that run ---- */

static size_t assert_runs(plan_case *it, int64_t topk)
{
    plan_call call;
    const topk_jit_spec spec = plan_case_spec(topk);
    const int launches = cuda->launches();
    assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
    plan_call_init(&call, SM90, 2, 2, topk);
    assert_int_equal(topk_jit_select(it->context, &call.args, streams[SM90]), TOPK_JIT_OK);
    assert_true(cuda->launches() > launches);
    return plan_case_kernels(&spec, SM90);
}

static size_t assert_many_run(plan_case *it)
{
    size_t kernels = 0;
    for (int64_t topk = 1; topk <= 40; topk++)
        kernels += assert_runs(it, topk);
    return kernels;
}

/** Some kernels were stored, the others were not; one warning. */
static void assert_some_are_stored(plan_case *it, size_t kernels)
{
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.compiles, kernels);
    assert_int_equal(s.stores + s.failed_stores, kernels);
    assert_int_equal(s.stores, plan_case_entries(it, 13));
    assert_true(s.stores > 0 && s.failed_stores > 0);
    assert_int_equal(tkj_test_file_count(tkj_test_path(it->root, "tmp")), 0);
    assert_int_equal(it->logged[TOPK_JIT_LOG_WARNING], 1);
    plan_case_assert_logged(it, TOPK_JIT_LOG_WARNING, strerror(ENOSPC));
    plan_case_assert_logged(it, TOPK_JIT_LOG_WARNING, it->root);
}

/** What was stored before the disk was full is whole, and what was not is compiled again. */
static void assert_stored_ones_hit(plan_case *it)
{
    const uint64_t stored = plan_case_statistics(it).stores;
    const topk_jit_options options = plan_case_options(it);
    plan_case_open(it, &options);
    const size_t kernels = assert_many_run(it);
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_in_range(s.user_hits, 1, stored);
    assert_int_equal(s.user_hits + s.compiles, kernels);
    assert_int_equal(s.corrupt_entries, 0);
}

static void disk_that_fills_up_costs_one_warning(void **state)
{
    plan_case *it = *state;
    skip_without_mounts();
    mount_tmpfs(it, "size=64k,mode=0700");
    assert_some_are_stored(it, assert_many_run(it));
    assert_stored_ones_hit(it);
}

static void disk_without_inodes_costs_one_warning(void **state)
{
    plan_case *it = *state;
    skip_without_mounts();
    mount_tmpfs(it, "nr_inodes=16,mode=0700");
    assert_some_are_stored(it, assert_many_run(it));
    assert_stored_ones_hit(it);
}

static void assert_nothing_was_stored(plan_case *it, size_t compiled, int error)
{
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.compiles, compiled);
    assert_int_equal(s.failed_stores, compiled);
    assert_int_equal(s.stores, 0);
    assert_int_equal(s.corrupt_entries, 0);
    assert_int_equal(it->logged[TOPK_JIT_LOG_WARNING], 1);
    plan_case_assert_logged(it, TOPK_JIT_LOG_WARNING, strerror(error));
}

static void disk_that_is_full_from_the_start_costs_one_warning(void **state)
{
    plan_case *it = *state;
    skip_without_mounts();
    mount_tmpfs(it, "nr_inodes=1,mode=0700"); /* the root's own */
    assert_nothing_was_stored(it, assert_many_run(it), ENOSPC);
}

static void disk_that_has_room_again_is_used_after_a_minute(void **state)
{
    plan_case *it = *state;
    skip_without_mounts();
    mount_tmpfs(it, "nr_inodes=1,mode=0700");
    fault_stop_clock();
    const size_t first = assert_runs(it, 1);
    assert_int_equal(mount(NULL, it->root, NULL, MS_REMOUNT, "nr_inodes=1000"), 0);
    const size_t second = assert_runs(it, 2);
    fault.now_ns += UINT64_C(60000000000);
    const size_t third = assert_runs(it, 3);
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.failed_stores, first + second);
    assert_int_equal(s.stores, third);
    assert_int_equal(it->logged[TOPK_JIT_LOG_WARNING], 1);
}

static void read_only_cache_is_read_and_costs_one_warning(void **state)
{
    plan_case *it = *state;
    skip_without_mounts();
    const size_t stored = assert_runs(it, 2048);
    const topk_jit_options options = plan_case_options(it);
    make_read_only(it->root);
    plan_case_open(it, &options);
    assert_int_equal(assert_runs(it, 2048), stored);
    assert_int_equal(plan_case_statistics(it).user_hits, stored);
    assert_int_equal(it->logged[TOPK_JIT_LOG_WARNING], 0);
    assert_nothing_was_stored(it, assert_runs(it, 1024) + assert_runs(it, 512), EROFS);
}

static void cache_that_cannot_be_created_costs_one_warning(void **state)
{
    plan_case *it = *state;
    skip_without_mounts();
    topk_jit_options options = plan_case_options(it);
    options.cache_dir = tkj_test_path(it->root, "below/it");
    make_read_only(it->root);
    plan_case_open(it, &options);
    assert_nothing_was_stored(it, assert_runs(it, 1024) + assert_runs(it, 512), EROFS);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const bool must_mount = has_capability_to_mount();
    why_no_mounts = enter_namespace();
    if (must_mount && why_no_mounts != NULL) {
        print_error("%s\n", why_no_mounts);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        TEST(disk_that_fills_up_costs_one_warning),
        TEST(disk_without_inodes_costs_one_warning),
        TEST(disk_that_is_full_from_the_start_costs_one_warning),
        TEST(disk_that_has_room_again_is_used_after_a_minute),
        TEST(read_only_cache_is_read_and_costs_one_warning),
        TEST(cache_that_cannot_be_created_costs_one_warning),
    };
    return cmocka_run_group_tests_name("file_systems", tests, NULL, NULL);
}
