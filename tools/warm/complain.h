/* SPDX-License-Identifier: Apache-2.0 */
/** @file complain.h @brief What is wrong, for people. */
#ifndef TKJ_WARM_COMPLAIN_H
#define TKJ_WARM_COMPLAIN_H

/** One line on stderr, after the name of the program, as tkj_line_format writes it. */
void warm_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* TKJ_WARM_COMPLAIN_H */
