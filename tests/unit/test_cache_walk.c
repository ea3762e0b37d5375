/* SPDX-License-Identifier: Apache-2.0 */
/* What is found in a directory of the cache, in what order, and what is found where calls fail. */
#include "testing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "walk.h"

/* An entry's name: 30 digits that end in one of one's own. */
#define KEY(digit) "00000000000000000000000000000" digit
#define ENTRY(directory, digit) "v1/" directory "/" KEY(digit) ".cu13.tkc"

typedef struct walk_case {
    char *directory;
    int fd;
    tkj_test_allocator memory;
    tkj_walk found;
} walk_case;

/* ---- calls that fail; linked with --wrap ---- */

static struct {
    const char *open, *stat; /* names of which the call fails; NULL = none */
    int read_at;             /* this readdir fails, 1 = the first */
    int error;
} failing;
static walk_case *vanishing; /* its entry is removed before it is looked at */

int __real_openat(int fd, const char *path, int flags, ...);
int __wrap_openat(int fd, const char *path, int flags, mode_t mode);
int __wrap_openat(int fd, const char *path, int flags, mode_t mode)
{
    if (failing.open != NULL && strcmp(path, failing.open) == 0) {
        errno = failing.error;
        return -1;
    }
    return __real_openat(fd, path, flags, mode);
}

int __real_fstatat(int fd, const char *path, struct stat *status, int flags);
int __wrap_fstatat(int fd, const char *path, struct stat *status, int flags);
int __wrap_fstatat(int fd, const char *path, struct stat *status, int flags)
{
    if (failing.stat != NULL && strcmp(path, failing.stat) == 0) {
        errno = failing.error;
        return -1;
    }
    if (vanishing != NULL)
        assert_int_equal(unlinkat(fd, path, 0), 0);
    return __real_fstatat(fd, path, status, flags);
}

struct dirent *__real_readdir(DIR *directory);
struct dirent *__wrap_readdir(DIR *directory);
struct dirent *__wrap_readdir(DIR *directory)
{
    if (failing.read_at > 0 && --failing.read_at == 0) {
        errno = failing.error;
        return NULL;
    }
    return __real_readdir(directory);
}

/* ---- the directory ---- */

static int set_up(void **state)
{
    walk_case *it = calloc(1, sizeof *it);
    assert_non_null(it);
    memset(&failing, 0, sizeof failing);
    vanishing = NULL;
    it->directory = tkj_test_dir_create();
    it->fd = open(it->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(it->fd >= 0);
    tkj_test_allocator_init(&it->memory, 0);
    *state = it;
    return 0;
}

static int tear_down(void **state)
{
    walk_case *it = *state;
    tkj_walk_release(&it->memory.allocator, &it->found);
    assert_int_equal(atomic_load(&it->memory.live), 0);
    assert_int_equal(close(it->fd), 0);
    tkj_test_dir_remove(it->directory);
    free(it);
    return 0;
}

/* Creates the directories that lead to a name. */
static const char *place(const walk_case *it, const char *name)
{
    char prefix[256];
    for (const char *slash = strchr(name, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        snprintf(prefix, sizeof prefix, "%.*s", (int)(slash - name), name);
        assert_true(mkdir(tkj_test_path(it->directory, prefix), 0700) == 0 || errno == EEXIST);
    }
    return tkj_test_path(it->directory, name);
}

static void write_file(const walk_case *it, const char *name, size_t size)
{
    static const char bytes[100];
    tkj_test_file_write(place(it, name), bytes, size);
}

static const tkj_walk *walk(walk_case *it)
{
    const size_t open_files = tkj_test_open_files();
    tkj_walk_release(&it->memory.allocator, &it->found);
    tkj_walk_all(&it->memory.allocator, it->fd, TKJ_TRUST_OWNER, &it->found);
    assert_int_equal(tkj_test_open_files(), open_files);
    return &it->found;
}

static const tkj_walk_other *find_other(const tkj_walk *found, const char *name)
{
    for (size_t i = 0; i < found->other_count; i++)
        if (strcmp(found->others[i].name, name) == 0)
            return &found->others[i];
    fail_msg("%s is not among the others", name);
    return NULL;
}

static void assert_other(const tkj_walk *found, const char *name, tkj_walk_kind kind, int error)
{
    const tkj_walk_other *other = find_other(found, name);
    assert_int_equal(other->kind, kind);
    assert_int_equal(other->error, error);
}

static void assert_counts(const tkj_walk *found, size_t entries, size_t others)
{
    assert_true(found->complete);
    assert_int_equal(found->entry_count, entries);
    assert_int_equal(found->other_count, others);
}

/* ---- entries ---- */

static void empty_directory_has_nothing(void **state)
{
    assert_counts(walk(*state), 0, 0);
}

static void entry_is_described_by_its_name_and_its_file(void **state)
{
    walk_case *it = *state;
    const char *name = "v1/0f/123456789abcdef0123456789abcde.cu12.tkc";
    const uint8_t key[] = {0x0f, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde,
                           0xf0, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde};
    write_file(it, name, 42);
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 77, .tv_nsec = 5}};
    assert_int_equal(utimensat(it->fd, name, times, 0), 0);
    const tkj_walk *found = walk(it);
    assert_counts(found, 1, 0);
    assert_string_equal(found->entries[0].name, name);
    assert_memory_equal(found->entries[0].key.digest, key, sizeof key);
    assert_int_equal(found->entries[0].major, 12);
    assert_int_equal(found->entries[0].size, 42);
    assert_int_equal(found->entries[0].modified.tv_sec, 77);
    assert_int_equal(found->entries[0].modified.tv_nsec, 5);
}

static void entries_come_in_the_order_of_their_names(void **state)
{
    static const char *const sorted[] = {ENTRY("00", "0"), ENTRY("00", "7"), ENTRY("00", "a"),
                                         ENTRY("7f", "1"), ENTRY("a0", "0"), ENTRY("ff", "0")};
    static const int order[] = {3, 5, 1, 0, 4, 2};
    walk_case *it = *state;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        write_file(it, sorted[order[i]], 1);
    const tkj_walk *found = walk(it);
    assert_counts(found, sizeof sorted / sizeof sorted[0], 0);
    for (size_t i = 0; i < found->entry_count; i++)
        assert_string_equal(found->entries[i].name, sorted[i]);
}

static void more_entries_than_fit_the_first_list_are_all_found(void **state)
{
    walk_case *it = *state;
    for (int i = 0; i < 600; i++) {
        char name[TKJ_ENTRY_FILE_SIZE];
        snprintf(name, sizeof name, "v1/%02x/%030d.cu13.tkc", (unsigned)i % 3, i);
        write_file(it, name, 1);
    }
    assert_counts(walk(it), 600, 0);
}

static void what_belongs_there_is_not_listed(void **state)
{
    walk_case *it = *state;
    write_file(it, "CACHEDIR.TAG", 1);
    write_file(it, "locks", 0);
    write_file(it, "images.tkp", 1);
    place(it, "tmp/");
    place(it, "v1/7f/");
    assert_counts(walk(it), 0, 0);
}

/* ---- the others ---- */

static const char *const foreign[] = {
    "a file \x1b[2J",
    KEY("a") ".cu13.tkc",
    "v2",
    "v1/FF",
    "v1/0g",
    "v1/000",
    "v1/" KEY("a") ".cu13.tkc",
    "v1/00/deep",
    "v1/00/.tkc",
    "v1/00/pack.tkp",
    "v1/00/a.cu13.tkc",
    ENTRY("00", "A"),
    ENTRY("00", "a") ".old",
    "v1/00/" KEY("a") ".tkc",
    "v1/00/" KEY("a") ".cu.tkc",
    "v1/00/" KEY("a") ".cu13",
    "v1/00/" KEY("a") ".c",
    "v1/00/" KEY("a") "-cu13.tkc",
    "v1/00/" KEY("a") ".cu0.tkc",
    "v1/00/" KEY("a") ".cu1234567.tkc",
    "v1/00/" KEY("g") ".cu13.tkc",
    "v1/00/" KEY("a") ".cu013.tkc",
    "v1/00/" KEY("a") ".cu99999999999999999999.tkc",
    "v1/00/" KEY("a") "a.cu13.tkc",
    "tmp/old-0123456789abcdef",
};
#define FOREIGN (sizeof foreign / sizeof foreign[0])

static void what_has_no_name_of_an_entry_is_foreign(void **state)
{
    walk_case *it = *state;
    for (size_t i = 0; i < FOREIGN; i++)
        write_file(it, foreign[i], 3);
    const tkj_walk *found = walk(it);
    assert_counts(found, 0, FOREIGN);
    for (size_t i = 0; i < FOREIGN; i++) {
        assert_other(found, foreign[i], TKJ_WALK_FOREIGN, 0);
        assert_int_equal(find_other(found, foreign[i])->size, 3);
    }
    for (size_t i = 1; i < FOREIGN; i++)
        assert_true(strcmp(found->others[i - 1].name, found->others[i].name) < 0);
}

static void foreign_directory_is_one_whatever_is_in_it(void **state)
{
    walk_case *it = *state;
    write_file(it, "v1/00/deep/deeper/" KEY("a") ".cu13.tkc", 1);
    write_file(it, "more/v1/00/" KEY("a") ".cu13.tkc", 1);
    const tkj_walk *found = walk(it);
    assert_counts(found, 0, 2);
    assert_other(found, "v1/00/deep", TKJ_WALK_FOREIGN, 0);
    assert_other(found, "more", TKJ_WALK_FOREIGN, 0);
}

static void longest_name_of_a_file_is_kept_whole(void **state)
{
    walk_case *it = *state;
    char name[6 + 255 + 1] = "v1/00/";
    memset(name + 6, 'x', 255);
    name[sizeof name - 1] = '\0';
    write_file(it, name, 1);
    assert_other(walk(it), name, TKJ_WALK_FOREIGN, 0);
}

static void file_that_is_being_written_is_told_with_its_time(void **state)
{
    walk_case *it = *state;
    const char *name = "tmp/new-0123456789abcdef";
    write_file(it, name, 7);
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 77}};
    assert_int_equal(utimensat(it->fd, name, times, 0), 0);
    const tkj_walk *found = walk(it);
    assert_other(found, name, TKJ_WALK_TEMPORARY, 0);
    assert_int_equal(found->others[0].size, 7);
    assert_int_equal(found->others[0].modified.tv_sec, 77);
}

static void what_has_an_entrys_name_and_is_no_file_is_told(void **state)
{
    walk_case *it = *state;
    write_file(it, "v1/01/x", 1);
    assert_int_equal(mkdir(place(it, ENTRY("00", "1")), 0700), 0);
    assert_int_equal(mkfifo(place(it, ENTRY("00", "2")), 0600), 0);
    assert_int_equal(symlink("../01/x", place(it, ENTRY("00", "3"))), 0);
    const tkj_walk *found = walk(it);
    assert_counts(found, 0, 4);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(found->others[i].kind, TKJ_WALK_NO_FILE);
}

static void links_in_place_of_directories_are_not_followed(void **state)
{
    walk_case *it = *state;
    write_file(it, "elsewhere/" KEY("a") ".cu13.tkc", 1);
    place(it, "v1/");
    assert_int_equal(symlink("../elsewhere", place(it, "v1/07")), 0);
    assert_int_equal(symlink("elsewhere", place(it, "tmp")), 0);
    const tkj_walk *found = walk(it);
    assert_counts(found, 0, 3);
    assert_other(found, "elsewhere", TKJ_WALK_FOREIGN, 0);
    assert_int_equal(find_other(found, "v1/07")->kind, TKJ_WALK_UNREADABLE);
    assert_int_equal(find_other(found, "tmp")->kind, TKJ_WALK_UNREADABLE);
}

static void directory_that_is_not_to_be_trusted_is_told_and_not_looked_into(void **state)
{
    static const struct {
        const char *name;
        size_t entries; /* that are found all the same */
    } directories[] = {{"v1/00", 1}, {"v1", 0}, {"tmp", 2}};
    walk_case *it = *state;
    write_file(it, ENTRY("00", "a"), 1);
    write_file(it, ENTRY("01", "a"), 1);
    write_file(it, "tmp/new-0", 1);
    for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++) {
        assert_int_equal(chmod(place(it, directories[i].name), 0702), 0);
        const tkj_walk *found = walk(it);
        assert_int_equal(found->entry_count, directories[i].entries);
        assert_other(found, directories[i].name, TKJ_WALK_UNREADABLE, EPERM);
        assert_int_equal(chmod(place(it, directories[i].name), 0700), 0);
    }
}

static void entries_alone_come_with_what_is_unreadable(void **state)
{
    walk_case *it = *state;
    write_file(it, ENTRY("00", "a"), 1);
    write_file(it, "v1/00/foreign", 1);
    assert_int_equal(mkfifo(place(it, ENTRY("00", "2")), 0600), 0);
    failing.open = "10";
    failing.error = EACCES;
    tkj_walk_entries(&it->memory.allocator, it->fd, TKJ_TRUST_OWNER, &it->found);
    assert_counts(&it->found, 1, 1);
    assert_other(&it->found, "v1/10", TKJ_WALK_UNREADABLE, EACCES);
}

/* ---- what happens meanwhile, and what fails ---- */

static void entry_that_vanishes_is_not_there(void **state)
{
    walk_case *it = *state;
    write_file(it, ENTRY("00", "a"), 1);
    vanishing = it;
    assert_counts(walk(it), 0, 0);
}

static void directory_that_cannot_be_opened_is_told(void **state)
{
    static const struct {
        const char *open; /* in the directory that it is in */
        const char *name;
        size_t entries; /* that are found all the same */
    } directories[] = {{"07", "v1/07", 1}, {"v1", "v1", 0}, {"tmp", "tmp", 1}, {".", ".", 1}};
    walk_case *it = *state;
    write_file(it, ENTRY("00", "a"), 1);
    failing.error = EACCES;
    for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++) {
        failing.open = directories[i].open;
        const tkj_walk *found = walk(it);
        assert_counts(found, directories[i].entries, 1);
        assert_other(found, directories[i].name, TKJ_WALK_UNREADABLE, EACCES);
    }
}

static void links_in_place_of_directories_lead_nowhere(void **state)
{
    static const char *const names[] = {"v1/00", "v1"};
    walk_case *it = *state;
    write_file(it, ENTRY("00", "a"), 1);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char aside[4096];
        snprintf(aside, sizeof aside, "%s", place(it, "aside"));
        assert_int_equal(rename(place(it, names[i]), aside), 0);
        assert_int_equal(symlink(aside, place(it, names[i])), 0);
        const tkj_walk *found = walk(it);
        assert_int_equal(found->entry_count, 0);
        assert_other(found, names[i], TKJ_WALK_UNREADABLE, ENOTDIR);
        assert_int_equal(unlink(place(it, names[i])), 0);
        assert_int_equal(rename(aside, place(it, names[i])), 0);
    }
}

static void file_that_cannot_be_looked_at_is_told(void **state)
{
    walk_case *it = *state;
    write_file(it, ENTRY("00", "a"), 1);
    write_file(it, "tmp/new-0", 1);
    write_file(it, ENTRY("00", "b"), 1);
    failing.error = EIO;
    failing.stat = KEY("a") ".cu13.tkc";
    assert_counts(walk(it), 1, 2);
    assert_other(walk(it), ENTRY("00", "a"), TKJ_WALK_UNREADABLE, EIO);
    failing.stat = "new-0";
    assert_counts(walk(it), 2, 1);
    assert_other(walk(it), "tmp/new-0", TKJ_WALK_UNREADABLE, EIO);
}

static void directory_that_cannot_be_read_to_its_end_is_told(void **state)
{
    walk_case *it = *state;
    write_file(it, ENTRY("00", "a"), 1);
    write_file(it, ENTRY("01", "a"), 1);
    failing.read_at = 1;
    failing.error = EIO;
    tkj_walk_all(&it->memory.allocator, it->fd, TKJ_TRUST_OWNER, &it->found);
    assert_counts(&it->found, 1, 1);
    assert_string_equal(it->found.entries[0].name, ENTRY("01", "a"));
    assert_other(&it->found, "v1/00", TKJ_WALK_UNREADABLE, EIO);
}

static void each_allocation_that_fails_makes_it_incomplete(void **state)
{
    walk_case *it = *state;
    write_file(it, ENTRY("00", "a"), 1);
    write_file(it, "tmp/new-0", 1);
    write_file(it, "foreign", 1);
    int failed = 0;
    for (;; failed++) {
        tkj_walk_release(&it->memory.allocator, &it->found);
        assert_int_equal(atomic_load(&it->memory.live), 0);
        tkj_test_allocator_init(&it->memory, failed + 1);
        const tkj_walk *found = walk(it);
        if (!tkj_test_allocator_failed(&it->memory))
            break;
        assert_false(found->complete);
        assert_true(found->entry_count + found->other_count < 3);
    }
    assert_true(failed >= 4);
    assert_counts(&it->found, 1, 2);
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(empty_directory_has_nothing),
        IN_DIRECTORY(entry_is_described_by_its_name_and_its_file),
        IN_DIRECTORY(entries_come_in_the_order_of_their_names),
        IN_DIRECTORY(more_entries_than_fit_the_first_list_are_all_found),
        IN_DIRECTORY(what_belongs_there_is_not_listed),
        IN_DIRECTORY(what_has_no_name_of_an_entry_is_foreign),
        IN_DIRECTORY(foreign_directory_is_one_whatever_is_in_it),
        IN_DIRECTORY(longest_name_of_a_file_is_kept_whole),
        IN_DIRECTORY(file_that_is_being_written_is_told_with_its_time),
        IN_DIRECTORY(what_has_an_entrys_name_and_is_no_file_is_told),
        IN_DIRECTORY(links_in_place_of_directories_are_not_followed),
        IN_DIRECTORY(directory_that_is_not_to_be_trusted_is_told_and_not_looked_into),
        IN_DIRECTORY(entries_alone_come_with_what_is_unreadable),
        IN_DIRECTORY(entry_that_vanishes_is_not_there),
        IN_DIRECTORY(directory_that_cannot_be_opened_is_told),
        IN_DIRECTORY(links_in_place_of_directories_lead_nowhere),
        IN_DIRECTORY(file_that_cannot_be_looked_at_is_told),
        IN_DIRECTORY(directory_that_cannot_be_read_to_its_end_is_told),
        IN_DIRECTORY(each_allocation_that_fails_makes_it_incomplete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
