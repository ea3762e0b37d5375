/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_open.h"

#include <errno.h>
#include <string.h>

#include "complain.h"
#include "memory.h"
#include "pack_file.h"

/** Reads the file if its size is what its entries account for: memory is spent on nothing else.
 *  @return NULL, or what is wrong */
static const char *read_all(const tkj_file *file, warm_opened_pack *out)
{
    tkj_pack_head head;
    if (!tkj_pack_head_read(&tkj_default_allocator, file, &head))
        return strerror(errno);
    const char *flaw = head.flaw;
    tkj_pack_head_release(&tkj_default_allocator, &head);
    if (flaw == NULL && tkj_os_read(&tkj_default_allocator, file, 0, file->size, &out->bytes) != 0)
        flaw = strerror(errno);
    if (flaw == NULL) /* all of it, for it may have changed since */
        flaw = tkj_pack_verify(out->bytes.bytes, out->bytes.size);
    if (flaw == NULL)
        flaw =
            tkj_pack_index_decode(out->bytes.bytes, out->bytes.size, out->bytes.size, &out->index);
    return flaw;
}

bool warm_pack_open(const char *path, tkj_trust trust, warm_opened_pack *out)
{
    tkj_file file;
    const char *flaw;
    *out = (warm_opened_pack){.path = path};
    if (tkj_pack_file_open(path, trust, &file, &flaw) == 0) {
        flaw = read_all(&file, out);
        tkj_os_close(file.fd);
    }
    if (flaw != NULL)
        warm_complain("%s: %s", path, flaw);
    return flaw == NULL;
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
