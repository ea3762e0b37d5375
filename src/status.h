/* SPDX-License-Identifier: Apache-2.0 */
/** @file status.h @brief The calling thread's last error; every failure is recorded where it
 * occurs. */
#ifndef TKJ_STATUS_H
#define TKJ_STATUS_H

#include <topk_jit/topk_jit.h>

#if defined(__GNUC__)
#define TKJ_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))

/** Only failures call it: compilers keep what leads there out of the way of what does not. */
#define TKJ_COLD __attribute__((cold))
#else
#define TKJ_PRINTF(format_index, first)
#endif

/** Records a failure of the calling thread and returns its status. The message is one line, as
 *  tkj_line_format writes it. */
TKJ_COLD topk_jit_status tkj_fail(topk_jit_status status, const char *format, ...) TKJ_PRINTF(2, 3);

/** As tkj_fail, with the CUresult, nvrtcResult or errno that caused it. */
TKJ_COLD topk_jit_status tkj_fail_native(topk_jit_status status, int native_code,
                                         const char *format, ...) TKJ_PRINTF(3, 4);

/** Makes an earlier detail the last one again: a call that succeeds in the end leaves no trace of
 * what it met and got round. */
void tkj_error_restore(const topk_jit_error *earlier);

#endif /* TKJ_STATUS_H */
