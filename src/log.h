/* SPDX-License-Identifier: Apache-2.0 */
/** @file log.h @brief Log lines of a context: to its callback, or to stderr where TOPK_JIT_LOG
 * asks. */
#ifndef TKJ_LOG_H
#define TKJ_LOG_H

#include <topk_jit/topk_jit.h>

/** Where log lines go; level 0 = nowhere. */
typedef struct tkj_logger {
    topk_jit_log_callback callback;
    void *user;
    topk_jit_log_level level; /* least important level that is reported */
} tkj_logger;

/** The callback that writes "topk_jit: level: text" to stderr. */
void tkj_log_to_stderr(void *user, topk_jit_log_level level, const char *text);

/** Level named by TOPK_JIT_LOG: error, warning, info or debug; anything else is TOPK_JIT_LOG_INFO.
 */
topk_jit_log_level tkj_log_level_parse(const char *text);

/** One line of at most 2 KiB; a longer one is cut, and a control character becomes '?'. */
void tkj_log(const tkj_logger *logger, topk_jit_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** A text of any length, such as a compiler log. */
void tkj_log_text(const tkj_logger *logger, topk_jit_log_level level, const char *text);

#endif /* TKJ_LOG_H */
