/* SPDX-License-Identifier: Apache-2.0 */
/** @file quote.h @brief Text of a file that nobody vouches for, inside a message. */
#ifndef TKJ_WARM_QUOTE_H
#define TKJ_WARM_QUOTE_H

#include <stddef.h>

/** Room for a quotation with its terminator. */
#define WARM_QUOTE_SIZE 1024

/** Writes text as warm_out_text does; of a long one the beginning and "...". */
void warm_quote(const char *text, size_t length, char out[WARM_QUOTE_SIZE]);

#endif /* TKJ_WARM_QUOTE_H */
