/* SPDX-License-Identifier: Apache-2.0 */
/** @file parse_number.h @brief Numbers on a command line. Pure. */
#ifndef TKJ_PARSE_NUMBER_H
#define TKJ_PARSE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/** Reads a whole decimal number of lowest .. highest. @return false if it is none */
bool tkj_parse_number(const char *word, int64_t lowest, int64_t highest, int64_t *out);

#endif /* TKJ_PARSE_NUMBER_H */
