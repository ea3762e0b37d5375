/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file inventory.h
 * @brief What is in the places where a server with these settings looks for kernels: the packs and
 * directories of TOPK_JIT_RO_DIRS, the installation's, the user's directory.
 *
 * The library chooses the places, their order and whom to trust. What is listed is what the names
 * and indexes say; only reading an entry tells whether it is one. Nothing is written or touched.
 */
#ifndef TKJ_WARM_INVENTORY_H
#define TKJ_WARM_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <topk_jit/topk_jit.h>

#include "command.h"
#include "entry.h"
#include "layer.h"
#include "pack_file.h"
#include "walk.h"

typedef struct warm_place {
    tkj_layer_kind kind;
    char *path;         /* owned */
    const char *flaw;   /* why servers do not use it; NULL = they do. Static */
    bool absent;        /* what is wrong is only that it is not there */
    bool named;         /* on the command line: it should be there */
    tkj_walk walk;      /* of a directory that is used */
    tkj_pack_head head; /* of a pack that is used */
    size_t first;       /* of its items */
    size_t count;
    uint64_t bytes; /* of its items */
} warm_place;

/** An entry, by its name or its record in a pack. */
typedef struct warm_item {
    size_t place;
    tkj_cache_key key;
    uint32_t major; /* of the toolchain; any number in a pack */
    uint64_t size;
    struct timespec modified;   /* the pack's, if in one */
    const tkj_walk_entry *file; /* NULL = in a pack, */
    uint64_t offset;            /* there */
} warm_item;

typedef struct warm_inventory {
    topk_jit_context *context;
    tkj_layer_reader reader;
    warm_place *places; /* in the order in which they are searched */
    size_t place_count;
    warm_item *items; /* place by place; in each by key and toolchain */
    size_t item_count;
} warm_inventory;

/**
 * Finds the places and lists their entries. What is wrong is said in one line on stderr; that a
 * place cannot be used is no failure, and is in its flaw.
 * @param wanted    the command's wishes of the library, such as where NVRTC is
 * @param others    walks tell what is no entry, too
 * @param[out] out  released with warm_inventory_release, also after a failure
 */
bool warm_inventory_open(const warm_common *common, const topk_jit_options *wanted, bool others,
                         warm_inventory *out);

/** As warm_inventory_open, of one place instead of all: a directory with its packs, or a pack.
 * There is no place if nothing has that path. */
bool warm_inventory_of(const warm_common *common, const char *path, bool others,
                       warm_inventory *out);

/** The user's directory, whether or not it exists. @return NULL if there is none: no directory is
 *  named, and there is no home */
const warm_place *warm_inventory_user(const warm_inventory *inventory);

/** Whether somebody named a place that is not there; then one line on stderr says so. One that
 *  nobody named comes with its first entry. */
bool warm_place_is_missed(const warm_place *place);

void warm_inventory_release(warm_inventory *inventory);

/** What users call a kind of place: "user", "read-only" or "pack". */
const char *warm_place_kind(tkj_layer_kind kind);

#endif /* TKJ_WARM_INVENTORY_H */
