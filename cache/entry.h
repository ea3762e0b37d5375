/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file entry.h
 * @brief One cache entry as bytes: encode, and decode with every size checked. README.md beside
 * this file is the grammar. Pure.
 */
#ifndef TKJ_CACHE_ENTRY_H
#define TKJ_CACHE_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <topk_jit/topk_jit.h>

#include "os.h"

/** What a payload is. */
typedef enum tkj_payload_kind {
    TKJ_PAYLOAD_CUBIN = 1,
    TKJ_PAYLOAD_PTX = 2,
} tkj_payload_kind;

/** Resources of the kernel inside, in registers and bytes. */
typedef struct tkj_entry_resources {
    uint32_t registers;
    uint32_t static_shared;
    uint32_t dynamic_shared;
    uint32_t stack;
    uint32_t spill;       /* of the entry function */
    uint32_t other_spill; /* of all other functions */
} tkj_entry_resources;

/** An entry, taken apart. After decoding, strings and payload point into the decoded bytes. */
typedef struct tkj_entry {
    tkj_payload_kind kind;
    const char *target;     /* "sm_90", "compute_90" */
    const char *toolchain;  /* what compiled it */
    const char *library;    /* version of the library that wrote it */
    const char *preimage;   /* the text whose digest is the key */
    const char *entry_name; /* of the kernel */
    tkj_entry_resources resources;
    const uint8_t *payload; /* PTX: a text with its NUL */
    size_t payload_size;    /* >= 1; PTX: its NUL counts */
} tkj_entry;

/** Largest entry that is written or read: 64 MiB, a thousand times the usual. */
#define TKJ_ENTRY_SIZE_MAX ((size_t)64 << 20)

/**
 * Encodes an entry, the same bytes for the same fields always.
 * @param[out] out  owned by the caller; empty after a failure
 * @return TOPK_JIT_OK, TOPK_JIT_OUT_OF_MEMORY, TOPK_JIT_CACHE_FAILED (a field that the format
 *         cannot hold; the message names it)
 */
topk_jit_status tkj_entry_encode(const topk_jit_allocator *allocator, const tkj_entry *entry,
                                 tkj_blob *out);

/** Whether the first bytes of a file, 8 or more, say that it is an entry of any version. */
bool tkj_entry_has_magic(const uint8_t *bytes, size_t size);

/**
 * Decodes and verifies: magic, version, sizes, checksum.
 * @return NULL if sound, else what is wrong, a static string
 */
const char *tkj_entry_decode(const uint8_t *bytes, size_t size, tkj_entry *out);

#endif /* TKJ_CACHE_ENTRY_H */
