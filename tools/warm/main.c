/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file main.c
 * @brief topk-jit-warm: looks after the cache of compiled kernels. Runs the command that its first
 * argument names, or the first of the table if that is an option. `--help` lists them.
 */
#include <stdio.h>
#include <topk_jit/topk_jit.h>

#include "commands.h"
#include "complain.h"
#include "help.h"
#include "out.h"
#include "parse.h"

static int answer(const warm_command *command, const warm_call *call)
{
    const bool top = (command->common & WARM_COMMON_TOP) != 0;
    if (call->common.version)
        printf("topk-jit-warm %s\n", topk_jit_version());
    else if (top)
        warm_help_overview(command, stdout);
    else
        warm_help_command(command, stdout);
    return warm_out_end(true);
}

static int run(const warm_command *command, int argc, char **argv)
{
    warm_call call;
    int code = warm_parse(command, argc, argv, &call);
    if (code == WARM_EXIT_DONE && (call.common.help || call.common.version))
        code = answer(command, &call);
    else if (code == WARM_EXIT_DONE)
        code = command->run(&call);
    warm_call_release(&call);
    return code;
}

int main(int argc, char **argv)
{
    warm_out_begin();
    if (argc <= 1 || argv[1][0] == '-') {
        const warm_command top = warm_command_top();
        return run(&top, argc, argv);
    }
    const warm_command *command = warm_command_find(argv[1]);
    if (command != NULL)
        return run(command, argc - 1, argv + 1);
    warm_complain_word("command", argv[1], warm_command_words);
    return WARM_EXIT_USAGE;
}
