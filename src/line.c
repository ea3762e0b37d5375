/* SPDX-License-Identifier: Apache-2.0 */
#include "line.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

#define FORMAT_SIZE 512   /* room for any format of ours, with limits in it */
#define MARK "..."        /* of a value that is cut */
#define SHORTEST_LIMIT 16 /* less of a value tells nobody which one it is */

/** How many bytes the character has that a text begins with; 0 if it is no character of UTF-8, or
 *  one that controls. */
static size_t character_length(const char *text)
{
    static const uint32_t least[] = {0, ' ', 0xa0, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)text;
    const size_t length = at[0] < 0x80   ? 1
                          : at[0] < 0xc0 ? 0
                          : at[0] < 0xe0 ? 2
                          : at[0] < 0xf0 ? 3
                          : at[0] < 0xf8 ? 4
                                         : 0;
    uint32_t code = length == 1 ? at[0] : at[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3f);
    }
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    return code >= least[length] && code <= 0x10ffff && code != 0x7f && !surrogate ? length : 0;
}

/** @return false if there is no room for all of it */
static bool write_clean(const char *text, char *out, size_t size)
{
    size_t used = 0;
    while (*text != '\0') {
        char escape[] = "\\xNN";
        const size_t length = character_length(text);
        const size_t width = length > 0 ? length : sizeof escape - 1;
        if (used + width >= size)
            break;
        if (length == 0)
            snprintf(escape, sizeof escape, "\\x%02x", (unsigned)(unsigned char)*text);
        memcpy(out + used, length > 0 ? text : escape, width);
        used += width;
        text += length > 0 ? length : 1;
    }
    out[used] = '\0';
    return *text == '\0';
}

/** As vsnprintf, which would use the arguments up. @return the length of all of it */
static size_t print(char *out, size_t size, const char *format, va_list arguments)
{
    va_list copy;
    va_copy(copy, arguments);
    const int length = vsnprintf(out, size, format, copy);
    va_end(copy);
    return length > 0 ? (size_t)length : 0;
}

/** @return false if there is no room for all of it */
static bool write_line(char *out, size_t size, const char *format, va_list arguments)
{
    char raw[TKJ_LINE_SIZE_MAX];
    raw[0] = '\0'; /* all that is there after a failure */
    const bool whole = print(raw, sizeof raw, format, arguments) < sizeof raw;
    return write_clean(raw, out, size) && whole;
}

/** @return what follows the first "%s"; NULL if there is none */
static const char *after_text(const char *format)
{
    for (; (format = strchr(format, '%')) != NULL && format[1] != '\0'; format += 2)
        if (format[1] == 's')
            return format + 2;
    return NULL;
}

/** How long what the beginning of a format prints is. */
static size_t printed_length(const char *format, const char *end, va_list arguments)
{
    char beginning[FORMAT_SIZE];
    snprintf(beginning, sizeof beginning, "%.*s", (int)(end - format), format);
    return print(NULL, 0, beginning, arguments);
}

/** Writes a format that prints of each "%s" no more than so many bytes, the mark included.
 *  @return false if it has no room */
static bool limit_texts(const char *format, va_list arguments, size_t limit, char out[FORMAT_SIZE])
{
    tkj_text to = tkj_text_start(out, FORMAT_SIZE);
    const char *from = format;
    if (strlen(format) >= FORMAT_SIZE)
        return false;
    for (const char *end; (end = after_text(from)) != NULL; from = end) {
        const size_t before = printed_length(format, end - 2, arguments);
        tkj_text_append(&to, "%.*s", (int)(end - 2 - from), from);
        if (printed_length(format, end, arguments) - before > limit)
            tkj_text_append(&to, "%%.%zus" MARK, limit - strlen(MARK));
        else
            tkj_text_append(&to, "%%s");
    }
    tkj_text_append(&to, "%s", from);
    return to.used < FORMAT_SIZE;
}

void tkj_line_format(char *out, size_t size, const char *format, va_list arguments)
{
    char shorter[FORMAT_SIZE];
    bool whole = write_line(out, size, format, arguments);
    for (size_t limit = size - 1; !whole && limit >= SHORTEST_LIMIT; limit -= limit / 8 + 1)
        whole = limit_texts(format, arguments, limit, shorter) &&
                write_line(out, size, shorter, arguments);
}
