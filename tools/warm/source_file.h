/* SPDX-License-Identifier: Apache-2.0 */
/** @file source_file.h @brief A file that says what to build. */
#ifndef TKJ_WARM_SOURCE_FILE_H
#define TKJ_WARM_SOURCE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "file.h"

/**
 * Has all of a regular file in out->bytes, or refuses one that is larger than `most` unread. What
 * is wrong is said in one line on stderr.
 * @param[out] out  closed with warm_file_close, also after a failure
 */
bool warm_source_file(const char *path, uint64_t most, warm_file *out);

#endif /* TKJ_WARM_SOURCE_FILE_H */
