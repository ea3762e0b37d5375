/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

tkj_text tkj_text_start(char *at, size_t capacity)
{
    if (capacity > 0)
        at[0] = '\0';
    return (tkj_text){at, capacity, 0};
}

void tkj_text_append(tkj_text *text, const char *format, ...)
{
    va_list arguments;
    const bool room = text->used < text->capacity;
    va_start(arguments, format);
    int length = vsnprintf(room ? text->at + text->used : NULL,
                           room ? text->capacity - text->used : 0, format, arguments);
    va_end(arguments);
    text->used += length > 0 ? (size_t)length : 0;
}

const char *tkj_plural(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}
