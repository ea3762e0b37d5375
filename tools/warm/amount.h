/* SPDX-License-Identifier: Apache-2.0 */
/** @file amount.h @brief Sizes and ages on a command line. Pure. */
#ifndef TKJ_WARM_AMOUNT_H
#define TKJ_WARM_AMOUNT_H

#include <stdbool.h>
#include <stdint.h>

/** Reads "4096", "64K", "500M", "2G", "1T" (powers of 1024; a small letter is as good). @return
 *  false if it is none, or more than an int64_t has */
bool warm_parse_size(const char *word, int64_t *bytes);

/** Reads "90s", "15m", "12h", "30d", "4w"; a number needs its unit. @return as above */
bool warm_parse_age(const char *word, int64_t *seconds);

#endif /* TKJ_WARM_AMOUNT_H */
