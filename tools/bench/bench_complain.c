/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_complain.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <topk_jit/topk_jit.h>

void bench_complain(const char *format, ...)
{
    va_list arguments;
    fputs("topk-jit-bench: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
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
