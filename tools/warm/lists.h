/* SPDX-License-Identifier: Apache-2.0 */
/** @file lists.h @brief Flags of topk-jit-warm whose value is a list: --dtype float32,float16.
 */
#ifndef TKJ_WARM_LISTS_H
#define TKJ_WARM_LISTS_H

#include <stdint.h>

#include "build_options.h"

/** The flags, in the order of their names in warm_list_names. */
typedef enum warm_list {
    WARM_LIST_ARCH,
    WARM_LIST_OPERATION,
    WARM_LIST_TOPK,
    WARM_LIST_DTYPE,
    WARM_LIST_LAYOUT,
    WARM_LIST_PAGE_SIZE,
    WARM_LIST_INDEX_DTYPE,
    WARM_LIST_TIE_BREAK,
    WARM_LIST_COUNT,
} warm_list;

/** Adds the words of a list to the options. @return false, after a line on stderr that names the
 *  word, if one is unknown */
bool warm_list_take(warm_options *options, warm_list list, const char *words);

#endif /* TKJ_WARM_LISTS_H */
