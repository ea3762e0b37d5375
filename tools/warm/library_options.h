/* SPDX-License-Identifier: Apache-2.0 */
/** @file library_options.h @brief Rows of option tables: where the library takes its parts from.
 * The options have a char[PATH_MAX] of that name, and its WARM_TAKE_PATH. */
#ifndef TKJ_WARM_LIBRARY_OPTIONS_H
#define TKJ_WARM_LIBRARY_OPTIONS_H

#include "command.h"
#include "paths.h"

#define WARM_TEMPLATE_DIR_OPTION(text)                                                             \
    {                                                                                              \
        .name = "template-dir", .argument = "DIR", .help = (text),                                 \
        .otherwise = "TOPK_JIT_TEMPLATE_DIR, those of the library", .expected = "a directory",     \
        .complete = WARM_COMPLETE_DIRECTORIES, .take = take_template_dir                           \
    }

#define WARM_NVRTC_OPTION                                                                          \
    {                                                                                              \
        .name = "nvrtc", .argument = "FILE", .help = "the libnvrtc to use",                        \
        .otherwise = "TOPK_JIT_NVRTC, found", .expected = "a file",                                \
        .complete = WARM_COMPLETE_FILES, .take = take_nvrtc                                        \
    }

#endif /* TKJ_WARM_LIBRARY_OPTIONS_H */
