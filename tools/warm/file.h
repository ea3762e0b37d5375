/* SPDX-License-Identifier: Apache-2.0 */
/** @file file.h @brief A file that nobody vouches for, read as far as asked. */
#ifndef TKJ_WARM_FILE_H
#define TKJ_WARM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct warm_file {
    const char *path; /* borrowed */
    int fd;
    bool absent;    /* it could not be opened, for nothing has that path */
    uint64_t size;  /* when it was opened */
    uint8_t *bytes; /* owned: its first bytes */
} warm_file;

/**
 * Opens a regular file; never waits, as a FIFO would make it. What is wrong is said in one line on
 * stderr.
 * @param[out] out  closed with warm_file_close, also after a failure
 */
bool warm_file_open(const char *path, warm_file *out);

/**
 * Has the first bytes of the file in file->bytes, in place of what was there. What is wrong is said
 * in one line on stderr.
 * @param size  at most file->size
 * @return false if they cannot be read or there is no memory
 */
bool warm_file_read(warm_file *file, uint64_t size);

void warm_file_close(warm_file *file);

#endif /* TKJ_WARM_FILE_H */
