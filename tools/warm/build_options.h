/* SPDX-License-Identifier: Apache-2.0 */
/** @file build_options.h @brief Options of topk-jit-warm that say which kernels are meant. */
#ifndef TKJ_WARM_BUILD_OPTIONS_H
#define TKJ_WARM_BUILD_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <topk_jit/topk_jit.h>

#include "command.h"
#include "targets_option.h"

#define WARM_TOPK_MAX 256
#define WARM_SOURCES_MAX 64

typedef enum warm_source_kind {
    WARM_SOURCE_MODEL_CONFIG,
    WARM_SOURCE_MANIFEST,
    WARM_SOURCE_RECORDING,
} warm_source_kind;

/** A file that says what to build. */
typedef struct warm_source {
    warm_source_kind kind;
    const char *path; /* borrowed from argv */
} warm_source;

/** Sets of enumerators: bit n is enumerator n. 0 = the option was not given. */
typedef struct warm_options {
    warm_target_set targets;
    bool native; /* --arch native: the GPUs present, too */
    bool every;  /* --arch all: whatever can be compiled for, too */
    warm_source sources[WARM_SOURCES_MAX];
    size_t source_count;
    int64_t topk[WARM_TOPK_MAX];
    size_t topk_count;
    uint32_t operations;
    uint32_t layouts;
    uint32_t dtypes;
    uint32_t index_dtypes;
    uint32_t tie_breaks;
    uint32_t page_sizes; /* bit n is page size 2^n */
    bool sorted;
    bool deterministic;
    bool nan_last;
    bool check;
    size_t jobs; /* 0 = what the machine has room for */
    bool refresh;
    bool dry_run;
    char template_dir[PATH_MAX]; /* absolute; "" = default */
    char nvrtc[PATH_MAX];        /* absolute; "" = default */
} warm_options;

/** The table of options that fill it. */
extern const warm_option warm_build_options[];

#endif /* TKJ_WARM_BUILD_OPTIONS_H */
