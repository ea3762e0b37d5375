/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_complain.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <topk_jit/topk_jit.h>

#include "line.h"

void bench_complain(const char *format, ...)
{
    char line[TKJ_LINE_SIZE_MAX];
    va_list arguments;
    va_start(arguments, format);
    tkj_line_format(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(stderr, "topk-jit-bench: %s\n", line);
}

void bench_require(bool condition, const char *what)
{
    if (condition)
        return;
    const topk_jit_error *error = topk_jit_last_error();
    const bool known = error->status != TOPK_JIT_OK;
    bench_complain("%s%s%s", what, known ? ": " : "", known ? error->message : "");
    exit(BENCH_EXIT_WRONG);
}
