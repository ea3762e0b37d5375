/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "memory.h"

#define SUFFIX ".tkp"

bool tkj_pack_is_name(const char *path)
{
    const size_t length = strlen(path);
    const size_t suffix = strlen(SUFFIX);
    return length > suffix && strcmp(path + length - suffix, SUFFIX) == 0;
}

bool tkj_pack_is_shortage(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == EINTR;
}

static const char *flaw_of(int error)
{
    switch (error) {
    case ENOENT:
        return "it does not exist";
    case ELOOP:
        return "it is a symbolic link";
    case EPERM:
        return "it belongs to another user or others can write it";
    case EINVAL:
        return "it is not a regular file";
    case EFBIG:
        return "it is larger than any pack";
    case EACCES:
        return "reading it is not permitted";
    default:
        return "it cannot be opened";
    }
}

int tkj_pack_file_open(const char *path, tkj_trust trust, tkj_file *file, const char **flaw)
{
    const size_t limit = TKJ_PACK_SIZE_MAX < SIZE_MAX ? (size_t)TKJ_PACK_SIZE_MAX : SIZE_MAX;
    *flaw = NULL;
    int result = tkj_os_open_file(AT_FDCWD, path, trust, limit, file);
    if (result != 0)
        *flaw = flaw_of(errno);
    return result;
}

bool tkj_pack_head_is_of(const tkj_pack_head *head, const tkj_file *file)
{
    return head->bytes.bytes != NULL && head->file.device == file->device &&
           head->file.inode == file->inode && head->file.size == file->size &&
           head->file.modified == file->modified;
}

static const char unreadable[] = "it cannot be read"; /* errno says why */

/* Reads the header, then the whole head. @return NULL, or what is wrong */
static const char *read_head(const topk_jit_allocator *allocator, const tkj_file *file,
                             tkj_pack_head *out)
{
    tkj_blob header;
    size_t head_size = 0;
    if (tkj_os_read(allocator, file, 0, TKJ_PACK_HEADER_SIZE, &header) != 0)
        return unreadable;
    const char *flaw = tkj_pack_head_size(header.bytes, header.size, file->size, &head_size);
    tkj_free(allocator, header.bytes);
    if (flaw != NULL)
        return flaw;
    if (tkj_os_read(allocator, file, 0, head_size, &out->bytes) != 0)
        return unreadable;
    return tkj_pack_index_decode(out->bytes.bytes, out->bytes.size, file->size, &out->index);
}

bool tkj_pack_head_read(const topk_jit_allocator *allocator, const tkj_file *file,
                        tkj_pack_head *out)
{
    *out = (tkj_pack_head){.file = *file};
    out->file.fd = -1;
    out->flaw = read_head(allocator, file, out);
    return out->flaw != unreadable || !tkj_pack_is_shortage(errno);
}

void tkj_pack_head_release(const topk_jit_allocator *allocator, tkj_pack_head *head)
{
    tkj_free(allocator, head->bytes.bytes);
    *head = (tkj_pack_head){.flaw = NULL};
}
