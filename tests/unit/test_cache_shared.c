/* SPDX-License-Identifier: Apache-2.0 */
/* A cache that the members of a group share, and what is refused without that and with it. */
#include "layer_case.h"

#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lock.h"
#include "memory.h"

#define FOREIGN_GROUP ((gid_t)12345)
#define OTHER_GROUP_OF_OURS ((gid_t)54322)

/* ---- whose everything is, by what the linker puts in the place of system calls ---- */

static struct {
    bool directories, files; /* which are somebody else's */
    gid_t group;             /* of those */
} somebody_elses;

int __real_fstat(int fd, struct stat *status);
int __wrap_fstat(int fd, struct stat *status);
int __wrap_fstat(int fd, struct stat *status)
{
    int result = __real_fstat(fd, status);
    if (S_ISDIR(status->st_mode) ? somebody_elses.directories : somebody_elses.files) {
        status->st_uid = geteuid() + 1;
        status->st_gid = somebody_elses.group;
    }
    return result;
}

int __wrap_getgroups(int size, gid_t list[]);
int __wrap_getgroups(int size, gid_t list[])
{
    assert_true(size >= 2);
    list[0] = OTHER_GROUP_OF_OURS - 1;
    list[1] = OTHER_GROUP_OF_OURS;
    return 2;
}

static void open_with(cache_case *it, tkj_trust trust)
{
    tkj_cache_options options = cache_case_options(it);
    options.trust = trust;
    cache_case_open(it, &options);
}

static int set_up(void **state)
{
    memset(&somebody_elses, 0, sizeof somebody_elses);
    int result = layer_case_set_up(state);
    open_with(*state, TKJ_TRUST_GROUP);
    return result;
}

/* ---- what is created ---- */

static void assert_mode(const char *path, mode_t mode)
{
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    if (status.st_mode != mode)
        fail_msg("%s has mode %o, expected %o", path, status.st_mode, mode);
}

/* Stores below parents that are missing, with a lock; asserts what everybody in the group may. */
static void assert_shared_under(cache_case *it, mode_t mask, const char *name)
{
    char root[512];
    tkj_cache_options options = cache_case_options(it);
    options.trust = TKJ_TRUST_GROUP;
    snprintf(root, sizeof root, "%s/%s/cache", it->directory, name);
    options.root = root;
    cache_case_open(it, &options);
    mode_t before = umask(mask);
    topk_jit_status status = cache_case_put(it);
    int lock = tkj_lock_open(it->directory, root, TKJ_TRUST_GROUP);
    umask(before);
    assert_int_equal(status, TOPK_JIT_OK);
    assert_true(lock >= 0);
    assert_int_equal(close(lock), 0);
    char hex[2 * TKJ_DIGEST_SIZE + 1], directory[16];
    tkj_digest_format(it->key.digest, hex);
    snprintf(directory, sizeof directory, "v1/%.2s", hex);
    assert_mode(tkj_test_path(it->directory, name),
                S_IFDIR | (0700 & ~mask)); /* ~/.cache is no cache */
    assert_mode(root, S_IFDIR | 02770);
    assert_mode(tkj_test_path(root, "v1"), S_IFDIR | 02770);
    assert_mode(tkj_test_path(root, directory), S_IFDIR | 02770);
    assert_mode(tkj_test_path(root, "tmp"), S_IFDIR | 02770);
    assert_mode(layer_case_file(it, root), S_IFREG | 0660);
    assert_mode(tkj_test_path(root, "locks"), S_IFREG | 0660);
    assert_mode(tkj_test_path(root, "CACHEDIR.TAG"), S_IFREG | 0660);
}

static void what_is_created_is_the_groups_whatever_the_umask(void **state)
{
    assert_shared_under(*state, 0, "open");
    assert_shared_under(*state, 022, "usual");
    assert_shared_under(*state, 077, "closed");
    assert_shared_under(*state, 0777, "shut");
}

static void directory_that_exists_keeps_its_mode(void **state)
{
    cache_case *it = *state;
    assert_int_equal(mkdir(it->root, 0700), 0);
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_mode(it->root, S_IFDIR | 0700);
    assert_mode(cache_case_path(it, "v1"), S_IFDIR | 02770);
}

/* ---- what is used ---- */

static void assert_used(cache_case *it, const char *toolchain)
{
    layer_case_assert_answer(it, toolchain);
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(atomic_load(&it->warnings), 0);
}

static void root_and_entry_of_a_member_of_our_group_are_used(void **state)
{
    cache_case *it = *state;
    layer_case_fill(it, it->root, "theirs");
    assert_int_equal(chmod(it->root, 02770), 0);
    assert_int_equal(chmod(layer_case_file(it, it->root), 0660), 0);
    somebody_elses.directories = somebody_elses.files = true;
    somebody_elses.group = getegid();
    assert_used(it, "theirs");
}

static void group_of_which_we_are_a_member_besides_is_ours(void **state)
{
    cache_case *it = *state;
    layer_case_fill(it, it->root, "theirs");
    somebody_elses.directories = somebody_elses.files = true;
    somebody_elses.group = OTHER_GROUP_OF_OURS;
    assert_used(it, "theirs");
}

static void pack_and_read_only_directory_of_a_member_are_used(void **state)
{
    cache_case *it = *state;
    const char *place = tkj_test_path(it->directory, "one");
    tkj_cache_options options = cache_case_options(it);
    layer_case_fill(it, place, "one");
    layer_case_pack(it, tkj_test_path(it->directory, "one/a.tkp"), "pack");
    options.trust = TKJ_TRUST_GROUP;
    options.ro_dirs = place;
    somebody_elses.directories = somebody_elses.files = true;
    somebody_elses.group = getegid();
    cache_case_open(it, &options);
    layer_case_assert_answer(it, "pack");
    assert_int_equal(atomic_load(&it->warnings), 0);
}

/* ---- what is refused ---- */

static void assert_root_refused(cache_case *it, const char *why)
{
    layer_case_assert_answer(it, "nobody");
    assert_int_equal(cache_case_put(it), TOPK_JIT_CACHE_FAILED);
    cache_case_assert_message(why);
    layer_case_assert_warned(it, 1, why);
}

static void root_of_a_foreign_group_is_refused(void **state)
{
    cache_case *it = *state;
    layer_case_fill(it, it->root, "theirs");
    somebody_elses.directories = true;
    somebody_elses.group = FOREIGN_GROUP;
    assert_root_refused(it, "belongs to another user");
}

static void entry_of_a_foreign_group_is_refused(void **state)
{
    cache_case *it = *state;
    layer_case_fill(it, it->root, "theirs");
    somebody_elses.files = true;
    somebody_elses.group = FOREIGN_GROUP;
    assert_int_equal(cache_case_get(it), TKJ_CACHE_CORRUPT);
    layer_case_assert_warned(it, 1, "it belongs to another user or others can write it");
}

static void root_that_everybody_can_write_is_refused(void **state)
{
    cache_case *it = *state;
    layer_case_fill(it, it->root, "ours");
    assert_int_equal(chmod(it->root, 02772), 0);
    assert_root_refused(it, "is writable by its group or by everybody");
}

static void entry_that_everybody_can_write_is_refused(void **state)
{
    cache_case *it = *state;
    layer_case_fill(it, it->root, "ours");
    assert_int_equal(chmod(layer_case_file(it, it->root), 0662), 0);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_CORRUPT);
}

/* ---- without sharing ---- */

static void unshared_cache_takes_nothing_that_a_group_can_write(void **state)
{
    cache_case *it = *state;
    layer_case_fill(it, it->root, "ours");
    open_with(it, TKJ_TRUST_OWNER);
    assert_int_equal(chmod(layer_case_file(it, it->root), 0660), 0);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_CORRUPT);
    assert_int_equal(chmod(layer_case_file(it, it->root), 0600), 0);
    layer_case_assert_answer(it, "ours");
    atomic_store(&it->warnings, 0);
    assert_int_equal(chmod(it->root, 0720), 0);
    assert_root_refused(it, "is writable by its group or by everybody");
}

static void unshared_cache_takes_nothing_of_another_member(void **state)
{
    cache_case *it = *state;
    layer_case_fill(it, it->root, "theirs");
    open_with(it, TKJ_TRUST_OWNER);
    somebody_elses.group = getegid();
    somebody_elses.files = true;
    assert_int_equal(cache_case_get(it), TKJ_CACHE_CORRUPT);
    atomic_store(&it->warnings, 0);
    somebody_elses.directories = true;
    assert_root_refused(it, "belongs to another user");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, cache_case_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_created_is_the_groups_whatever_the_umask),
        TEST(directory_that_exists_keeps_its_mode),
        TEST(root_and_entry_of_a_member_of_our_group_are_used),
        TEST(group_of_which_we_are_a_member_besides_is_ours),
        TEST(pack_and_read_only_directory_of_a_member_are_used),
        TEST(root_of_a_foreign_group_is_refused),
        TEST(entry_of_a_foreign_group_is_refused),
        TEST(root_that_everybody_can_write_is_refused),
        TEST(entry_that_everybody_can_write_is_refused),
        TEST(unshared_cache_takes_nothing_that_a_group_can_write),
        TEST(unshared_cache_takes_nothing_of_another_member),
    };
    return cmocka_run_group_tests_name("cache_shared", tests, NULL, NULL);
}
