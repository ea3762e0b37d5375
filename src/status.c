/* SPDX-License-Identifier: Apache-2.0 */
#include "status.h"

#include <stdarg.h>

#include "line.h"

static _Thread_local topk_jit_error last_error;

static topk_jit_status record(topk_jit_status status, int native_code, const char *format,
                              va_list arguments)
{
    last_error.status = status;
    last_error.domain = (topk_jit_domain)(status / 10);
    last_error.native_code = native_code;
    tkj_line_format(last_error.message, sizeof last_error.message, format, arguments);
    return status;
}

topk_jit_status tkj_fail(topk_jit_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    record(status, 0, format, arguments);
    va_end(arguments);
    return status;
}

topk_jit_status tkj_fail_native(topk_jit_status status, int native_code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    record(status, native_code, format, arguments);
    va_end(arguments);
    return status;
}

void tkj_error_restore(const topk_jit_error *earlier)
{
    last_error = *earlier;
}

const topk_jit_error *topk_jit_last_error(void)
{
    return &last_error;
}

const char *topk_jit_status_name(topk_jit_status status)
{
    switch (status) {
#define NAME_CASE(number, name, meaning)                                                           \
    case TOPK_JIT_##name:                                                                          \
        return #name;
        TOPK_JIT_STATUS_MAP(NAME_CASE)
#undef NAME_CASE
    }
    return "UNKNOWN";
}
