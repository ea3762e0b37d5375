/* SPDX-License-Identifier: Apache-2.0 */
/** @file paths.h @brief Paths on a command line. */
#ifndef TKJ_WARM_PATHS_H
#define TKJ_WARM_PATHS_H

#include <limits.h>
#include <stdbool.h>

/** The library wants absolute paths, a person types relative ones. @return false if the path is
 *  empty or too long, or there is no working directory */
bool warm_path_absolute(const char *given, char out[PATH_MAX]);

/** The path, or as much of an absolute one as exists, up to its root. @return false if it is too
 *  long */
bool warm_path_nearest(const char *path, char out[PATH_MAX]);

#endif /* TKJ_WARM_PATHS_H */
