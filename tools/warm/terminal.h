/* SPDX-License-Identifier: Apache-2.0 */
/** @file terminal.h @brief How wide what people look at is. */
#ifndef TKJ_WARM_TERMINAL_H
#define TKJ_WARM_TERMINAL_H

#include <stddef.h>

/** The columns of the terminal that a descriptor is: what COLUMNS says, else what the terminal
 * does, else 80. @return SIZE_MAX if it is none */
size_t warm_terminal_columns(int fd);

#endif /* TKJ_WARM_TERMINAL_H */
