/* SPDX-License-Identifier: Apache-2.0 */
/** @file text.h @brief Text that is put together piece by piece in a buffer of fixed size. */
#ifndef TKJ_TEXT_H
#define TKJ_TEXT_H

#include <stddef.h>
#include <stdint.h>

/** Allocates nothing, so that trouble can be described where memory is the trouble. What does not
 *  fit is cut, and counted all the same. */
typedef struct tkj_text {
    char *at; /* always ends in a zero; NULL if there is no room at all */
    size_t capacity;
    size_t used; /* length of the whole text; from the capacity on, of what was cut too */
} tkj_text;

/** An empty text. @param at  the buffer, borrowed; may be NULL if the capacity is 0 */
tkj_text tkj_text_start(char *at, size_t capacity);

void tkj_text_append(tkj_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** The word that goes with so many. */
const char *tkj_plural(uint64_t count, const char *one, const char *many);

#endif /* TKJ_TEXT_H */
