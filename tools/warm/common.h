/* SPDX-License-Identifier: Apache-2.0 */
/** @file common.h @brief What commands have in common: options, exit statuses, variables. */
#ifndef TKJ_WARM_COMMON_H
#define TKJ_WARM_COMMON_H

#include "command.h"

/** The options of a command: its own, then the common ones that it has. @return NULL past the last
 */
const warm_option *warm_option_at(const warm_command *command, size_t index);

/**
 * The exit statuses of a command, ascending: the common ones, with the command's meaning where it
 * has one, and its own.
 * @return false past the last one
 */
bool warm_exit_at(const warm_command *command, size_t index, warm_exit *out);

/** A variable of the environment that the commands or the library read. */
typedef struct warm_variable {
    const char *name; /* NULL ends the table */
    const char *meaning;
} warm_variable;

extern const warm_variable warm_variables[];

#endif /* TKJ_WARM_COMMON_H */
