/* SPDX-License-Identifier: Apache-2.0 */
#include "wrap.h"

#include <string.h>

#define WIDTH 79

void warm_wrap(FILE *to, const char *text, size_t length, size_t column, size_t indent)
{
    const char *end = text + length;
    for (bool first = true; text < end; first = false) {
        const char *blank = memchr(text, ' ', (size_t)(end - text));
        const size_t word = (size_t)((blank != NULL ? blank : end) - text);
        if (!first && column + 1 + word > WIDTH) {
            fprintf(to, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            putc(' ', to);
            column++;
        }
        fprintf(to, "%.*s", (int)word, text);
        column += word;
        text += word + (blank != NULL);
    }
    putc('\n', to);
}

bool warm_paragraph_next(const char **rest, warm_paragraph *out)
{
    if (*rest == NULL || **rest == '\0')
        return false;
    const char *end = strstr(*rest, "\n\n");
    out->text = *rest;
    out->length = end != NULL ? (size_t)(end - *rest) : strlen(*rest);
    *rest = end != NULL ? end + 2 : *rest + out->length;
    return true;
}
