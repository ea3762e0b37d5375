/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file library.h
 * @brief libtopk_jit.so, opened by path: the module is not linked with it, so one wheel serves a
 * library inside it, in a build tree or of the system.
 */
#ifndef TKP_LIBRARY_H
#define TKP_LIBRARY_H

#include "native.h"

/** Opens the library and finds its functions. Raises OSError. */
int tkp_library_load(tkp_library *library, const char *path);

#endif
