/* SPDX-License-Identifier: Apache-2.0 */
/** @file help.h @brief What --help prints, made from the table of a command. */
#ifndef TKJ_WARM_HELP_H
#define TKJ_WARM_HELP_H

#include <stdio.h>

#include "command.h"

void warm_help_command(const warm_command *command, FILE *to);

/** All commands, each with its summary. @param top  the command that runs if none is named, with
 * the options that it has then */
void warm_help_overview(const warm_command *top, FILE *to);

#endif /* TKJ_WARM_HELP_H */
