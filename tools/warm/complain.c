/* SPDX-License-Identifier: Apache-2.0 */
#include "complain.h"

#include <stdarg.h>
#include <stdio.h>

#include "line.h"

void warm_complain(const char *format, ...)
{
    char line[TKJ_LINE_SIZE_MAX];
    va_list arguments;
    va_start(arguments, format);
    tkj_line_format(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(stderr, "topk-jit-warm: %s\n", line);
}
