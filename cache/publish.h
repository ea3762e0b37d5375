/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file publish.h
 * @brief Puts a file under its name below a cache root: whole, or not at all.
 */
#ifndef TKJ_CACHE_PUBLISH_H
#define TKJ_CACHE_PUBLISH_H

#include "os.h"

/** Directory of the files that are being written. */
#define TKJ_PUBLISH_DIR "tmp"

/** How their names begin. */
#define TKJ_PUBLISH_PREFIX "new-"

/** A file in the root that tells backups to skip it. */
#define TKJ_PUBLISH_TAG "CACHEDIR.TAG"

/** How long a file may stand there before it is taken for the leavings of a dead process: writing
 *  an entry takes milliseconds. */
#define TKJ_PUBLISH_STALE_SECONDS 3600

/**
 * Writes a temporary file, syncs it, closes it and renames it over `name`, creating the directories
 * it needs; removes the temporary file if any of that fails.
 * @param root_fd    a trusted directory
 * @param name       "directory/directory/file"
 * @param trust      who may use what is created
 * @param[out] step  what failed, a static string such as "an entry cannot be written"; set on
 *                   failure
 * @return 0, or -1 with errno
 */
int tkj_publish(int root_fd, const char *name, const tkj_blob *bytes, tkj_trust trust,
                const char **step);

/** How many leavings of dead processes the next store below a root would remove. */
size_t tkj_publish_count_stale(int root_fd, tkj_trust trust);

#endif /* TKJ_CACHE_PUBLISH_H */
