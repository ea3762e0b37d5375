/* SPDX-License-Identifier: Apache-2.0 */
/* Machines that this one is not: a tree of files stands for /. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "capacity.h"
#include "control_group.h"
#include "testing.h"

static char *root;
static warm_control_limits limits; /* of the last machine: as doctor tells them */

/* Files are given as "path=content"; folders on the way are made. */
static void add(const char *file)
{
    char path[4096];
    const char *content = strchr(file, '=');
    snprintf(path, sizeof path, "%s/%.*s", root, (int)(content - file), file);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    tkj_test_file_write(path, content + 1, strlen(content + 1));
}

static size_t capacity_with(const char *const *files)
{
    root = tkj_test_dir_create();
    for (; *files != NULL; files++)
        add(*files);
    const size_t capacity = warm_capacity(root);
    limits = warm_control_group_limits(root);
    tkj_test_dir_remove(root);
    return capacity;
}

#define WITH(...) capacity_with((const char *const[]){__VA_ARGS__, NULL})

/** What this process may use. */
static size_t cores(void)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    return (size_t)CPU_COUNT(&set);
}

static size_t at_most_cores(size_t count)
{
    return count < cores() ? count : cores();
}

static const char plenty[] = "proc/meminfo=MemTotal: 9 kB\nMemAvailable:  99999999 kB\n";
static const char in_a_group[] = "proc/self/cgroup=1:cpu:/other\n0::/a b/c\n";

static void each_core_has_a_builder(void **state)
{
    (void)state;
    assert_int_equal(WITH(plenty), cores());
}

static void affinity_counts(void **state)
{
    (void)state;
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (size_t cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    const size_t capacity = WITH(plenty);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(capacity, 1);
}

static void nothing_known_is_no_limit(void **state)
{
    (void)state;
    assert_int_equal(WITH("proc/other="), cores());
    assert_int_equal(WITH("proc/meminfo=MemFree: 1 kB\n", "proc/self/cgroup=nonsense"), cores());
}

static void builder_has_memory(void **state)
{
    (void)state;
    assert_int_equal(WITH("proc/meminfo=MemAvailable: 102400 kB\n"), 1);
    assert_int_equal(WITH("proc/meminfo=MemAvailable: 204799 kB\n"), 1);
    assert_int_equal(WITH("proc/meminfo=MemAvailable: 204800 kB\n"), at_most_cores(2));
    assert_int_equal(WITH("proc/meminfo=MemAvailable: 0 kB\n"), 1);
}

static void group_limits_cores(void **state)
{
    (void)state;
    assert_int_equal(WITH(in_a_group, "sys/fs/cgroup/a b/c/cpu.max=150000 100000\n"), 1);
    assert_int_equal(WITH(in_a_group, "sys/fs/cgroup/a b/c/cpu.max=200000 100000\n"),
                     at_most_cores(2));
    assert_int_equal(WITH(in_a_group, "sys/fs/cgroup/a b/c/cpu.max=max 100000\n"), cores());
    assert_int_equal(WITH(in_a_group, "sys/fs/cgroup/a b/c/cpu.max=100000 0\n"), cores());
    assert_int_equal(WITH(in_a_group, "sys/fs/cgroup/other/cpu.max=100000 100000\n"), cores());
}

static void groups_above_limit_too(void **state)
{
    (void)state;
    assert_int_equal(WITH(in_a_group, "sys/fs/cgroup/a b/cpu.max=100000 100000\n"), 1);
    assert_int_equal(WITH(in_a_group, "sys/fs/cgroup/cpu.max=100000 100000\n"), 1);
    assert_int_equal(WITH("proc/self/cgroup=0::/\n", "sys/fs/cgroup/cpu.max=10000 100000\n"), 1);
}

static void group_limits_memory(void **state)
{
    (void)state;
    static const char most[] = "sys/fs/cgroup/a b/memory.max=314572800\n"; /* 300 MiB */
    static const char used[] = "sys/fs/cgroup/a b/memory.current=209715200\n";
    assert_int_equal(WITH(in_a_group, most, used), 1);
    assert_int_equal(WITH(in_a_group, most, used,
                          "sys/fs/cgroup/a b/memory.stat=active_file 9\ninactive_file 104857600\n"),
                     at_most_cores(2));
    assert_int_equal(limits.memory, 314572800);
    assert_int_equal(limits.left, 314572800 - 104857600);
    assert_int_equal(WITH(in_a_group, most, "sys/fs/cgroup/a b/memory.current=999999999\n"), 1);
    assert_int_equal(WITH(in_a_group, "sys/fs/cgroup/a b/memory.max=max\n", used), cores());
    assert_true(limits.left == UINT64_MAX && limits.memory == UINT64_MAX);
}

static void group_that_leaves_the_least_is_told(void **state)
{
    (void)state;
    WITH(in_a_group, "sys/fs/cgroup/a b/c/memory.max=400\n",
         "sys/fs/cgroup/a b/c/memory.current=100\n", "sys/fs/cgroup/a b/memory.max=1000\n",
         "sys/fs/cgroup/a b/memory.current=900\n", "sys/fs/cgroup/memory.max=2000\n",
         "sys/fs/cgroup/memory.current=100\n");
    assert_int_equal(limits.memory, 1000);
    assert_int_equal(limits.left, 100);
}

static void version_1_is_not_read(void **state)
{
    (void)state;
    assert_int_equal(WITH("proc/self/cgroup=3:memory:/a\n2:cpu:/a\n",
                          "sys/fs/cgroup/memory/a/memory.limit_in_bytes=1\n",
                          "sys/fs/cgroup/memory.max=1\n", "sys/fs/cgroup/memory.current=1\n"),
                     cores());
    assert_true(limits.left == UINT64_MAX && limits.cores == UINT64_MAX);
}

static void this_machine_has_room_for_one(void **state)
{
    (void)state;
    assert_in_range(warm_capacity(""), 1, cores());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_core_has_a_builder),
        cmocka_unit_test(affinity_counts),
        cmocka_unit_test(nothing_known_is_no_limit),
        cmocka_unit_test(builder_has_memory),
        cmocka_unit_test(group_limits_cores),
        cmocka_unit_test(groups_above_limit_too),
        cmocka_unit_test(group_limits_memory),
        cmocka_unit_test(group_that_leaves_the_least_is_told),
        cmocka_unit_test(version_1_is_not_read),
        cmocka_unit_test(this_machine_has_room_for_one),
    };
    return cmocka_run_group_tests_name("warm_capacity", tests, NULL, NULL);
}
