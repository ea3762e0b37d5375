/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_complain.h @brief How topk-jit-bench says what is wrong. */
#ifndef TKJ_BENCH_COMPLAIN_H
#define TKJ_BENCH_COMPLAIN_H

#include <stdbool.h>

/** Exit codes; --help documents them. */
enum {
    BENCH_EXIT_DONE = 0,
    BENCH_EXIT_WRONG = 1,
    BENCH_EXIT_USAGE = 2,
    BENCH_EXIT_NO_GPU = 3,
};

/** One line on stderr, after the name of the program. */
void bench_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Ends the program with BENCH_EXIT_WRONG, after the library's last error if there is one, unless
 *  the condition holds: for what leaves nothing to measure. */
void bench_require(bool condition, const char *what);

#endif /* TKJ_BENCH_COMPLAIN_H */
