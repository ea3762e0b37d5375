/* SPDX-License-Identifier: Apache-2.0 */
#include "verify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "evict.h"
#include "memory.h"
#include "publish.h"

/* ---- findings ---- */

static bool grow(warm_verification *to)
{
    if (to->finding_count < to->finding_capacity)
        return true;
    const size_t capacity = to->finding_capacity > 0 ? 2 * to->finding_capacity : 32;
    warm_verify_finding *larger = reallocarray(to->findings, capacity, sizeof *larger);
    if (larger == NULL)
        return false;
    to->findings = larger;
    to->finding_capacity = capacity;
    return true;
}

static void note(warm_verification *to, warm_verify_kind kind, const char *path, const char *why,
                 bool repaired)
{
    warm_verify_finding finding = {kind, strdup(path), strdup(why), repaired};
    if (finding.path != NULL && finding.why != NULL && grow(to)) {
        to->findings[to->finding_count++] = finding;
        return;
    }
    to->complete = false;
    free(finding.path);
    free(finding.why);
}

size_t warm_verify_count(const warm_verification *verification, warm_verify_kind kind, bool open)
{
    size_t count = 0;
    for (size_t i = 0; i < verification->finding_count; i++)
        count +=
            verification->findings[i].kind == kind && !(open && verification->findings[i].repaired);
    return count;
}

bool warm_verify_is_sound(const warm_verification *verification)
{
    return verification->complete &&
           warm_verify_count(verification, WARM_FINDING_CORRUPT, true) == 0 &&
           warm_verify_count(verification, WARM_FINDING_UNREADABLE, true) == 0 &&
           warm_verify_count(verification, WARM_FINDING_UNUSABLE, true) == 0;
}

void warm_verify_release(warm_verification *verification)
{
    for (size_t i = 0; i < verification->finding_count; i++) {
        free(verification->findings[i].path);
        free(verification->findings[i].why);
    }
    free(verification->findings);
}

/* ---- one place ---- */

/* A place that is checked. */
typedef struct place_check {
    const warm_inventory *inventory;
    const warm_place *place;
    warm_verification *to;
    int repair_fd; /* the user's directory, if it is to be repaired; else -1 */
} place_check;

static bool remove_file(const place_check *check, const char *name, uint64_t size,
                        struct timespec modified)
{
    return check->repair_fd >= 0 &&
           tkj_evict_file(check->repair_fd, name, size, modified) != TKJ_REMOVAL_STAYS;
}

static void check_item(const place_check *check, const warm_item *item)
{
    tkj_blob bytes;
    tkj_entry entry;
    const char *why;
    char path[PATH_MAX];
    const tkj_cache_outcome outcome = warm_item_read(check->inventory, item, &bytes, &entry, &why);
    warm_item_release(check->inventory, &bytes);
    check->to->entries += outcome != TKJ_CACHE_ABSENT;
    if (outcome == TKJ_CACHE_HIT || outcome == TKJ_CACHE_ABSENT)
        return;
    const bool corrupt = outcome == TKJ_CACHE_CORRUPT;
    warm_item_path(check->inventory, item, path);
    note(check->to, corrupt ? WARM_FINDING_CORRUPT : WARM_FINDING_UNREADABLE, path, why,
         corrupt && item->file != NULL &&
             remove_file(check, item->file->name, item->size, item->modified));
}

/* Whatever it is by now; a directory stays. */
static bool remove_no_file(const place_check *check, const char *name)
{
    struct stat now;
    return check->repair_fd >= 0 &&
           fstatat(check->repair_fd, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
           !S_ISREG(now.st_mode) && unlinkat(check->repair_fd, name, 0) == 0;
}

static void check_other(const place_check *check, const tkj_walk_other *other)
{
    char path[PATH_MAX + 1];
    const bool stale = other->kind == TKJ_WALK_TEMPORARY &&
                       tkj_os_is_far(other->modified.tv_sec, time(NULL), TKJ_PUBLISH_STALE_SECONDS);
    snprintf(path, sizeof path, "%s/%s", check->place->path, other->name);
    switch (other->kind) {
    case TKJ_WALK_TEMPORARY:
        if (stale)
            note(check->to, WARM_FINDING_STALE, path, "a process died while it wrote it",
                 remove_file(check, other->name, other->size, other->modified));
        break;
    case TKJ_WALK_NO_FILE:
        note(check->to, WARM_FINDING_CORRUPT, path, "it is not a regular file",
             remove_no_file(check, other->name));
        break;
    case TKJ_WALK_FOREIGN:
        note(check->to, WARM_FINDING_FOREIGN, path, "it is nothing of the cache's", false);
        break;
    case TKJ_WALK_UNREADABLE:
        note(check->to, WARM_FINDING_UNREADABLE, path, strerror(other->error), false);
        break;
    }
}

static void check_directory(place_check *check)
{
    const warm_place *place = check->place;
    const char *why;
    if (check->to->repair && place->kind == TKJ_LAYER_USER)
        check->repair_fd =
            tkj_os_open_trusted_dir(place->path, check->inventory->reader.trust, &why);
    for (size_t i = 0; i < place->count; i++)
        check_item(check, &check->inventory->items[place->first + i]);
    for (size_t i = 0; i < place->walk.other_count; i++)
        check_other(check, &place->walk.others[i]);
    if (check->repair_fd >= 0)
        close(check->repair_fd);
}

/* ---- packs ---- */

/* The head comes first: memory and time are spent only on a file whose size its entries account
   for. @return NULL if sound; *kind is set otherwise */
static const char *flaw_of_pack(const tkj_layer_reader *reader, const tkj_file *file,
                                warm_verify_kind *kind)
{
    tkj_pack_head head;
    tkj_blob bytes = {NULL, 0};
    *kind = WARM_FINDING_CORRUPT;
    const bool read = tkj_pack_head_read(&reader->allocator, file, &head);
    const char *flaw = head.flaw;
    tkj_pack_head_release(&reader->allocator, &head);
    if (!read)
        *kind = WARM_FINDING_UNREADABLE;
    if (!read || flaw != NULL)
        return flaw != NULL ? flaw : "it cannot be read";
    if (tkj_os_read(&reader->allocator, file, 0, file->size, &bytes) != 0) {
        *kind = WARM_FINDING_UNREADABLE;
        return errno == ENOMEM ? "there is no memory for it" : "it cannot be read";
    }
    flaw = tkj_pack_verify(bytes.bytes, bytes.size);
    tkj_free(&reader->allocator, bytes.bytes);
    return flaw;
}

static void check_pack(const warm_inventory *inventory, const char *path, warm_verification *to)
{
    tkj_file file;
    const char *flaw;
    warm_verify_kind kind = WARM_FINDING_UNUSABLE;
    to->packs++;
    if (tkj_pack_file_open(path, inventory->reader.trust, &file, &flaw) == 0) {
        flaw = flaw_of_pack(&inventory->reader, &file, &kind);
        close(file.fd);
    }
    if (flaw != NULL)
        note(to, kind, path, flaw, false);
}

static void check_place(const warm_inventory *inventory, const warm_place *place,
                        warm_verification *to)
{
    place_check check = {inventory, place, to, -1};
    if (place->kind == TKJ_LAYER_PACK) {
        check_pack(inventory, place->path, to);
        for (size_t i = 0; i < place->count; i++)
            check_item(&check, &inventory->items[place->first + i]);
    } else if (place->flaw == NULL) {
        check_directory(&check);
    } else if (!place->absent ||
               place->kind != TKJ_LAYER_USER) { /* it comes with its first entry */
        note(to, WARM_FINDING_UNUSABLE, place->path, place->flaw, false);
    }
}

void warm_verify_places(const warm_inventory *inventory, warm_verification *verification)
{
    for (size_t i = 0; i < inventory->place_count; i++)
        check_place(inventory, &inventory->places[i], verification);
}

/* ---- files anywhere ---- */

/* Whether a path ends as the file of an entry that has another key: in "<2 hex>/<30 hex>.cu...". */
static bool is_of_another_key(const char *path, const tkj_entry *entry)
{
    static const char hex[] = "0123456789abcdef";
    char key[2 * TKJ_DIGEST_SIZE + 1], expected[2 * TKJ_DIGEST_SIZE + 6];
    uint8_t digest[TKJ_DIGEST_SIZE];
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash - 2 : NULL;
    if (name < path || strspn(name, hex) != 2 || strspn(slash + 1, hex) != 30 ||
        strncmp(slash + 31, ".cu", 3) != 0)
        return false;
    tkj_digest(entry->preimage, strlen(entry->preimage), digest);
    tkj_digest_format(digest, key);
    snprintf(expected, sizeof expected, "%.2s/%s.cu", key, key + 2);
    return strncmp(name, expected, strlen(expected)) != 0;
}

static void check_entry(const warm_inventory *inventory, const char *path, const tkj_file *file,
                        warm_verification *to)
{
    tkj_blob bytes;
    tkj_entry entry;
    const char *flaw;
    to->entries++;
    if (file->size > TKJ_ENTRY_SIZE_MAX) {
        (void)tkj_entry_explain(EFBIG, &flaw);
        note(to, WARM_FINDING_CORRUPT, path, flaw, false);
        return;
    }
    if (tkj_os_read(&inventory->reader.allocator, file, 0, file->size, &bytes) != 0) {
        (void)tkj_entry_explain(errno, &flaw);
        note(to, WARM_FINDING_UNREADABLE, path, flaw, false);
        return;
    }
    flaw = tkj_entry_decode(bytes.bytes, bytes.size, &entry);
    if (flaw == NULL && is_of_another_key(path, &entry))
        flaw = "it is of another kernel than its name says";
    if (flaw != NULL)
        note(to, WARM_FINDING_CORRUPT, path, flaw, false);
    tkj_free(&inventory->reader.allocator, bytes.bytes);
}

void warm_verify_file(const warm_inventory *inventory, const char *path,
                      warm_verification *verification)
{
    tkj_file file;
    tkj_blob first;
    const char *why;
    if (tkj_os_open_file(AT_FDCWD, path, inventory->reader.trust, SIZE_MAX, &file) != 0) {
        const int error = errno;
        const bool corrupt = tkj_entry_explain(error, &why) == TKJ_CACHE_CORRUPT;
        note(verification, corrupt ? WARM_FINDING_CORRUPT : WARM_FINDING_UNREADABLE, path,
             error == ENOENT ? "it does not exist" : why, false);
        return;
    }
    if (tkj_os_read(&inventory->reader.allocator, &file, 0, TKJ_PACK_HEADER_SIZE, &first) != 0) {
        (void)tkj_entry_explain(errno, &why);
        note(verification, WARM_FINDING_UNREADABLE, path, why, false);
    } else if (tkj_pack_has_magic(first.bytes, first.size)) {
        check_pack(inventory, path, verification);
    } else {
        check_entry(inventory, path, &file, verification);
    }
    tkj_free(&inventory->reader.allocator, first.bytes);
    close(file.fd);
}
