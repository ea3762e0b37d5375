/* SPDX-License-Identifier: Apache-2.0 */
#include "source_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "quote.h"
#include "source_file.h"
#include "suggest.h"

/** Room for what a value is, in a message. */
#define GIVEN_SIZE 96

/** Whether a file is text; jansson would skip its NUL bytes. */
static bool is_text(const warm_file *file)
{
    static const char mark[] = {'\xEF', '\xBB', '\xBF'};
    if (file->size >= sizeof mark && memcmp(file->bytes, mark, sizeof mark) == 0) {
        warm_complain("%s:1:1: it begins with a byte order mark, expected '{'", file->path);
        return false;
    }
    const uint8_t *nul = memchr(file->bytes, '\0', (size_t)file->size);
    size_t line = 1;
    for (const uint8_t *at = file->bytes; nul != NULL && at < nul; at++)
        line += *at == '\n';
    if (nul != NULL)
        warm_complain("%s:%zu: it has a NUL byte, expected text", file->path, line);
    return nul == NULL;
}

static json_t *parse(const warm_file *file)
{
    json_error_t error;
    json_t *root =
        json_loadb((const char *)file->bytes, (size_t)file->size, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL) {
        char why[WARM_QUOTE_SIZE];
        warm_quote(error.text, strlen(error.text), why);
        warm_complain("%s:%d:%d: no JSON: %s", file->path, error.line, error.column, why);
    }
    return root;
}

json_t *warm_source_json(const char *path)
{
    warm_file file;
    json_t *root = NULL;
    if (warm_source_file(path, WARM_SOURCE_JSON_MAX, &file) && is_text(&file))
        root = parse(&file);
    warm_file_close(&file);
    if (root == NULL || json_is_object(root))
        return root;
    warm_source_wrong(path, "it", root, "an object");
    json_decref(root);
    return NULL;
}

/** A text or number itself, of others the kind and size. */
static void describe(const json_t *given, char out[GIVEN_SIZE])
{
    if (json_is_object(given) || json_is_array(given)) {
        snprintf(out, GIVEN_SIZE, "%s of %zu", json_is_object(given) ? "an object" : "an array",
                 json_is_object(given) ? json_object_size(given) : json_array_size(given));
        return;
    }
    /* as JSON, and as ASCII: nothing in it steers a terminal */
    char *text = json_dumps(given, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    const size_t length = text != NULL ? strlen(text) : 0;
    const bool whole = length < GIVEN_SIZE - 4;
    snprintf(out, GIVEN_SIZE, "%.*s%s", GIVEN_SIZE - 4, text != NULL ? text : "?",
             whole ? "" : "...");
    free(text);
}

bool warm_source_wrong(const char *path, const char *key, const json_t *given, const char *expected)
{
    char value[GIVEN_SIZE];
    if (given != NULL)
        describe(given, value);
    if (given != NULL)
        warm_complain("%s: %s is %s, expected %s", path, key, value, expected);
    else
        warm_complain("%s: %s is missing, expected %s", path, key, expected);
    return false;
}

bool warm_source_number(const char *path, const char *key, const json_t *given, int64_t lowest,
                        int64_t highest, int64_t *out)
{
    char expected[96];
    if (lowest == highest)
        snprintf(expected, sizeof expected, "%" PRId64, lowest);
    else
        snprintf(expected, sizeof expected, "a whole number from %" PRId64 " to %" PRId64, lowest,
                 highest);
    if (!json_is_integer(given))
        return warm_source_wrong(path, key, given, expected);
    *out = json_integer_value(given);
    return (*out >= lowest && *out <= highest) || warm_source_wrong(path, key, given, expected);
}

static bool is_known(const char *key, const char *const *known)
{
    for (; *known != NULL; known++)
        if (strcmp(*known, key) == 0)
            return true;
    return false;
}

static void complain_key(const char *path, const char *where, const char *key,
                         const char *const *known)
{
    tkj_suggestion suggestion = {.given = key};
    char quoted[WARM_QUOTE_SIZE];
    char near[256];
    char list[256] = "";
    for (; *known != NULL; known++) {
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", used == 0 ? "" : ", ", *known);
        tkj_suggest(&suggestion, *known);
    }
    warm_quote(key, strlen(key), quoted);
    tkj_suggestion_format(&suggestion, "", near, sizeof near);
    warm_complain("%s: %s has the key '%s', expected: %s%s", path, where, quoted, list, near);
}

bool warm_source_keys(const char *path, const char *where, json_t *object, const char *const *known)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        if (!is_known(key, known)) {
            complain_key(path, where, key, known);
            return false;
        }
    }
    return true;
}
