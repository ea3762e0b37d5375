/* SPDX-License-Identifier: Apache-2.0 */
#include "number_file.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** The text of a small file. @return false if there is none */
static bool read_text(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    const size_t length = fread(text, 1, size - 1, file);
    text[length] = '\0';
    (void)fclose(file);
    return length > 0;
}

/** What follows a word at the start of a line. @return NULL if there is no such line */
static const char *find(const char *text, const char *word)
{
    while (text != NULL && strncmp(text, word, strlen(word)) != 0) {
        text = strchr(text, '\n');
        text = text != NULL ? text + 1 : NULL;
    }
    return text != NULL ? text + strlen(word) : NULL;
}

/** @return its end, NULL if there is none */
static const char *take_number(const char *text, uint64_t *out)
{
    char *end;
    text += strspn(text, " ");
    if (!isdigit((unsigned char)*text))
        return NULL;
    *out = strtoull(text, &end, 10);
    return end;
}

bool warm_numbers_in_file(const char *directory, const char *name, const char *word, uint64_t *out,
                          size_t count)
{
    char path[2 * PATH_MAX];
    char text[8192];
    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path ||
        !read_text(path, text, sizeof text))
        return false;
    const char *at = find(text, word);
    for (size_t i = 0; i < count && at != NULL; i++)
        at = take_number(at, &out[i]);
    return at != NULL;
}
