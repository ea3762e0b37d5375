/* SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"

#include <stdio.h>
#include <string.h>

const warm_command *const warm_commands[] = {
    &warm_command_build,   &warm_command_list,   &warm_command_inspect,     &warm_command_verify,
    &warm_command_prune,   &warm_command_dump,   &warm_command_pack,        &warm_command_unpack,
    &warm_command_explain, &warm_command_doctor, &warm_command_completions, &warm_command_manual,
    &warm_command_help,
};
const size_t warm_command_count = sizeof warm_commands / sizeof warm_commands[0];

warm_command warm_command_top(void)
{
    warm_command top = *warm_commands[0];
    top.common |= WARM_COMMON_TOP;
    return top;
}

const warm_command *warm_command_find(const char *name)
{
    for (size_t i = 0; i < warm_command_count; i++)
        if (strcmp(warm_commands[i]->name, name) == 0)
            return warm_commands[i];
    return NULL;
}

bool warm_command_words(size_t index, char out[WARM_WORD_SIZE])
{
    if (index >= warm_command_count)
        return false;
    snprintf(out, WARM_WORD_SIZE, "%s", warm_commands[index]->name);
    return true;
}
