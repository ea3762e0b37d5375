/* SPDX-License-Identifier: Apache-2.0 */
/** @file build_options.h @brief Command line of topk-jit-warm. */
#ifndef TKJ_WARM_BUILD_OPTIONS_H
#define TKJ_WARM_BUILD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <topk_jit/topk_jit.h>

#include "target.h"

/** Exit codes; --help documents them. */
enum {
    WARM_EXIT_DONE = 0,
    WARM_EXIT_FAILED = 1,
    WARM_EXIT_USAGE = 2,
    WARM_EXIT_NO_GPU = 3,
};

#define WARM_TARGETS_MAX 64
#define WARM_TOPK_MAX 256

/** Sets of enumerators: bit n is enumerator n. 0 = the flag was not given. */
typedef struct warm_options {
    tkj_target targets[WARM_TARGETS_MAX];
    size_t target_count;
    bool native; /* --arch native: the GPUs present, too */
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
    size_t builders;    /* 0 = one a core */
    char *cache_dir;    /* owned, absolute; NULL = default */
    char *template_dir; /* owned, absolute; NULL = default */
    const char *nvrtc;  /* borrowed from argv; NULL = default */
    unsigned verbose;   /* times -v was given */
    bool json;
    bool help;
    bool version;
} warm_options;

/**
 * Reads the command line. What is wrong is said in one line on stderr.
 * @param[out] out  released with warm_options_release, also after a failure
 * @return false if it cannot be understood
 */
bool warm_options_parse(int argc, char **argv, warm_options *out);

void warm_options_release(warm_options *options);

/** One line on stderr, after the name of the program; control characters become question marks. */
void warm_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** The manual that --help prints. */
extern const char warm_help[];

#endif /* TKJ_WARM_BUILD_OPTIONS_H */
