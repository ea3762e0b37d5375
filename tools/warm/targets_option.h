/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file targets_option.h
 * @brief --arch LIST of all commands: the targets that it names, and the words that it may have.
 * Example:
 *
 *     static bool take_arch(const char *word, void *options)
 *     {
 *         return warm_target_set_take(&((some_options *)options)->targets, word);
 *     }
 *
 *     {.name = "arch", .argument = "LIST", .words = warm_target_words, .list = true,
 *      .take = take_arch},
 */
#ifndef TKJ_WARM_TARGETS_OPTION_H
#define TKJ_WARM_TARGETS_OPTION_H

#include <stdbool.h>
#include <stddef.h>

#include "command.h"
#include "target.h"

/** Targets that were named, each once, in that order. It has room for all that can be named. */
typedef struct warm_target_set {
    tkj_target at[TKJ_TARGETS_MAX];
    size_t count;
} warm_target_set;

/** Adds a target, unless it is there. @return false if no target that is known has this name */
bool warm_target_set_take(warm_target_set *set, const char *name);

/** Which one has this name, as tkj_target_format writes it; the set's count if none has. */
size_t warm_target_set_find(const warm_target_set *set, const char *name);

bool warm_target_same(tkj_target a, tkj_target b);

/* What a shell offers and a complaint lists. */
bool warm_target_words(size_t index, char out[WARM_WORD_SIZE]);
bool warm_target_words_native(size_t index, char out[WARM_WORD_SIZE]);     /* also "native" */
bool warm_target_words_native_all(size_t index, char out[WARM_WORD_SIZE]); /* and "all" */

#endif /* TKJ_WARM_TARGETS_OPTION_H */
