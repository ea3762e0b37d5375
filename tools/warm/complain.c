/* SPDX-License-Identifier: Apache-2.0 */
#include "complain.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

void warm_complain(const char *format, ...)
{
    char line[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (char *at = line; *at != '\0'; at++) /* names of files hold anything: one line stays one */
        if (iscntrl((unsigned char)*at))
            *at = '?';
    fprintf(stderr, "topk-jit-warm: %s\n", line);
}
