/* SPDX-License-Identifier: Apache-2.0 */
/** @file command_help.c @brief topk-jit-warm help: the manual of a command, or the list of all. */
#include "commands.h"
#include "help.h"
#include "out.h"

static int run(const warm_call *call)
{
    const warm_command top = warm_command_top();
    if (call->operand_count == 0)
        warm_help_overview(&top, stdout);
    else
        warm_help_command(warm_command_find(call->operands[0]), stdout);
    return warm_out_end(true);
}

const warm_command warm_command_help = {
    .name = "help",
    .summary = "prints the manual of a command, or the list of all",
    .usage = "[COMMAND]",
    .description = "Prints what COMMAND --help prints; without a command, what --help prints.",
    .operand = {.name = "COMMAND", .most = 1, .words = warm_command_words},
    .run = run,
};
