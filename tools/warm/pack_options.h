/* SPDX-License-Identifier: Apache-2.0 */
/** @file pack_options.h @brief Options of topk-jit-warm pack. */
#ifndef TKJ_WARM_PACK_OPTIONS_H
#define TKJ_WARM_PACK_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "command.h"
#include "spec.h"
#include "targets_option.h"

#define WARM_PACK_SPECS_MAX 256

typedef struct warm_pack_options {
    warm_target_set targets;                             /* none = all */
    char specs[WARM_PACK_SPECS_MAX][TKJ_SPEC_TEXT_SIZE]; /* canonical */
    size_t spec_count;                                   /* 0 = all */
    bool all;                                            /* of whatever templates */
    bool keep_going;
    bool force;
    char template_dir[PATH_MAX]; /* absolute; "" = default */
} warm_pack_options;

/** Which spec of the options this is; their count if it is none of them. */
size_t warm_pack_spec(const warm_pack_options *options, const char *text, size_t length);

/** The table of options that fill it. */
extern const warm_option warm_pack_option_table[];

#endif /* TKJ_WARM_PACK_OPTIONS_H */
