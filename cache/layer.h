/* SPDX-License-Identifier: Apache-2.0 */
/** @file layer.h @brief One place on disk that may have an entry, and what it says to a query. */
#ifndef TKJ_CACHE_LAYER_H
#define TKJ_CACHE_LAYER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <topk_jit/topk_jit.h>

#include "digest.h"
#include "entry.h"
#include "os.h"
#include "pack_file.h"

/** What a layer is, in the order in which layers are searched. */
typedef enum tkj_layer_kind {
    TKJ_LAYER_MEMORY,
    TKJ_LAYER_PACK,
    TKJ_LAYER_READ_ONLY,
    TKJ_LAYER_USER,
    TKJ_LAYER_KINDS, /* how many there are */
} tkj_layer_kind;

/** Key of an entry: tkj_digest of its preimage. */
typedef struct tkj_cache_key {
    uint8_t digest[TKJ_DIGEST_SIZE];
} tkj_cache_key;

/** What is looked for. */
typedef struct tkj_cache_query {
    tkj_cache_key key;
    int major; /* the toolchain's major version, part of a file's name */
    const char *preimage;
    const char *target;
    tkj_payload_kind kind;  /* of the target; 0 = either */
    const char *toolchain;  /* what must have compiled it; NULL = anything */
    const uint8_t *refused; /* digest (an entry's last bytes) of one that is not wanted, since the
                               driver refused it; NULL = there is none */
} tkj_cache_query;

/** How a look-up ended. */
typedef enum tkj_cache_outcome {
    TKJ_CACHE_HIT,
    TKJ_CACHE_ABSENT,
    TKJ_CACHE_UNUSABLE,   /* the layer cannot be opened, or not be trusted */
    TKJ_CACHE_UNREADABLE, /* the entry cannot be read */
    TKJ_CACHE_CORRUPT,    /* something stands there that does not verify: to be rewritten */
} tkj_cache_outcome;

/** A layer on disk. */
typedef struct tkj_layer {
    tkj_layer_kind kind;
    char *path;             /* of the directory or the pack: owned */
    tkj_pack_head head;     /* packs: as it was when the layers were found */
    atomic_bool complained; /* that it cannot be used was logged */
} tkj_layer;

/** How layers are read. */
typedef struct tkj_layer_reader {
    topk_jit_allocator allocator;
    tkj_trust trust;
    bool touches; /* an entry that is used gets the time, at most once an hour */
} tkj_layer_reader;

/** The layout below a directory; another one gets another number, so that old and new can share
 *  it. */
#define TKJ_LAYOUT_DIR "v1"

#define TKJ_ENTRY_FILE_SIZE 64

/** "v1/<2 hex>/<30 hex>.cu<major>.tkc": an entry's file below the directory that holds it. */
void tkj_entry_file(const tkj_cache_key *key, int major, char name[TKJ_ENTRY_FILE_SIZE]);

/** What a failed tkj_os_open_file or tkj_os_read says of an entry. @param[out] why  static */
tkj_cache_outcome tkj_entry_explain(int error, const char **why);

/** Verifies bytes against a query. @return NULL if they answer it, else what is wrong, static */
const char *tkj_entry_verify(const tkj_blob *bytes, const tkj_cache_query *query, tkj_entry *entry);

/** Why a sound entry is not what is asked for; NULL if it is. Static. */
const char *tkj_entry_unwanted(const tkj_blob *bytes, const tkj_entry *entry,
                               const tkj_cache_query *query);

/** What a layer says beside the outcome. */
typedef struct tkj_layer_note {
    const char *why; /* unless it is a hit: what was found instead, such as "no entry"; static */
    time_t modified; /* of the file that something was found in; 0 = nothing was */
} tkj_layer_note;

/** Looks one query up in one layer. */
tkj_cache_outcome tkj_layer_get(const tkj_layer *layer, const tkj_layer_reader *reader,
                                const tkj_cache_query *query, tkj_blob *bytes, tkj_entry *entry,
                                tkj_layer_note *note);

/** Layers in the order of their search. */
typedef struct tkj_layers {
    tkj_layer *at;
    size_t count;
} tkj_layers;

/**
 * Finds the layers: for each of `ro_dirs`, then `installed`, its packs in the order of their names
 * and the directory itself; `root` last. Reads the indexes of packs.
 * @return TOPK_JIT_OK; TOPK_JIT_OUT_OF_MEMORY, TOPK_JIT_OS_FAILED: this process is short of memory
 * or of descriptors, which is to be tried again (out is empty then)
 */
topk_jit_status tkj_layers_find(const tkj_layer_reader *reader, const char *ro_dirs,
                                const char *installed, const char *root, tkj_layers *out);

void tkj_layers_release(const topk_jit_allocator *allocator, tkj_layers *layers);

#endif /* TKJ_CACHE_LAYER_H */
