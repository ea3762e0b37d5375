/* SPDX-License-Identifier: Apache-2.0 */
/** @file line.h @brief One line for people, whatever the values are that it quotes. Pure. */
#ifndef TKJ_LINE_H
#define TKJ_LINE_H

#include <stdarg.h>
#include <stddef.h>

/** No line has room for more, its terminator included. */
#define TKJ_LINE_SIZE_MAX 2048

/**
 * As vsnprintf, for messages: a path or an argument may be of any length and hold any byte.
 *
 * Where there is no room, the longest "%s" are cut and end in "...", so that what follows them
 * stays: mostly the reason. Control characters, and bytes that are no UTF-8, become \xNN: the line
 * stays one, steers no terminal, and is a text to every reader.
 * @param size  from 1 to TKJ_LINE_SIZE_MAX
 */
void tkj_line_format(char *out, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

#endif /* TKJ_LINE_H */
