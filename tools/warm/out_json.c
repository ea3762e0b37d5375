/* SPDX-License-Identifier: Apache-2.0 */
#include "out_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool warm_out_json(json_t *object)
{
    if (object == NULL)
        return false;
    const bool ok = json_dumpf(object, stdout, JSON_INDENT(2)) == 0;
    putchar('\n');
    json_decref(object);
    return ok;
}

json_t *warm_json_text(const char *text, size_t length)
{
    char *utf8 = malloc(2 * length + 1);
    if (utf8 == NULL)
        return NULL;
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        const unsigned char byte = (unsigned char)text[i];
        if (byte >= 0x80)
            utf8[used++] = (char)(0xC0 | byte >> 6);
        utf8[used++] = (char)(byte >= 0x80 ? 0x80 | (byte & 0x3F) : byte);
    }
    json_t *string = json_stringn(utf8, used);
    free(utf8);
    return string;
}

json_t *warm_json_string(const char *text)
{
    return text != NULL ? warm_json_text(text, strlen(text)) : json_null();
}
