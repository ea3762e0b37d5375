/* SPDX-License-Identifier: Apache-2.0 */
/** @file command_inspect.h @brief topk-jit-warm inspect: what is in an entry or a pack. */
#ifndef TKJ_WARM_COMMAND_INSPECT_H
#define TKJ_WARM_COMMAND_INSPECT_H

/**
 * Runs the command; argv[0] is the program's name, the rest what follows "inspect".
 * @return an exit code
 */
int warm_inspect(int argc, char **argv);

/** The manual that inspect --help prints. */
extern const char warm_inspect_help[];

#endif /* TKJ_WARM_COMMAND_INSPECT_H */
