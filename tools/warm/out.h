/* SPDX-License-Identifier: Apache-2.0 */
/** @file out.h @brief stdout: how every command begins, ends and writes text that it did not write.
 */
#ifndef TKJ_WARM_OUT_H
#define TKJ_WARM_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/**
 * Once, before anything is opened. What is closed of stdin, stdout and stderr is filled, so that no
 * file of the cache becomes what messages are written to; writing to a stdout that was closed fails
 * still. SIGPIPE is ignored: a reader that went away must not end a command which holds locks. A
 * program that is started by a command needs the default again.
 */
void warm_out_begin(void);

/**
 * The end of a command that printed its result. A reader that went away is told nothing; any other
 * failure is said in one line on stderr.
 * @param printed  false if something is known not to have been printed
 * @return WARM_EXIT_DONE or WARM_EXIT_FAILED
 */
int warm_out_end(bool printed);

/** Writes text of a file that nobody vouches for: what is not printable ASCII as \xNN, a backslash
 *  as two. It can neither steer a terminal nor make one line look like two. */
void warm_out_text(FILE *to, const char *text, size_t length);

/** Writes the lines of such a text, set in, so that none of them reads as a line of ours. */
void warm_out_lines(FILE *to, const char *indent, const char *text);

#endif /* TKJ_WARM_OUT_H */
