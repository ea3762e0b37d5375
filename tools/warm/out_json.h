/* SPDX-License-Identifier: Apache-2.0 */
/** @file out_json.h @brief JSON on stdout. */
#ifndef TKJ_WARM_OUT_JSON_H
#define TKJ_WARM_OUT_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/** Prints an object and frees it. @return false if it is NULL (no memory) or could not be written
 */
bool warm_out_json(json_t *object);

/** A text of a file that nobody vouches for. JSON is UTF-8, the text any bytes: each becomes the
 *  character of the same number. @return NULL if there is no memory */
json_t *warm_json_text(const char *text, size_t length);

/** The same of a string. @return null for NULL; NULL if there is no memory */
json_t *warm_json_string(const char *text);

#endif /* TKJ_WARM_OUT_JSON_H */
