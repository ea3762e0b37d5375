/* SPDX-License-Identifier: Apache-2.0 */
#include "verify_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "entry_flaw.h"
#include "layer.h"
#include "memory.h"
#include "pack_file.h"
#include "pack_open.h"

/* ---- packs ---- */

/* Names the entries that are not what the index says. @return how many */
static size_t check_entries(const warm_opened_pack *pack, warm_verification *to)
{
    size_t flawed = 0;
    for (size_t i = 0; i < pack->index.count; i++) {
        const tkj_pack_record record = tkj_pack_at(&pack->index, i);
        const tkj_blob bytes = warm_pack_entry(pack, &record);
        tkj_entry entry;
        const char *flaw = warm_entry_flaw(record.key, record.major, &bytes, &entry);
        if (flaw != NULL)
            warm_verify_note_entry(to, pack->path, record.key, flaw);
        flawed += flaw != NULL;
    }
    return flawed;
}

/* The entries of a sound pack may still be none. Of a pack that is flawed without a flawed entry,
   the pack is named. */
static void check_pack(const char *path, const tkj_file *file, warm_verification *to)
{
    warm_opened_pack pack;
    const bool sound = warm_pack_read(path, file, &pack);
    to->packs++;
    to->entries += pack.index.count;
    if (check_entries(&pack, to) == 0 && !sound)
        warm_verify_note(to, pack.unreadable ? WARM_FINDING_UNREADABLE : WARM_FINDING_CORRUPT, path,
                         pack.flaw, false);
    warm_pack_close(&pack);
}

void warm_verify_pack(const char *path, tkj_trust trust, warm_verification *to)
{
    tkj_file file;
    const char *flaw;
    if (tkj_pack_file_open(path, trust, &file, &flaw) == 0) {
        check_pack(path, &file, to);
        tkj_os_close(file.fd);
    } else {
        to->packs++;
        warm_verify_note(to, WARM_FINDING_UNUSABLE, path, flaw, false);
    }
}

/* ---- entries ---- */

/* What a failure of the system says of a file that may be an entry. */
static void note_failure(warm_verification *to, const char *path, int error)
{
    const char *why;
    const bool corrupt = tkj_entry_explain(error, &why) == TKJ_CACHE_CORRUPT;
    warm_verify_note(to, corrupt ? WARM_FINDING_CORRUPT : WARM_FINDING_UNREADABLE, path, why,
                     false);
}

/* What the name of a cache's file says: "<2 hex>/<30 hex>.cu<major>...". @return false if it says
   nothing */
static bool read_path(const char *path, uint8_t key[TKJ_DIGEST_SIZE], uint32_t *major)
{
    static const char hex[] = "0123456789abcdef";
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL && slash - path >= 2 ? slash - 2 : NULL;
    if (name == NULL || strspn(name, hex) != 2 || strspn(slash + 1, hex) != 30 ||
        strncmp(slash + 31, ".cu", 3) != 0)
        return false;
    *major = (uint32_t)strtoul(slash + 34, NULL, 10);
    for (size_t i = 0; i < TKJ_DIGEST_SIZE; i++) {
        const char *digits = i == 0 ? name : slash + 2 * i - 1;
        key[i] = (uint8_t)((strchr(hex, digits[0]) - hex) << 4 | (strchr(hex, digits[1]) - hex));
    }
    return true;
}

static void check_entry(const char *path, const tkj_file *file, warm_verification *to)
{
    tkj_blob bytes;
    tkj_entry entry;
    uint8_t key[TKJ_DIGEST_SIZE];
    uint32_t major = 0;
    to->entries++;
    if (file->size > TKJ_ENTRY_SIZE_MAX) {
        note_failure(to, path, EFBIG);
        return;
    }
    if (tkj_os_read(&tkj_default_allocator, file, 0, file->size, &bytes) != 0) {
        note_failure(to, path, errno);
        return;
    }
    const bool named = read_path(path, key, &major);
    const char *flaw = warm_entry_flaw(named ? key : NULL, major, &bytes, &entry);
    if (flaw != NULL)
        warm_verify_note(to, WARM_FINDING_CORRUPT, path, flaw, false);
    tkj_free(&tkj_default_allocator, bytes.bytes);
}

/* ---- either ---- */

void warm_verify_file(const char *path, tkj_trust trust, warm_verification *to)
{
    tkj_file file;
    tkj_blob first;
    if (tkj_os_open_file(AT_FDCWD, path, trust, SIZE_MAX, &file) != 0) {
        if (errno == ENOENT)
            warm_verify_note_missing(to, path);
        else
            note_failure(to, path, errno);
        return;
    }
    if (tkj_os_read(&tkj_default_allocator, &file, 0, TKJ_PACK_HEADER_SIZE, &first) != 0)
        note_failure(to, path, errno);
    else if (tkj_pack_has_magic(first.bytes, first.size))
        check_pack(path, &file, to);
    else
        check_entry(path, &file, to);
    tkj_free(&tkj_default_allocator, first.bytes);
    tkj_os_close(file.fd);
}
