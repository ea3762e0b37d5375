/* SPDX-License-Identifier: Apache-2.0 */
/** @file bytes_out.h @brief A command's result that is a file of its own: where it goes. */
#ifndef TKJ_WARM_BYTES_OUT_H
#define TKJ_WARM_BYTES_OUT_H

#include <stddef.h>

/**
 * Writes to a file, or to stdout. A file appears whole or not at all, also behind a symbolic link,
 * which stays one; devices and pipes are written to. What a terminal cannot show goes there only if
 * it is told to. What is wrong is said in one line on stderr.
 * @param path  NULL = stdout; "-" = stdout whatever it is
 * @return WARM_EXIT_DONE; WARM_EXIT_FAILED, and there is no half of a file; WARM_EXIT_USAGE
 *         (bytes that a terminal would get)
 */
int warm_bytes_write(const char *path, const void *bytes, size_t size);

#endif /* TKJ_WARM_BYTES_OUT_H */
