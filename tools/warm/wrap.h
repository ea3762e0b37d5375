/* SPDX-License-Identifier: Apache-2.0 */
/** @file wrap.h @brief Text in lines that fit a terminal. */
#ifndef TKJ_WARM_WRAP_H
#define TKJ_WARM_WRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/**
 * Writes a text, broken at blanks, and ends the line.
 * @param column  where the cursor is
 * @param indent  blanks before every line but the first
 */
void warm_wrap(FILE *to, const char *text, size_t length, size_t column, size_t indent);

/** One paragraph of a text whose paragraphs are separated by empty lines. */
typedef struct warm_paragraph {
    const char *text;
    size_t length;
} warm_paragraph;

/** Takes the first paragraph off a text. @return false if none is left */
bool warm_paragraph_next(const char **rest, warm_paragraph *out);

#endif /* TKJ_WARM_WRAP_H */
