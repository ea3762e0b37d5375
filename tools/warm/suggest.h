/* SPDX-License-Identifier: Apache-2.0 */
/** @file suggest.h @brief What a mistyped word was probably meant to be. Pure. */
#ifndef TKJ_WARM_SUGGEST_H
#define TKJ_WARM_SUGGEST_H

#include <stddef.h>

#include "command.h"

#define WARM_SUGGESTIONS_MAX 3

/** Begins as {.given = word}, with a borrowed word. */
typedef struct warm_suggestion {
    const char *given;
    size_t distance; /* of all that were kept; letters to change */
    size_t count;
    char kept[WARM_SUGGESTIONS_MAX][WARM_WORD_SIZE];
} warm_suggestion;

/** Keeps a word if it is near and none was nearer; what the given one begins is as near as can be.
 */
void warm_suggest(warm_suggestion *suggestion, const char *word);

/** Writes "; did you mean 'a' or 'b'?", or nothing.
 *  @param marks  before each word, such as "--" */
void warm_suggestion_format(const warm_suggestion *suggestion, const char *marks, char *out,
                            size_t size);

#endif /* TKJ_WARM_SUGGEST_H */
