/* SPDX-License-Identifier: Apache-2.0 */
/** @file suggest.h @brief What a mistyped word was probably meant to be. Pure. */
#ifndef TKJ_SUGGEST_H
#define TKJ_SUGGEST_H

#include <stddef.h>

#define TKJ_SUGGESTIONS_MAX 3

/** Room for a word with its terminator; a longer one is never near. */
#define TKJ_SUGGESTION_SIZE 32

/** Begins as {.given = word}, with a borrowed word. */
typedef struct tkj_suggestion {
    const char *given;
    size_t distance; /* of all that were kept; letters to change */
    size_t count;
    char kept[TKJ_SUGGESTIONS_MAX][TKJ_SUGGESTION_SIZE];
} tkj_suggestion;

/** Keeps a word if it is near and none was nearer; as near as can be is what the given one begins,
 *  and what begins the given one. */
void tkj_suggest(tkj_suggestion *suggestion, const char *word);

/** Writes "; did you mean 'a' or 'b'?", or nothing.
 *  @param marks  before each word, such as "--" */
void tkj_suggestion_format(const tkj_suggestion *suggestion, const char *marks, char *out,
                           size_t size);

#endif /* TKJ_SUGGEST_H */
