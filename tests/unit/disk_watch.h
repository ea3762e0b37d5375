/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file disk_watch.h
 * @brief Watches what the library does to the disk: calls that the linker wraps are counted, and a
 *        directory's state can be compared with what it was.
 */
#ifndef TKJ_DISK_WATCH_H
#define TKJ_DISK_WATCH_H

#include <stdatomic.h>

/** Calls since disk_watch_start. */
typedef struct disk_watch {
    atomic_int opens;   /* looks at a path below the watched directory */
    atomic_int writes;  /* whatever creates, opens for writing, renames or removes */
    atomic_int touches; /* attempts to set times of files */
    atomic_int locks;
} disk_watch;

extern disk_watch watched;

/** Counts from zero. @param directory  absolute, must stay; NULL = none */
void disk_watch_start(const char *directory);

/** From now on until the next start, opening this very path fails so. */
void disk_watch_refuse(const char *path, int error);

/** From now on until the next start, files are somebody else's, though this process can write them:
 *  as utimensat has it, it may set both times to now and nothing else. */
void disk_watch_disown(void);

/** Every file and directory with mode, size, number and times, the time of the last change of any
 *  of these too: one text, released with free. */
char *disk_snapshot(const char *directory);

/** Asserts that a directory is as it was; releases the snapshot. */
void disk_assert_as_before(const char *directory, char *snapshot);

/** Sets a file's time so many seconds back, or forward if negative. */
void disk_set_age(const char *path, long seconds);

/** How many seconds ago a file's time is. */
long disk_age(const char *path);

#endif /* TKJ_DISK_WATCH_H */
