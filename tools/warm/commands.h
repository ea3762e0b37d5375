/* SPDX-License-Identifier: Apache-2.0 */
/** @file commands.h @brief All commands of topk-jit-warm. */
#ifndef TKJ_WARM_COMMANDS_H
#define TKJ_WARM_COMMANDS_H

#include "command.h"

extern const warm_command warm_command_build;
extern const warm_command warm_command_list;
extern const warm_command warm_command_inspect;
extern const warm_command warm_command_verify;
extern const warm_command warm_command_prune;
extern const warm_command warm_command_dump;
extern const warm_command warm_command_pack;
extern const warm_command warm_command_unpack;
extern const warm_command warm_command_explain;
extern const warm_command warm_command_doctor;
extern const warm_command warm_command_completions;
extern const warm_command warm_command_manual;
extern const warm_command warm_command_help;

/** In the order in which they are listed; the first is the one that runs if none is named. */
extern const warm_command *const warm_commands[];
extern const size_t warm_command_count;

/** The first, with the options that it has if none is named. */
warm_command warm_command_top(void);

/** @return NULL if none is called so */
const warm_command *warm_command_find(const char *name);

/** The names of all. */
bool warm_command_words(size_t index, char out[WARM_WORD_SIZE]);

#endif /* TKJ_WARM_COMMANDS_H */
