/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file new_file.h
 * @brief A file that is there whole or not at all, readable by everybody (mode 0644).
 *
 * It is written beside its place, under a name that begins with WARM_NEW_FILE_PREFIX, and renamed.
 * A process that is killed before leaves that one behind, and nothing else. What is wrong is said
 * in one line on stderr.
 */
#ifndef TKJ_WARM_NEW_FILE_H
#define TKJ_WARM_NEW_FILE_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#define WARM_NEW_FILE_PREFIX ".topk-jit-new-"

typedef struct warm_new_file {
    const char *path;         /* borrowed */
    bool replaces;            /* what stands there: a regular file only */
    char temporary[PATH_MAX]; /* "" = there is nothing to remove */
    int fd;                   /* -1 = closed */
    sigset_t ends;            /* signals that would end this thread: they wait */
    sigset_t before;          /* which waited before */
} warm_new_file;

/** Whether a file may come to be there; looks, and changes nothing. */
bool warm_new_file_check(const char *path, bool replaces);

/** @param[out] out  ended by warm_new_file_finish or warm_new_file_abandon */
bool warm_new_file_open(const char *path, bool replaces, warm_new_file *out);

bool warm_new_file_write(warm_new_file *file, const void *bytes, size_t size);

/** Puts it in its place, of which nothing was taken meanwhile unless it replaces. */
bool warm_new_file_finish(warm_new_file *file);

/** Removes what was written, unless it is finished. */
void warm_new_file_abandon(warm_new_file *file);

#endif /* TKJ_WARM_NEW_FILE_H */
