/* SPDX-License-Identifier: Apache-2.0 */
#include "layer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"

/* Often enough for the order of use, seldom enough that a hit does not cost a write. */
#define TOUCH_SECONDS 3600

void tkj_entry_file(const tkj_cache_key *key, int major, char name[TKJ_ENTRY_FILE_SIZE])
{
    char hex[2 * TKJ_DIGEST_SIZE + 1];
    tkj_digest_format(key->digest, hex);
    snprintf(name, TKJ_ENTRY_FILE_SIZE, TKJ_LAYOUT_DIR "/%.2s/%s.cu%d.tkc", hex, hex + 2, major);
}

const char *tkj_entry_verify(const tkj_blob *bytes, const tkj_cache_query *query, tkj_entry *entry)
{
    const char *flaw = tkj_entry_decode(bytes->bytes, bytes->size, entry);
    if (flaw != NULL)
        return flaw;
    if (strcmp(entry->preimage, query->preimage) != 0)
        return "it is of another kernel";
    if (strcmp(entry->target, query->target) != 0)
        return "it is for another target";
    if (query->kind != 0 && entry->kind != query->kind)
        return "it has another kind of payload";
    return NULL;
}

tkj_cache_outcome tkj_entry_explain(int error, const char **why)
{
    static const struct {
        int error;
        tkj_cache_outcome outcome;
        const char *why;
    } known[] = {
        {ENOENT, TKJ_CACHE_ABSENT, "no entry"},
        {EFBIG, TKJ_CACHE_CORRUPT, "it is larger than any entry"},
        {ELOOP, TKJ_CACHE_CORRUPT, "it is a symbolic link"},
        {ENOTDIR, TKJ_CACHE_UNREADABLE, "what should be its directory is none"},
        {EINVAL, TKJ_CACHE_CORRUPT, "it is not a regular file"},
        {EPERM, TKJ_CACHE_CORRUPT, "it belongs to another user or others can write it"},
        {EACCES, TKJ_CACHE_UNREADABLE, "reading it is not permitted"},
        {EIO, TKJ_CACHE_UNREADABLE, "reading it failed"},
        {ESTALE, TKJ_CACHE_UNREADABLE, "the file system lost it while it was read"},
        {EMFILE, TKJ_CACHE_UNREADABLE, "this process has too many files open"},
        {ENFILE, TKJ_CACHE_UNREADABLE, "this machine has too many files open"},
        {ENOMEM, TKJ_CACHE_UNREADABLE, "there is no memory for it"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].error == error) {
            *why = known[i].why;
            return known[i].outcome;
        }
    *why = "it cannot be read";
    return TKJ_CACHE_UNREADABLE;
}

/* A clock that was set back leaves times in the future: they are no use later than now. Both times
   are set, for one alone is the owner's to set, and an entry may be another member's of a group. */
static void touch(const tkj_file *file)
{
    if (tkj_os_is_far(file->modified, time(NULL), TOUCH_SECONDS))
        (void)futimens(file->fd, NULL); /* a file of root's cannot be touched, and need not be */
}

const char *tkj_entry_unwanted(const tkj_blob *bytes, const tkj_entry *entry,
                               const tkj_cache_query *query)
{
    if (query->toolchain != NULL && strcmp(entry->toolchain, query->toolchain) != 0)
        return "another toolchain compiled it";
    if (query->refused != NULL &&
        memcmp(bytes->bytes + bytes->size - TKJ_DIGEST_SIZE, query->refused, TKJ_DIGEST_SIZE) == 0)
        return "what is there does not load";
    return NULL;
}

/* The bytes of an open file from `offset` on, verified. */
static tkj_cache_outcome read_entry(const tkj_layer_reader *reader, const tkj_file *file,
                                    uint64_t offset, size_t size, const tkj_cache_query *query,
                                    tkj_blob *bytes, tkj_entry *entry, const char **why)
{
    if (tkj_os_read(&reader->allocator, file, offset, size, bytes) != 0)
        return tkj_entry_explain(errno, why);
    *why = tkj_entry_verify(bytes, query, entry);
    tkj_cache_outcome outcome = *why == NULL ? TKJ_CACHE_HIT : TKJ_CACHE_CORRUPT;
    if (outcome == TKJ_CACHE_HIT) {
        *why = tkj_entry_unwanted(bytes, entry, query);
        outcome = *why == NULL ? TKJ_CACHE_HIT : TKJ_CACHE_ABSENT;
    }
    if (outcome != TKJ_CACHE_HIT) {
        tkj_free(&reader->allocator, bytes->bytes);
        *bytes = (tkj_blob){NULL, 0};
        memset(entry, 0, sizeof *entry);
    }
    return outcome;
}

/* Opened anew for every operation, everything below it through the descriptor: no file that a
   host could close behind our back, no stale handle when the directory was removed or replaced. */
static tkj_cache_outcome get_from_directory(const tkj_layer *layer, const tkj_layer_reader *reader,
                                            const tkj_cache_query *query, tkj_blob *bytes,
                                            tkj_entry *entry, tkj_layer_note *note)
{
    char name[TKJ_ENTRY_FILE_SIZE];
    tkj_file file;
    int dir_fd = tkj_os_open_trusted_dir(layer->path, reader->trust, &note->why);
    if (dir_fd < 0) /* that the user's cannot be opened is for the next put to say */
        return layer->kind == TKJ_LAYER_READ_ONLY || errno == EPERM ? TKJ_CACHE_UNUSABLE
                                                                    : TKJ_CACHE_ABSENT;
    tkj_entry_file(&query->key, query->major, name);
    int result = tkj_os_open_file(dir_fd, name, reader->trust, TKJ_ENTRY_SIZE_MAX, &file);
    tkj_os_close(dir_fd);
    if (result != 0 && file.fd < 0 && errno == EPERM) { /* not the entry's own */
        note->why = "has a directory that belongs to another user or that others can write";
        return TKJ_CACHE_UNUSABLE;
    }
    if (result != 0)
        return tkj_entry_explain(errno, &note->why);
    note->modified = file.modified;
    tkj_cache_outcome outcome =
        read_entry(reader, &file, 0, file.size, query, bytes, entry, &note->why);
    if (outcome == TKJ_CACHE_HIT && layer->kind == TKJ_LAYER_USER && reader->touches)
        touch(&file);
    close(file.fd);
    return outcome;
}

/* The entry, by the index of an open pack. */
static tkj_cache_outcome get_by_index(const tkj_pack_head *head, const tkj_file *file,
                                      const tkj_layer_reader *reader, const tkj_cache_query *query,
                                      tkj_blob *bytes, tkj_entry *entry, tkj_layer_note *note)
{
    tkj_pack_record record;
    note->why = head->flaw;
    if (head->flaw != NULL)
        return TKJ_CACHE_UNUSABLE;
    note->why = "no entry";
    if (!tkj_pack_find(&head->index, query->key.digest, (uint32_t)query->major, &record))
        return TKJ_CACHE_ABSENT;
    note->modified = file->modified;
    return read_entry(reader, file, record.offset, record.size, query, bytes, entry, &note->why);
}

/* Another pack may have taken the name since the layers were found (a mount that came late, an
   update), or this one may have been unreadable then: its index is read for this look-up. */
static tkj_cache_outcome get_from_pack(const tkj_layer *layer, const tkj_layer_reader *reader,
                                       const tkj_cache_query *query, tkj_blob *bytes,
                                       tkj_entry *entry, tkj_layer_note *note)
{
    tkj_file file;
    tkj_pack_head now = {.flaw = NULL};
    const tkj_pack_head *head = &layer->head;
    if (tkj_pack_file_open(layer->path, reader->trust, &file, &note->why) != 0)
        return tkj_pack_is_shortage(errno) ? TKJ_CACHE_UNREADABLE : TKJ_CACHE_UNUSABLE;
    if (!tkj_pack_head_is_of(head, &file)) {
        tkj_pack_head_read(&reader->allocator, &file, &now);
        head = &now;
    }
    tkj_cache_outcome outcome = get_by_index(head, &file, reader, query, bytes, entry, note);
    close(file.fd);
    tkj_pack_head_release(&reader->allocator, &now);
    return outcome;
}

tkj_cache_outcome tkj_layer_get(const tkj_layer *layer, const tkj_layer_reader *reader,
                                const tkj_cache_query *query, tkj_blob *bytes, tkj_entry *entry,
                                tkj_layer_note *note)
{
    *bytes = (tkj_blob){NULL, 0};
    memset(entry, 0, sizeof *entry);
    *note = (tkj_layer_note){NULL, 0};
    return layer->kind == TKJ_LAYER_PACK
               ? get_from_pack(layer, reader, query, bytes, entry, note)
               : get_from_directory(layer, reader, query, bytes, entry, note);
}
