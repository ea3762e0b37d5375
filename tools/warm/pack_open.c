/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_open.h"

#include <errno.h>

#include "command.h"
#include "complain.h"
#include "memory.h"
#include "pack_file.h"

static bool cannot_read(warm_opened_pack *out)
{
    out->unreadable = true;
    out->flaw = errno == ENOMEM ? "there is no memory for it" : "it cannot be read";
    return false;
}

/** @return whether there is reason to read more */
static bool head_is_sound(const tkj_file *file, warm_opened_pack *out)
{
    tkj_pack_head head;
    const bool known = tkj_pack_head_read(&tkj_default_allocator, file, &head);
    const int error = errno;
    out->flaw = head.flaw;
    tkj_pack_head_release(&tkj_default_allocator, &head);
    errno = error;
    return known ? out->flaw == NULL : cannot_read(out);
}

/** Again, head and all: the file may have changed since. */
static const char *verify(warm_opened_pack *out)
{
    const char *flaw =
        tkj_pack_index_decode(out->bytes.bytes, out->bytes.size, out->bytes.size, &out->index);
    return flaw != NULL ? flaw : tkj_pack_verify(out->bytes.bytes, out->bytes.size);
}

bool warm_pack_read(const char *path, const tkj_file *file, warm_opened_pack *out)
{
    *out = (warm_opened_pack){.path = path};
    if (!head_is_sound(file, out))
        return false;
    if (tkj_os_read(&tkj_default_allocator, file, 0, file->size, &out->bytes) != 0)
        return cannot_read(out);
    out->flaw = verify(out);
    return out->flaw == NULL;
}

int warm_pack_open(const char *path, tkj_trust trust, warm_opened_pack *out)
{
    tkj_file file;
    int code = WARM_EXIT_FAILED;
    *out = (warm_opened_pack){.path = path};
    if (tkj_pack_file_open(path, trust, &file, &out->flaw) != 0) {
        if (errno == ENOENT)
            code = WARM_EXIT_NOT_THERE;
    } else {
        if (warm_pack_read(path, &file, out))
            code = WARM_EXIT_DONE;
        tkj_os_close(file.fd);
    }
    if (code != WARM_EXIT_DONE)
        warm_complain("%s: %s", path, out->flaw);
    return code;
}

void warm_pack_close(warm_opened_pack *pack)
{
    tkj_free(&tkj_default_allocator, pack->bytes.bytes);
    *pack = (warm_opened_pack){.path = NULL};
}

tkj_blob warm_pack_entry(const warm_opened_pack *pack, const tkj_pack_record *record)
{
    return (tkj_blob){pack->bytes.bytes + record->offset, record->size};
}
