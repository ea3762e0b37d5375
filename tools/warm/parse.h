/* SPDX-License-Identifier: Apache-2.0 */
/** @file parse.h @brief Reads a command line by the table of its command. */
#ifndef TKJ_WARM_PARSE_H
#define TKJ_WARM_PARSE_H

#include "command.h"

/**
 * Reads what follows the name of a command. Where --help or --version comes, it ends there. What is
 * wrong is said in one line on stderr: the argument, what was given, what is expected.
 * @param argv      argv[0] is not looked at; the order of the others changes
 * @param[out] out  released with warm_call_release, also after a failure
 * @return an exit status; only with WARM_EXIT_DONE can the call be run
 */
int warm_parse(const warm_command *command, int argc, char **argv, warm_call *out);

void warm_call_release(warm_call *call);

/** Says that a word is none of a set, and which of them is near.
 *  @param what  was given it: the name of an option or operand */
void warm_complain_word(const char *what, const char *given, warm_words *words);

#endif /* TKJ_WARM_PARSE_H */
