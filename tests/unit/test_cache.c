/* SPDX-License-Identifier: Apache-2.0 */
#include "testing.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cache_case.h"
#include "memory.h"
#include "publish.h"

static const tkj_logger silent = {NULL, NULL, 0};

static mode_t mode_of(const char *path)
{
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    return status.st_mode;
}

static void assert_warned(cache_case *it, int count, const char *part)
{
    assert_int_equal(atomic_load(&it->warnings), count);
    if (strstr(it->warning, part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, it->warning);
}

static void creating_and_missing_leave_no_trace(void **state)
{
    cache_case *it = *state;
    assert_string_equal(tkj_cache_root(it->cache), it->root);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_ABSENT);
    assert_int_equal(access(it->root, F_OK), -1);
    assert_int_equal(atomic_load(&it->warnings), 0);
}

static void what_was_put_is_a_hit(void **state)
{
    cache_case *it = *state;
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_HIT);
    assert_int_equal(atomic_load(&it->warnings), 0);
}

static void files_are_for_the_user_alone(void **state)
{
    cache_case *it = *state;
    mode_t before = umask(0);
    topk_jit_status status = cache_case_put(it);
    umask(before);
    assert_int_equal(status, TOPK_JIT_OK);
    assert_int_equal(mode_of(it->root), S_IFDIR | 0700);
    assert_int_equal(mode_of(cache_case_path(it, "v1")), S_IFDIR | 0700);
    assert_int_equal(mode_of(cache_case_path(it, "v1/00")), S_IFDIR | 0700);
    assert_int_equal(mode_of(cache_case_path(it, "tmp")), S_IFDIR | 0700);
    assert_int_equal(mode_of(cache_case_path(it, CACHE_CASE_NAME)), S_IFREG | 0600);
    assert_int_equal(tkj_test_file_count(cache_case_path(it, "tmp")), 0);
    assert_int_equal(tkj_test_file_count(it->root), 2); /* the entry and the tag */
}

static void root_is_tagged_as_a_cache_for_backups(void **state)
{
    cache_case *it = *state;
    static const char signature[] = "Signature: 8a477f597d28d172789f06886806bc55\n";
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    char text[sizeof signature] = "";
    FILE *file = fopen(cache_case_path(it, "CACHEDIR.TAG"), "r");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof signature - 1, file), sizeof signature - 1);
    assert_int_equal(fclose(file), 0);
    assert_string_equal(text, signature);
}

static void existing_tag_is_left_alone(void **state)
{
    cache_case *it = *state;
    assert_int_equal(mkdir(it->root, 0700), 0);
    tkj_test_file_write(cache_case_path(it, "CACHEDIR.TAG"), "mine", 4);
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    struct stat status;
    assert_int_equal(stat(cache_case_path(it, "CACHEDIR.TAG"), &status), 0);
    assert_int_equal(status.st_size, 4);
}

static void without_a_root_gets_miss_and_puts_do_nothing(void **state)
{
    cache_case *it = *state;
    tkj_cache_options options = cache_case_options(it);
    options.root = NULL;
    cache_case_open(it, &options);
    assert_null(tkj_cache_root(it->cache));
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_ABSENT);
    assert_int_equal(tkj_test_file_count(it->directory), 0);
}

static void destroying_null_is_ignored(void **state)
{
    cache_case *it = *state;
    tkj_cache_destroy(NULL);
    assert_string_equal(tkj_cache_root(it->cache), it->root);
}

static void other_toolchain_major_is_another_entry(void **state)
{
    cache_case *it = *state;
    assert_int_equal(tkj_cache_put(it->cache, &it->key, 12, &it->bytes), TOPK_JIT_OK);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_ABSENT);
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(tkj_test_file_count(cache_case_path(it, "v1")), 2);
}

/* Asserts a corrupt entry, and that storing again mends it. */
static void assert_corrupt_until_rewritten(cache_case *it, const char *flaw)
{
    assert_int_equal(cache_case_get(it), TKJ_CACHE_CORRUPT);
    assert_warned(it, 1, flaw);
    assert_warned(it, 1, CACHE_CASE_NAME);
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_HIT);
}

static void truncated_entry_is_a_miss(void **state)
{
    cache_case *it = *state;
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(truncate(cache_case_path(it, CACHE_CASE_NAME), (off_t)it->bytes.size - 1), 0);
    assert_corrupt_until_rewritten(it, "it is cut short");
}

static void empty_entry_is_a_miss(void **state)
{
    cache_case *it = *state;
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(truncate(cache_case_path(it, CACHE_CASE_NAME), 0), 0);
    assert_corrupt_until_rewritten(it, "it is not a cache entry");
}

static void flipped_bit_is_a_miss(void **state)
{
    cache_case *it = *state;
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    uint8_t *byte = it->bytes.bytes + it->bytes.size / 2;
    *byte ^= 1;
    tkj_test_file_write(cache_case_path(it, CACHE_CASE_NAME), it->bytes.bytes, it->bytes.size);
    *byte ^= 1;
    assert_corrupt_until_rewritten(it, "its checksum does not match");
}

static void entry_larger_than_any_is_a_miss(void **state)
{
    cache_case *it = *state;
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(truncate(cache_case_path(it, CACHE_CASE_NAME), (off_t)TKJ_ENTRY_SIZE_MAX + 1),
                     0);
    assert_corrupt_until_rewritten(it, "it is larger than any entry");
}

static void entry_that_others_can_write_is_a_miss(void **state)
{
    cache_case *it = *state;
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(chmod(cache_case_path(it, CACHE_CASE_NAME), 0666), 0);
    assert_corrupt_until_rewritten(it, "others can write it");
}

static void symlink_in_an_entrys_place_is_a_miss_and_its_target_stays(void **state)
{
    cache_case *it = *state;
    const char *target = tkj_test_path(it->directory, "target");
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(rename(cache_case_path(it, CACHE_CASE_NAME), target), 0);
    assert_int_equal(symlink(target, cache_case_path(it, CACHE_CASE_NAME)), 0);
    assert_corrupt_until_rewritten(it, "it is a symbolic link");
    assert_int_equal(mode_of(target), S_IFREG | 0600);
    assert_int_equal(mode_of(cache_case_path(it, CACHE_CASE_NAME)), S_IFREG | 0600);
}

static void fifo_in_an_entrys_place_is_a_miss(void **state)
{
    cache_case *it = *state;
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(unlink(cache_case_path(it, CACHE_CASE_NAME)), 0);
    assert_int_equal(mkfifo(cache_case_path(it, CACHE_CASE_NAME), 0600), 0);
    assert_corrupt_until_rewritten(it, "it is not a regular file");
}

static void directory_in_an_entrys_place_is_a_miss_and_cannot_be_rewritten(void **state)
{
    cache_case *it = *state;
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(unlink(cache_case_path(it, CACHE_CASE_NAME)), 0);
    assert_int_equal(mkdir(cache_case_path(it, CACHE_CASE_NAME), 0700), 0);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_CORRUPT);
    assert_int_equal(cache_case_put(it), TOPK_JIT_CACHE_FAILED);
    cache_case_assert_message("an entry cannot be renamed");
    assert_int_equal(tkj_test_file_count(cache_case_path(it, "tmp")), 0);
}

static tkj_cache_outcome get_as(cache_case *it, const char *preimage, const char *target)
{
    tkj_cache_query query = cache_case_query(it);
    query.preimage = preimage;
    query.target = target;
    return cache_case_ask(it, &query);
}

static void entry_of_another_preimage_or_target_is_a_miss(void **state)
{
    cache_case *it = *state;
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(get_as(it, CACHE_CASE_PREIMAGE, CACHE_CASE_TARGET), TKJ_CACHE_HIT);
    assert_int_equal(get_as(it, CACHE_CASE_PREIMAGE "1", CACHE_CASE_TARGET), TKJ_CACHE_CORRUPT);
    assert_warned(it, 1, "it is of another kernel");
    it->warning[0] = '\0';
    atomic_store(&it->warnings, 0);
    assert_int_equal(get_as(it, CACHE_CASE_PREIMAGE, "sm_100"), TKJ_CACHE_CORRUPT);
    assert_warned(it, 1, "it is for another target");
}

/* Asserts that an untrusted root with a sound entry in it is neither read nor written. */
static void assert_not_used(cache_case *it, const char *reason)
{
    for (int i = 0; i < 3; i++) {
        assert_int_equal(cache_case_get(it), TKJ_CACHE_UNUSABLE);
        assert_int_equal(cache_case_put(it), TOPK_JIT_CACHE_FAILED);
        cache_case_assert_message(it->root);
        cache_case_assert_message(reason);
    }
    assert_warned(it, 1, reason);
    assert_warned(it, 1, it->root);
}

static void root_that_others_can_write_is_not_used(void **state)
{
    cache_case *it = *state;
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(chmod(it->root, 0777), 0);
    assert_not_used(it, "is writable by its group or by everybody");
    assert_int_equal(tkj_test_file_count(it->root), 2);
}

static void root_behind_a_symlink_is_not_used(void **state)
{
    cache_case *it = *state;
    const char *elsewhere = tkj_test_path(it->directory, "elsewhere");
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(rename(it->root, elsewhere), 0);
    assert_int_equal(symlink(elsewhere, it->root), 0);
    assert_not_used(it, "is a symbolic link");
}

/* The rule of the root holds for what is below it: a member of no group must not plant a cubin in
   a directory of ours, nor we write where they could swap it. */
static void directory_below_the_root_that_others_can_write_is_not_used(void **state)
{
    static const struct {
        const char *name;
        bool is_read;
    } directories[] = {{"v1", true}, {"v1/00", true}, {"tmp", false}};
    static const mode_t modes[] = {0720, 0702, 0777, 01777};
    cache_case *it = *state;
    const tkj_cache_options options = cache_case_options(it);
    for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++)
        for (size_t j = 0; j < sizeof modes / sizeof modes[0]; j++) {
            cache_case_open(it, &options); /* no pause, nothing complained of */
            assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
            const char *path = cache_case_path(it, directories[i].name);
            assert_int_equal(chmod(path, modes[j]), 0);
            assert_int_equal(cache_case_get(it),
                             directories[i].is_read ? TKJ_CACHE_UNUSABLE : TKJ_CACHE_HIT);
            assert_int_equal(cache_case_put(it), TOPK_JIT_CACHE_FAILED);
            cache_case_assert_message("a directory belongs to another user or others can write it");
            assert_int_equal(chmod(cache_case_path(it, directories[i].name), 0700), 0);
            assert_int_equal(cache_case_get(it), TKJ_CACHE_HIT);
        }
}

static void distrust_below_the_root_is_logged_once(void **state)
{
    cache_case *it = *state;
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(chmod(cache_case_path(it, "v1"), 0777), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(cache_case_get(it), TKJ_CACHE_UNUSABLE);
    assert_warned(it, 1, "has a directory that belongs to another user or that others can write");
    assert_warned(it, 1, it->root);
}

static void distrust_met_by_a_put_first_is_logged_once_too(void **state)
{
    cache_case *it = *state;
    assert_int_equal(mkdir(it->root, 0700), 0);
    assert_int_equal(chmod(it->root, 0720), 0);
    assert_int_equal(cache_case_put(it), TOPK_JIT_CACHE_FAILED);
    assert_not_used(it, "is writable by its group or by everybody");
    assert_int_equal(tkj_test_file_count(it->root), 0);
}

static void root_that_is_a_file_is_a_failed_store_that_says_so(void **state)
{
    cache_case *it = *state;
    tkj_test_file_write(it->root, "x", 1);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_ABSENT);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(cache_case_put(it), TOPK_JIT_CACHE_FAILED);
        cache_case_assert_message("is not a directory");
        cache_case_assert_message(it->root);
    }
    assert_warned(it, 1, "is not a directory");
}

static void root_that_vanished_is_created_again(void **state)
{
    cache_case *it = *state;
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(rename(it->root, tkj_test_path(it->directory, "gone")), 0);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_ABSENT);
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_HIT);
}

static void missing_parents_and_spaces_in_the_path_work(void **state)
{
    cache_case *it = *state;
    tkj_cache_options options = cache_case_options(it);
    options.root = tkj_test_path(it->directory, "my caches/a b/topk-jit/");
    cache_case_open(it, &options);
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_HIT);
}

static void age_file(const char *path, time_t seconds)
{
    tkj_test_file_write(path, "x", 1);
    struct timespec then = {time(NULL) - seconds, 0};
    const struct timespec times[] = {then, then};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static size_t count_stale(const char *root)
{
    int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    const size_t count = tkj_publish_count_stale(fd, TKJ_TRUST_OWNER);
    assert_int_equal(close(fd), 0);
    return count;
}

static void only_stale_temporary_files_are_swept(void **state)
{
    cache_case *it = *state;
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    age_file(cache_case_path(it, "tmp/new-0000000000000001"), 3600 + 60);
    age_file(cache_case_path(it, "tmp/new-0000000000000002"), 3600 - 60);
    age_file(cache_case_path(it, "tmp/somebody-elses"), 3600 + 60);
    assert_int_equal(count_stale(it->root), 1);
    assert_int_equal(access(cache_case_path(it, "tmp/new-0000000000000001"), F_OK), 0);
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_int_equal(access(cache_case_path(it, "tmp/new-0000000000000001"), F_OK), -1);
    assert_int_equal(access(cache_case_path(it, "tmp/new-0000000000000002"), F_OK), 0);
    assert_int_equal(access(cache_case_path(it, "tmp/somebody-elses"), F_OK), 0);
    assert_int_equal(count_stale(it->root), 0);
    assert_int_equal(count_stale(cache_case_path(it, "tmp")), 0); /* no root */
}

static void creating_without_memory_leaks_nothing(void **state)
{
    (void)state;
    const tkj_cache_options options = {
        .root = "/root", .ro_dirs = "/one", .installed = "/two", .runtime_dir = "/three"};
    for (int fail_at = 1; fail_at <= 5; fail_at++) {
        tkj_test_allocator test;
        tkj_test_allocator_init(&test, fail_at);
        tkj_cache *cache = (tkj_cache *)1;
        assert_int_equal(tkj_cache_create(&test.allocator, &silent, &options, &cache),
                         TOPK_JIT_OUT_OF_MEMORY);
        assert_null(cache);
        assert_int_equal(atomic_load(&test.live), 0);
    }
}

/* The next allocation fails. */
static void run_short_of_memory(cache_case *it)
{
    it->test.fail_at = atomic_load(&it->test.asked) + 1;
}

static void without_memory_a_get_misses_and_a_put_stores(void **state)
{
    cache_case *it = *state;
    run_short_of_memory(it);
    assert_int_equal(cache_case_put(it), TOPK_JIT_OK);
    assert_true(tkj_test_allocator_failed(&it->test)); /* nothing was counted, so nothing removed */
    run_short_of_memory(it);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_UNUSABLE); /* no layer was found */
    assert_int_equal(cache_case_get(it), TKJ_CACHE_HIT);
    run_short_of_memory(it);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_UNREADABLE);
    assert_int_equal(cache_case_get(it), TKJ_CACHE_HIT);
}

static void without_memory_for_the_layers_a_miss_says_so(void **state)
{
    cache_case *it = *state;
    char text[256];
    tkj_text out = tkj_text_start(text, sizeof text);
    const tkj_cache_query query = cache_case_query(it);
    run_short_of_memory(it);
    assert_true(tkj_cache_explain_miss(it->cache, &query, &out));
    assert_non_null(strstr(text, "short of memory"));
    assert_true(tkj_cache_explain_miss(it->cache, &query, &out));
    assert_non_null(strstr(text, "does not exist"));
    assert_non_null(strstr(text, it->root));
}

/* Puts and gets few keys many times; several of these run at once. */
static void *work_on_shared_keys(void *argument)
{
    cache_case *it = argument;
    intptr_t wrong = 0;
    for (int round = 0; round < 20; round++) {
        tkj_cache_query query = cache_case_query(it);
        query.key.digest[0] = (uint8_t)(round % 3);
        wrong += cache_case_ask(it, &query) == TKJ_CACHE_CORRUPT;
        wrong += tkj_cache_put(it->cache, &query.key, query.major, &it->bytes) != TOPK_JIT_OK;
        wrong += cache_case_ask(it, &query) != TKJ_CACHE_HIT;
    }
    return (void *)wrong;
}

static void threads_share_a_cache(void **state)
{
    cache_case *it = *state;
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work_on_shared_keys, it), 0);
    for (size_t i = 0; i < 4; i++) {
        void *wrong = NULL;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_int_equal((intptr_t)wrong, 0);
    }
    assert_int_equal(tkj_test_file_count(cache_case_path(it, "tmp")), 0);
    assert_int_equal(tkj_test_file_count(cache_case_path(it, "v1")), 3);
    assert_int_equal(atomic_load(&it->warnings), 0);
}

#define IN_CACHE(test)                                                                             \
    cmocka_unit_test_setup_teardown(test, cache_case_set_up, cache_case_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_CACHE(creating_and_missing_leave_no_trace),
        IN_CACHE(what_was_put_is_a_hit),
        IN_CACHE(files_are_for_the_user_alone),
        IN_CACHE(root_is_tagged_as_a_cache_for_backups),
        IN_CACHE(existing_tag_is_left_alone),
        IN_CACHE(without_a_root_gets_miss_and_puts_do_nothing),
        IN_CACHE(destroying_null_is_ignored),
        IN_CACHE(other_toolchain_major_is_another_entry),
        IN_CACHE(truncated_entry_is_a_miss),
        IN_CACHE(empty_entry_is_a_miss),
        IN_CACHE(flipped_bit_is_a_miss),
        IN_CACHE(entry_larger_than_any_is_a_miss),
        IN_CACHE(entry_that_others_can_write_is_a_miss),
        IN_CACHE(symlink_in_an_entrys_place_is_a_miss_and_its_target_stays),
        IN_CACHE(fifo_in_an_entrys_place_is_a_miss),
        IN_CACHE(directory_in_an_entrys_place_is_a_miss_and_cannot_be_rewritten),
        IN_CACHE(entry_of_another_preimage_or_target_is_a_miss),
        IN_CACHE(root_that_others_can_write_is_not_used),
        IN_CACHE(root_behind_a_symlink_is_not_used),
        IN_CACHE(directory_below_the_root_that_others_can_write_is_not_used),
        IN_CACHE(distrust_below_the_root_is_logged_once),
        IN_CACHE(distrust_met_by_a_put_first_is_logged_once_too),
        IN_CACHE(root_that_is_a_file_is_a_failed_store_that_says_so),
        IN_CACHE(root_that_vanished_is_created_again),
        IN_CACHE(missing_parents_and_spaces_in_the_path_work),
        IN_CACHE(only_stale_temporary_files_are_swept),
        IN_CACHE(creating_without_memory_leaks_nothing),
        IN_CACHE(without_memory_a_get_misses_and_a_put_stores),
        IN_CACHE(without_memory_for_the_layers_a_miss_says_so),
        IN_CACHE(threads_share_a_cache),
    };
    return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
