/* SPDX-License-Identifier: Apache-2.0 */
/** @file template.h @brief The set of kernel templates: found, read once, digested. */
#ifndef TKJ_TEMPLATE_H
#define TKJ_TEMPLATE_H

#include <stddef.h>
#include <stdint.h>
#include <topk_jit/topk_jit.h>

#include "digest.h"
#include "log.h"
#include "source.h"

/** The copy inside the library (generated at build time): names and order of the set. */
extern const tkj_source tkj_embedded_templates[];
extern const size_t tkj_embedded_template_count;

/** Where to look, in this order; NULL = skip. Without any, the embedded copy serves. */
typedef struct tkj_template_search {
    const char *option_dir;      /* context option: must be usable */
    const char *environment_dir; /* TOPK_JIT_TEMPLATE_DIR: must be usable */
    const char *own_directory;   /* of the library: the installed set below it is skipped with a log
                                    line if it is not usable */
} tkj_template_search;

/** All files of the set. */
typedef struct tkj_template_set {
    tkj_source *files;               /* tkj_embedded_template_count of them, in that order */
    char *directory;                 /* where they were read; NULL = they are the embedded copy */
    uint8_t digest[TKJ_DIGEST_SIZE]; /* over names and contents */
} tkj_template_set;

/**
 * @param[out] out  released with tkj_templates_free, after a failure too
 * @return TOPK_JIT_OK, TOPK_JIT_TEMPLATE_NOT_FOUND, TOPK_JIT_TEMPLATE_ABI,
 *         TOPK_JIT_TEMPLATE_UNTRUSTED, TOPK_JIT_OUT_OF_MEMORY
 */
topk_jit_status tkj_templates_load(const topk_jit_allocator *allocator, const tkj_logger *logger,
                                   const tkj_template_search *search, tkj_template_set *out);

void tkj_templates_free(const topk_jit_allocator *allocator, tkj_template_set *set);

#endif /* TKJ_TEMPLATE_H */
