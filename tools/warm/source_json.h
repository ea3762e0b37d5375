/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file source_json.h
 * @brief JSON that nobody vouches for: read strictly, and what is wrong with it named.
 *
 * All complaints are one line on stderr: the file, the key, what was given, what is expected.
 */
#ifndef TKJ_WARM_SOURCE_JSON_H
#define TKJ_WARM_SOURCE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The largest file that is read. jansson needs up to 50 times the size, for arrays in arrays. */
#define WARM_SOURCE_JSON_MAX ((uint64_t)4 << 20)

/** The object that a file is. @return owned; NULL after a complaint */
json_t *warm_source_json(const char *path);

/** Complains that a key has the wrong value; NULL = it is missing. @return false */
bool warm_source_wrong(const char *path, const char *key, const json_t *given,
                       const char *expected);

/** A whole number of lowest .. highest, else a complaint. */
bool warm_source_number(const char *path, const char *key, const json_t *given, int64_t lowest,
                        int64_t highest, int64_t *out);

/**
 * Whether an object has no other keys than these, else a complaint.
 * @param where  what the object is called, such as "kernels[2]"
 * @param known  NULL ends it
 */
bool warm_source_keys(const char *path, const char *where, json_t *object,
                      const char *const *known);

#endif /* TKJ_WARM_SOURCE_JSON_H */
