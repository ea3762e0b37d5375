/* SPDX-License-Identifier: Apache-2.0 */
/* Which entries of a directory go, which stay, and what happens while that is decided. */
#include "testing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "evict.h"

#define SIZE UINT64_C(1000) /* bytes of an entry */

typedef struct evict_case {
    char *directory;
    int fd;
    tkj_test_allocator memory;
} evict_case;

/* ---- what happens at a call; linked with --wrap ---- */

/* Before a file is looked at by its name below the root, which is done to remove it, `act` is
   called, once. */
static struct {
    const char *name; /* NULL = nothing happens */
    void (*act)(evict_case *it);
    evict_case *it;
} moment;
static const char *unreadable; /* the directory that openat does not open */
static int unlink_error;       /* 0 = unlinkat works */

int __real_fstatat(int fd, const char *path, struct stat *status, int flags);
int __wrap_fstatat(int fd, const char *path, struct stat *status, int flags);
int __wrap_fstatat(int fd, const char *path, struct stat *status, int flags)
{
    if (moment.name != NULL && strcmp(path, moment.name) == 0) {
        moment.name = NULL;
        moment.act(moment.it);
    }
    return __real_fstatat(fd, path, status, flags);
}

int __real_openat(int fd, const char *path, int flags, ...);
int __wrap_openat(int fd, const char *path, int flags, mode_t mode);
int __wrap_openat(int fd, const char *path, int flags, mode_t mode)
{
    if (unreadable != NULL && strcmp(path, unreadable) == 0) {
        errno = EACCES;
        return -1;
    }
    return __real_openat(fd, path, flags, mode);
}

int __real_unlinkat(int fd, const char *path, int flags);
int __wrap_unlinkat(int fd, const char *path, int flags);
int __wrap_unlinkat(int fd, const char *path, int flags)
{
    errno = unlink_error;
    return unlink_error != 0 ? -1 : __real_unlinkat(fd, path, flags);
}

/* ---- the directory ---- */

static int set_up(void **state)
{
    evict_case *it = calloc(1, sizeof *it);
    assert_non_null(it);
    memset(&moment, 0, sizeof moment);
    unreadable = NULL;
    unlink_error = 0;
    it->directory = tkj_test_dir_create();
    it->fd = open(it->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(it->fd >= 0);
    tkj_test_allocator_init(&it->memory, 0);
    *state = it;
    return 0;
}

static int tear_down(void **state)
{
    evict_case *it = *state;
    assert_int_equal(atomic_load(&it->memory.live), 0);
    assert_int_equal(close(it->fd), 0);
    tkj_test_dir_remove(it->directory);
    free(it);
    return 0;
}

/* Creates the directories that lead to a name. */
static const char *place(const evict_case *it, const char *name)
{
    char prefix[256];
    for (const char *slash = strchr(name, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        snprintf(prefix, sizeof prefix, "%.*s", (int)(slash - name), name);
        assert_true(mkdir(tkj_test_path(it->directory, prefix), 0700) == 0 || errno == EEXIST);
    }
    return tkj_test_path(it->directory, name);
}

static void set_age(const evict_case *it, const char *name, time_t seconds)
{
    const struct timespec then = {.tv_sec = time(NULL) - seconds};
    const struct timespec times[2] = {then, then};
    assert_int_equal(utimensat(it->fd, name, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void write_entry(const evict_case *it, const char *name, size_t size, time_t age)
{
    static const char bytes[10 * SIZE];
    tkj_test_file_write(place(it, name), bytes, size);
    set_age(it, name, age);
}

static bool is_there(const evict_case *it, const char *name)
{
    return faccessat(it->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* An entry's name, below its directory. */
#define NUMBER "000000000000000000000000000"
#define KEY(digit) NUMBER "00" digit
#define ENTRY(directory, digit) "v1/" directory "/" KEY(digit) ".cu13.tkc"

/* Entries of one size; the oldest first, not in the order of their names. */
static const char *const by_age[] = {ENTRY("ff", "a"), ENTRY("00", "d"), ENTRY("7f", "b"),
                                     ENTRY("00", "c")};
#define COUNT (sizeof by_age / sizeof by_age[0])

static void fill(const evict_case *it)
{
    for (size_t i = 0; i < COUNT; i++)
        write_entry(it, by_age[i], SIZE, 1000 - (time_t)i);
}

/* Asserts that the oldest are gone, so many, and no other. */
static void assert_oldest_are_gone(const evict_case *it, size_t count)
{
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(is_there(it, by_age[i]), i >= count);
}

static tkj_eviction evict_keeping(evict_case *it, uint64_t most, uint64_t target, const char *keep)
{
    return tkj_evict(&it->memory.allocator, it->fd, TKJ_TRUST_OWNER, most, target, keep);
}

static tkj_eviction evict(evict_case *it, uint64_t most, uint64_t target)
{
    return evict_keeping(it, most, target, "v1/none");
}

static void assert_done(tkj_eviction done, uint64_t removed, uint64_t left)
{
    assert_true(done.complete);
    assert_int_equal(done.removed, removed);
    assert_int_equal(done.removed_bytes, removed * SIZE);
    assert_int_equal(done.left_bytes, left * SIZE);
}

/* ---- what goes ---- */

static void empty_directory_has_nothing(void **state)
{
    assert_done(evict(*state, 0, 0), 0, 0);
}

static void up_to_the_cap_nothing_goes(void **state)
{
    evict_case *it = *state;
    fill(it);
    assert_done(evict(it, COUNT * SIZE, 0), 0, COUNT);
    assert_oldest_are_gone(it, 0);
}

static void above_the_cap_the_oldest_go_down_to_the_target(void **state)
{
    evict_case *it = *state;
    fill(it);
    assert_done(evict(it, COUNT * SIZE - 1, 2 * SIZE), 2, 2);
    assert_oldest_are_gone(it, 2);
}

static void target_within_an_entry_takes_that_entry(void **state)
{
    evict_case *it = *state;
    fill(it);
    assert_done(evict(it, COUNT * SIZE - 1, 2 * SIZE - 1), 3, 1);
    assert_oldest_are_gone(it, 3);
}

static void nanoseconds_tell_the_older_one(void **state)
{
    evict_case *it = *state;
    fill(it);
    for (size_t i = 0; i < COUNT; i++) {
        const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                          {.tv_sec = 77, .tv_nsec = (long)i + 1}};
        assert_int_equal(utimensat(it->fd, by_age[i], times, 0), 0);
    }
    assert_done(evict(it, 0, 3 * SIZE), 1, 3);
    assert_oldest_are_gone(it, 1);
}

static void entry_to_be_kept_stays_though_it_is_the_oldest_and_too_large(void **state)
{
    evict_case *it = *state;
    fill(it);
    write_entry(it, ENTRY("ab", "e"), 10 * SIZE, 9999);
    assert_done(evict_keeping(it, 5 * SIZE, 4 * SIZE, ENTRY("ab", "e")), COUNT, 10);
    assert_true(is_there(it, ENTRY("ab", "e")));
}

static void more_entries_than_fit_the_first_list_are_all_counted(void **state)
{
    evict_case *it = *state;
    for (time_t i = 0; i < 600; i++) {
        char name[64];
        snprintf(name, sizeof name, "v1/%02x/%030d.cu13.tkc", (unsigned)i % 3, (int)i);
        write_entry(it, name, SIZE, 600 - i);
    }
    assert_done(evict(it, 599 * SIZE, 500 * SIZE), 100, 500);
    assert_false(is_there(it, "v1/00/" NUMBER "099.cu13.tkc"));
    assert_true(is_there(it, "v1/01/" NUMBER "100.cu13.tkc"));
}

/* ---- what is no entry ---- */

static const char *const no_entries[] = {
    KEY("a") ".cu13.tkc",           /* in the root itself */
    "v1/" KEY("a") ".cu13.tkc",     /* in no subdirectory */
    "v1/00/deep/" KEY("a") ".tkc",  /* too deep */
    "v2/00/" KEY("a") ".cu13.tkc",  /* another layout */
    ENTRY("FF", "a"),               /* a directory that is none of ours */
    ENTRY("0g", "a"),               /* nor this */
    "tmp/new-1.tkc",                /* being written */
    ENTRY("00", "a") ".old",        /* another suffix */
    "v1/00/pack.tkp",               /* a pack */
    "v1/00/.tkc",                   /* a suffix alone */
    "v1/00/a.cu13.tkc",             /* no key */
    ENTRY("00", "A"),               /* a key that no digest is written as */
    "v1/00/" KEY("a") ".cu013.tkc", /* a number that is written otherwise */
    "v1/00/" KEY("a") ".tkc",       /* no toolchain */
    "v1/00/longer-than-any-entry-has-a-name-since-digests-are-short.cu13.tkc",
    "CACHEDIR.TAG",
    "locks",
};

static void files_that_are_no_entries_are_neither_counted_nor_removed(void **state)
{
    evict_case *it = *state;
    fill(it);
    for (size_t i = 0; i < sizeof no_entries / sizeof no_entries[0]; i++)
        write_entry(it, no_entries[i], SIZE, 5000);
    assert_done(evict(it, 1, 0), COUNT, 0);
    assert_oldest_are_gone(it, COUNT);
    for (size_t i = 0; i < sizeof no_entries / sizeof no_entries[0]; i++)
        assert_true(is_there(it, no_entries[i]));
}

static void directories_links_and_fifos_of_an_entrys_name_stay(void **state)
{
    evict_case *it = *state;
    fill(it);
    write_entry(it, "elsewhere/target.tkc", SIZE, 5000);
    assert_int_equal(mkdir(place(it, ENTRY("00", "1")), 0700), 0);
    assert_int_equal(mkfifo(place(it, ENTRY("00", "2")), 0600), 0);
    assert_int_equal(symlink("../../elsewhere/target.tkc", place(it, ENTRY("00", "3"))), 0);
    assert_int_equal(symlink("../elsewhere", place(it, "v1/01")), 0);
    assert_done(evict(it, 1, 0), COUNT, 0);
    assert_true(is_there(it, ENTRY("00", "1")));
    assert_true(is_there(it, ENTRY("00", "2")));
    assert_true(is_there(it, ENTRY("00", "3")));
    assert_true(is_there(it, "elsewhere/target.tkc"));
}

/* ---- what happens meanwhile ---- */

static void at(evict_case *it, const char *name, void (*act)(evict_case *it))
{
    moment.name = name;
    moment.act = act;
    moment.it = it;
}

static void use_the_oldest(evict_case *it)
{
    set_age(it, by_age[0], 0);
}

static void entry_that_is_used_meanwhile_stays(void **state)
{
    evict_case *it = *state;
    fill(it);
    at(it, by_age[0], use_the_oldest);
    assert_done(evict(it, 1, 3 * SIZE), 1, 3);
    assert_null(moment.name); /* it happened */
    assert_true(is_there(it, by_age[0]));
    assert_false(is_there(it, by_age[1]));
}

/* Of another size under the old time: what a clock of whole seconds shows. */
static void rewrite_the_oldest(evict_case *it)
{
    struct stat status;
    assert_int_equal(stat(place(it, by_age[0]), &status), 0);
    write_entry(it, by_age[0], SIZE + 1, 0);
    const struct timespec times[2] = {status.st_atim, status.st_mtim};
    assert_int_equal(utimensat(it->fd, by_age[0], times, 0), 0);
}

static void entry_that_is_rewritten_meanwhile_stays(void **state)
{
    evict_case *it = *state;
    fill(it);
    at(it, by_age[0], rewrite_the_oldest);
    assert_done(evict(it, 1, 3 * SIZE), 1, 3);
    assert_null(moment.name);
    assert_true(is_there(it, by_age[0]));
    assert_false(is_there(it, by_age[1]));
}

/* Another process at the same: it ends before this one removes anything. */
static void evict_in_another_process(evict_case *it)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(evict(it, 3 * SIZE, 2 * SIZE).removed == 2 ? 0 : 1);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void what_another_process_removes_is_not_removed_once_more(void **state)
{
    evict_case *it = *state;
    fill(it);
    at(it, by_age[0], evict_in_another_process);
    assert_done(evict(it, 3 * SIZE, 2 * SIZE), 0, 2);
    assert_null(moment.name);
    assert_oldest_are_gone(it, 2);
}

/* ---- what fails ---- */

static void unreadable_directory_hides_its_entries_only(void **state)
{
    evict_case *it = *state;
    fill(it);
    unreadable = "ff";
    assert_done(evict(it, 1, 0), COUNT - 1, 0);
    assert_true(is_there(it, by_age[0]));
}

static void entry_that_cannot_be_removed_is_passed_over(void **state)
{
    evict_case *it = *state;
    fill(it);
    unlink_error = EACCES;
    assert_done(evict(it, 1, 0), 0, COUNT);
    unlink_error = 0;
    assert_oldest_are_gone(it, 0);
}

static void without_memory_for_all_less_is_counted(void **state)
{
    evict_case *it = *state;
    fill(it);
    tkj_test_allocator_init(&it->memory, 1);
    tkj_eviction done = evict(it, 0, 0);
    assert_false(done.complete);
    assert_int_equal(done.removed + done.left_bytes, 0);
    assert_oldest_are_gone(it, 0);
    assert_int_equal(evict(it, COUNT * SIZE, 0).complete, true);
}

static void without_memory_for_more_what_was_counted_still_goes(void **state)
{
    evict_case *it = *state;
    for (time_t i = 0; i < 300; i++) {
        char name[64];
        snprintf(name, sizeof name, "v1/00/%030d.cu13.tkc", (int)i);
        write_entry(it, name, SIZE, 600 - i);
    }
    tkj_test_allocator_init(&it->memory, 2);
    tkj_eviction done = evict(it, 100 * SIZE, 100 * SIZE);
    assert_true(tkj_test_allocator_failed(&it->memory));
    assert_false(done.complete);
    assert_int_equal(done.removed, 156); /* of the 256 that were counted */
    assert_int_equal(done.left_bytes, 100 * SIZE);
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(empty_directory_has_nothing),
        IN_DIRECTORY(up_to_the_cap_nothing_goes),
        IN_DIRECTORY(above_the_cap_the_oldest_go_down_to_the_target),
        IN_DIRECTORY(target_within_an_entry_takes_that_entry),
        IN_DIRECTORY(nanoseconds_tell_the_older_one),
        IN_DIRECTORY(entry_to_be_kept_stays_though_it_is_the_oldest_and_too_large),
        IN_DIRECTORY(more_entries_than_fit_the_first_list_are_all_counted),
        IN_DIRECTORY(files_that_are_no_entries_are_neither_counted_nor_removed),
        IN_DIRECTORY(directories_links_and_fifos_of_an_entrys_name_stay),
        IN_DIRECTORY(entry_that_is_used_meanwhile_stays),
        IN_DIRECTORY(entry_that_is_rewritten_meanwhile_stays),
        IN_DIRECTORY(what_another_process_removes_is_not_removed_once_more),
        IN_DIRECTORY(unreadable_directory_hides_its_entries_only),
        IN_DIRECTORY(entry_that_cannot_be_removed_is_passed_over),
        IN_DIRECTORY(without_memory_for_all_less_is_counted),
        IN_DIRECTORY(without_memory_for_more_what_was_counted_still_goes),
    };
    return cmocka_run_group_tests_name("cache_evict", tests, NULL, NULL);
}
