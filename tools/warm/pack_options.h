/* SPDX-License-Identifier: Apache-2.0 */
/** @file pack_options.h @brief Options of topk-jit-warm pack. */
#ifndef TKJ_WARM_PACK_OPTIONS_H
#define TKJ_WARM_PACK_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "command.h"
#include "spec.h"
#include "target.h"

#define WARM_PACK_TARGETS_MAX 64
#define WARM_PACK_SPECS_MAX 256

typedef struct warm_pack_options {
    char targets[WARM_PACK_TARGETS_MAX][TKJ_TARGET_NAME_SIZE];
    size_t target_count;                                 /* 0 = all */
    char specs[WARM_PACK_SPECS_MAX][TKJ_SPEC_TEXT_SIZE]; /* canonical */
    size_t spec_count;                                   /* 0 = all */
    bool all;                                            /* of whatever templates */
    bool keep_going;
    bool force;
    char template_dir[PATH_MAX]; /* absolute; "" = default */
} warm_pack_options;

/** Which target or spec of the options this is; their count if it is none of them. */
size_t warm_pack_target(const warm_pack_options *options, const char *name);
size_t warm_pack_spec(const warm_pack_options *options, const char *text, size_t length);

/** The table of options that fill it. */
extern const warm_option warm_pack_option_table[];

#endif /* TKJ_WARM_PACK_OPTIONS_H */
