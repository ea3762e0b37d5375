/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lock.h"
#include "memory.h"
#include "pack_file.h"
#include "publish.h"

#define DIRECTORIES 256
#define DIRECTORY_NAME_SIZE 16
#define KEY_HEX ((size_t)2 * TKJ_DIGEST_SIZE)
#define MAJOR_DIGITS 6

/* A walk under way. */
typedef struct walker {
    const topk_jit_allocator *allocator;
    int root_fd;
    tkj_trust trust;
    bool wants_others; /* beside those that are unreadable */
    tkj_walk *found;
} walker;

/* ---- what is found ---- */

/* Room for one more element. @return false, and the walk is incomplete, without memory for it */
static bool grow(walker *walk, void **at, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return true;
    const size_t more = *capacity > 0 ? 2 * *capacity : 256;
    void *larger = tkj_alloc(walk->allocator, more, size);
    if (larger == NULL)
        return walk->found->complete = false;
    if (count > 0)
        memcpy(larger, *at, count * size);
    tkj_free(walk->allocator, *at);
    *at = larger;
    *capacity = more;
    return true;
}

static void add_entry(walker *walk, const tkj_walk_entry *entry)
{
    tkj_walk *found = walk->found;
    void *at = found->entries;
    if (!grow(walk, &at, found->entry_count, &found->entry_capacity, sizeof *entry))
        return;
    found->entries = at;
    found->entries[found->entry_count++] = *entry;
}

/* @param directory  NULL = the root itself */
static char *join(const topk_jit_allocator *allocator, const char *directory, const char *name)
{
    return directory != NULL ? tkj_format(allocator, "%s/%s", directory, name)
                             : tkj_strdup(allocator, name);
}

/* @param other  its name is not set yet */
static void add_other(walker *walk, const char *directory, const char *name, tkj_walk_other *other)
{
    tkj_walk *found = walk->found;
    if (!walk->wants_others && other->kind != TKJ_WALK_UNREADABLE)
        return;
    other->name = join(walk->allocator, directory, name);
    found->complete = found->complete && other->name != NULL;
    void *at = found->others;
    if (other->name == NULL ||
        !grow(walk, &at, found->other_count, &found->other_capacity, sizeof *other)) {
        tkj_free(walk->allocator, other->name);
        return;
    }
    found->others = at;
    found->others[found->other_count++] = *other;
}

/* What cannot be read: not worth a word if it is only gone. */
static void add_unreadable(walker *walk, const char *directory, const char *name, int error)
{
    tkj_walk_other other = {.kind = TKJ_WALK_UNREADABLE, .error = error};
    if (error != ENOENT)
        add_other(walk, directory, name, &other);
}

/* ---- names ---- */

static int hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* @return false if the text does not begin with so many lower-case digits, two for a byte */
static bool read_hex(const char *text, uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const int high = hex_digit(text[2 * i]);
        const int low = high >= 0 ? hex_digit(text[2 * i + 1]) : -1;
        if (low < 0)
            return false;
        bytes[i] = (uint8_t)(16 * high + low);
    }
    return true;
}

/* "cu13.tkc": the number as it is always written. @return false if it is another text */
static bool read_major(const char *text, int *major)
{
    if (strncmp(text, "cu", 2) != 0 || text[2] == '0')
        return false;
    const size_t digits = strspn(text + 2, "0123456789");
    if (digits == 0 || digits > MAJOR_DIGITS || strcmp(text + 2 + digits, ".tkc") != 0)
        return false;
    *major = (int)strtol(text + 2, NULL, 10);
    return true;
}

/* The name of a file in v1/<2 hex>, if it is the one that tkj_entry_file gives an entry. */
static bool read_name(const char *directory, const char *name, tkj_walk_entry *entry)
{
    const char *below = directory + strlen(TKJ_LAYOUT_DIR "/");
    const size_t above = strlen(directory), length = strlen(name);
    if (length < KEY_HEX || above + 1 + length >= sizeof entry->name ||
        !read_hex(below, entry->key.digest, 1) ||
        !read_hex(name, entry->key.digest + 1, TKJ_DIGEST_SIZE - 1) || name[KEY_HEX - 2] != '.' ||
        !read_major(name + KEY_HEX - 1, &entry->major))
        return false;
    memcpy(entry->name, directory, above);
    entry->name[above] = '/';
    memcpy(entry->name + above + 1, name, length + 1);
    return true;
}

static bool begins_with(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* ---- directories ---- */

/* What is looked at: a file's status, or none and why. */
typedef struct looked {
    struct stat status;
    int error; /* 0 = there is a status */
} looked;

static looked look_at(int dir_fd, const char *name)
{
    looked file = {.error = 0};
    if (fstatat(dir_fd, name, &file.status, AT_SYMLINK_NOFOLLOW) != 0)
        file.error = errno;
    return file;
}

static void add_looked(walker *walk, const char *directory, const char *name, const looked *file,
                       tkj_walk_kind kind)
{
    tkj_walk_other other = {
        .kind = kind,
        .size = S_ISREG(file->status.st_mode) ? (uint64_t)file->status.st_size : 0,
        .modified = file->status.st_mtim,
    };
    if (file->error != 0)
        add_unreadable(walk, directory, name, file->error);
    else
        add_other(walk, directory, name, &other);
}

/* A name in v1/<2 hex>. */
static void take_entry(walker *walk, int dir_fd, const char *directory, const char *name)
{
    tkj_walk_entry entry = {.major = 0};
    const bool named = read_name(directory, name, &entry);
    if (!named && !walk->wants_others)
        return;
    const looked file = look_at(dir_fd, name);
    if (!named || file.error != 0 || !S_ISREG(file.status.st_mode)) {
        add_looked(walk, directory, name, &file, named ? TKJ_WALK_NO_FILE : TKJ_WALK_FOREIGN);
        return;
    }
    entry.size = (uint64_t)file.status.st_size;
    entry.modified = file.status.st_mtim;
    add_entry(walk, &entry);
}

/* A name in tmp. */
static void take_temporary(walker *walk, int dir_fd, const char *directory, const char *name)
{
    const looked file = look_at(dir_fd, name);
    const bool own = begins_with(name, TKJ_PUBLISH_PREFIX) && S_ISREG(file.status.st_mode);
    add_looked(walk, directory, name, &file, own ? TKJ_WALK_TEMPORARY : TKJ_WALK_FOREIGN);
}

/* A name in v1: the directories of entries are walked by their numbers. */
static void take_directory(walker *walk, int dir_fd, const char *directory, const char *name)
{
    if (strlen(name) == 2 && hex_digit(name[0]) >= 0 && hex_digit(name[1]) >= 0)
        return;
    const looked file = look_at(dir_fd, name);
    add_looked(walk, directory, name, &file, TKJ_WALK_FOREIGN);
}

/* A name in the root. */
static void take_top(walker *walk, int dir_fd, const char *directory, const char *name)
{
    static const char *const known[] = {TKJ_LAYOUT_DIR, TKJ_PUBLISH_DIR, TKJ_PUBLISH_TAG,
                                        TKJ_LOCK_FILE};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i]) == 0)
            return;
    if (tkj_pack_is_name(name))
        return;
    const looked file = look_at(dir_fd, name);
    add_looked(walk, directory, name, &file, TKJ_WALK_FOREIGN);
}

typedef void take_name(walker *walk, int dir_fd, const char *directory, const char *name);

static DIR *list_directory(const walker *walk, int dir_fd, const char *leaf)
{
    const int fd = tkj_os_enter_dir(dir_fd, leaf, walk->trust);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    if (directory == NULL && fd >= 0)
        tkj_os_close(fd);
    return directory;
}

/* @param leaf  the directory, in dir_fd
   @param name  the same, below the root; NULL = the root itself */
static void walk_directory(walker *walk, int dir_fd, const char *leaf, const char *name,
                           take_name *take)
{
    DIR *directory = list_directory(walk, dir_fd, leaf);
    if (directory == NULL) {
        add_unreadable(walk, NULL, name != NULL ? name : ".", errno);
        return;
    }
    errno = 0;
    for (struct dirent *at = readdir(directory); at != NULL && walk->found->complete;
         at = readdir(directory)) {
        if (strcmp(at->d_name, ".") != 0 && strcmp(at->d_name, "..") != 0)
            take(walk, dirfd(directory), name, at->d_name);
        errno = 0; /* readdir tells its end from a failure by nothing else */
    }
    if (errno != 0 && walk->found->complete)
        add_unreadable(walk, NULL, name != NULL ? name : ".", errno);
    closedir(directory);
}

/* ---- the walk ---- */

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const tkj_walk_entry *)a)->name, ((const tkj_walk_entry *)b)->name);
}

static int compare_others(const void *a, const void *b)
{
    return strcmp(((const tkj_walk_other *)a)->name, ((const tkj_walk_other *)b)->name);
}

static void walk_shard(walker *walk, int layout_fd, unsigned number)
{
    char name[DIRECTORY_NAME_SIZE];
    snprintf(name, sizeof name, TKJ_LAYOUT_DIR "/%02x", number);
    const size_t first = walk->found->entry_count;
    walk_directory(walk, layout_fd, name + sizeof TKJ_LAYOUT_DIR, name, take_entry);
    const size_t count = walk->found->entry_count - first;
    if (count > 1)
        qsort(walk->found->entries + first, count, sizeof(tkj_walk_entry), compare_entries);
}

/* @return false if the directory of all of them cannot be opened */
static bool walk_entries(walker *walk)
{
    const int layout_fd = tkj_os_enter_dir(walk->root_fd, TKJ_LAYOUT_DIR, walk->trust);
    if (layout_fd < 0) {
        add_unreadable(walk, NULL, TKJ_LAYOUT_DIR, errno);
        return false;
    }
    for (unsigned i = 0; walk->found->complete && i < DIRECTORIES; i++)
        walk_shard(walk, layout_fd, i);
    tkj_os_close(layout_fd);
    return true;
}

static walker begin(const topk_jit_allocator *allocator, int root_fd, tkj_trust trust,
                    tkj_walk *out)
{
    *out = (tkj_walk){.complete = true};
    return (walker){.allocator = allocator, .root_fd = root_fd, .trust = trust, .found = out};
}

static void sort_others(tkj_walk *found)
{
    if (found->other_count > 1)
        qsort(found->others, found->other_count, sizeof found->others[0], compare_others);
}

void tkj_walk_entries(const topk_jit_allocator *allocator, int root_fd, tkj_trust trust,
                      tkj_walk *out)
{
    walker walk = begin(allocator, root_fd, trust, out);
    walk_entries(&walk);
    sort_others(out);
}

void tkj_walk_all(const topk_jit_allocator *allocator, int root_fd, tkj_trust trust, tkj_walk *out)
{
    walker walk = begin(allocator, root_fd, trust, out);
    walk.wants_others = true;
    if (walk_entries(&walk))
        walk_directory(&walk, root_fd, TKJ_LAYOUT_DIR, TKJ_LAYOUT_DIR, take_directory);
    walk_directory(&walk, root_fd, ".", NULL, take_top);
    walk_directory(&walk, root_fd, TKJ_PUBLISH_DIR, TKJ_PUBLISH_DIR, take_temporary);
    sort_others(out);
}

void tkj_walk_release(const topk_jit_allocator *allocator, tkj_walk *walk)
{
    for (size_t i = 0; i < walk->other_count; i++)
        tkj_free(allocator, walk->others[i].name);
    tkj_free(allocator, walk->entries);
    tkj_free(allocator, walk->others);
    *walk = (tkj_walk){.complete = false};
}
