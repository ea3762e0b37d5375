/* SPDX-License-Identifier: Apache-2.0 */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "line.h"

static const char *const level_names[] = {
    [TOPK_JIT_LOG_ERROR] = "error",
    [TOPK_JIT_LOG_WARNING] = "warning",
    [TOPK_JIT_LOG_INFO] = "info",
    [TOPK_JIT_LOG_DEBUG] = "debug",
};

void tkj_log_to_stderr(void *user, topk_jit_log_level level, const char *text)
{
    (void)user;
    fprintf(stderr, "topk_jit: %s: %s\n", level_names[level], text);
}

topk_jit_log_level tkj_log_level_parse(const char *text)
{
    for (int level = TOPK_JIT_LOG_ERROR; level <= TOPK_JIT_LOG_DEBUG; level++)
        if (strcmp(text, level_names[level]) == 0)
            return (topk_jit_log_level)level;
    return TOPK_JIT_LOG_INFO;
}

void tkj_log(const tkj_logger *logger, topk_jit_log_level level, const char *format, ...)
{
    if (logger->callback == NULL || level > logger->level)
        return;
    char line[TKJ_LINE_SIZE_MAX];
    va_list arguments;
    va_start(arguments, format);
    tkj_line_format(line, sizeof line, format, arguments);
    va_end(arguments);
    logger->callback(logger->user, level, line);
}

void tkj_log_text(const tkj_logger *logger, topk_jit_log_level level, const char *text)
{
    if (logger->callback != NULL && level <= logger->level)
        logger->callback(logger->user, level, text);
}
