/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file installed.h
 * @brief Where an installation has its data.
 */
#ifndef TKJ_INSTALLED_H
#define TKJ_INSTALLED_H

/** Path to <prefix>/share from the directory of the file that this is linked into: <prefix>/lib for
 *  the shared library, <prefix>/bin for programs. Relative, so that the prefix may move. */
extern const char tkj_installed_data[];

#endif /* TKJ_INSTALLED_H */
