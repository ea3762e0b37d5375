/* SPDX-License-Identifier: Apache-2.0 */
/** @file number_file.h @brief Numbers in the small files of /proc and /sys. */
#ifndef TKJ_WARM_NUMBER_FILE_H
#define TKJ_WARM_NUMBER_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Reads numbers of decimal digits, between blanks, from the first 8 KiB of a file.
 * @param word  after which they come, at the start of a line; "" = at the start of the file
 * @return false if they are not there, as "max" is none
 */
bool warm_numbers_in_file(const char *directory, const char *name, const char *word, uint64_t *out,
                          size_t count);

#endif /* TKJ_WARM_NUMBER_FILE_H */
