/* SPDX-License-Identifier: Apache-2.0 */
/** @file pack_file.h @brief A pack on disk: its file, and the index that is kept of it. */
#ifndef TKJ_CACHE_PACK_FILE_H
#define TKJ_CACHE_PACK_FILE_H

#include <stdbool.h>
#include <topk_jit/topk_jit.h>

#include "os.h"
#include "pack.h"

/** Header and index of a pack; zero-initialised = of none. */
typedef struct tkj_pack_head {
    tkj_blob bytes; /* owned; the index points into them */
    tkj_pack_index index;
    tkj_file file;    /* which file it was, and which state of it; closed */
    const char *flaw; /* why it cannot be used; NULL = it can */
} tkj_pack_head;

/** Whether a path ends as a pack's does: in ".tkp", after at least one other character. */
bool tkj_pack_is_name(const char *path);

/**
 * Opens a pack's file.
 * @param[out] flaw  set on failure: what is wrong, static
 * @return 0, or -1 with errno
 */
int tkj_pack_file_open(const char *path, tkj_trust trust, tkj_file *file, const char **flaw);

/** Whether a head is that of a file as it is now: a pack never changes, but another one may take
 * its name. */
bool tkj_pack_head_is_of(const tkj_pack_head *head, const tkj_file *file);

/**
 * Reads the head of an open pack; a flawed pack is no failure.
 * @param[out] out  released with tkj_pack_head_release
 * @return false, with errno and the flaw set, for what is lacking only now, such as memory
 */
bool tkj_pack_head_read(const topk_jit_allocator *allocator, const tkj_file *file,
                        tkj_pack_head *out);
void tkj_pack_head_release(const topk_jit_allocator *allocator, tkj_pack_head *head);

/** What a process or a machine lacks for now says nothing of a file: with it, it would be read. */
bool tkj_pack_is_shortage(int error);

#endif /* TKJ_CACHE_PACK_FILE_H */
