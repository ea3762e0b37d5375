/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file load_calls.h
 * @brief Notes who calls functions that open, read, lock, start or ask, from before main on.
 *
 * The program that links load_calls.c defines these functions itself, and the loader prefers its
 * definitions for every library that it loads: files (open, openat, fopen, opendir, stat, fstat,
 * fstatat, lstat, access, readlink, realpath, mkdir, fcntl), memory (mmap, madvise), environment
 * (getenv, secure_getenv), threads (pthread_create, pthread_mutex_lock, pthread_once),
 * libraries (dlopen), signals (sigaction), processes (fork).
 */
#ifndef TKJ_LOAD_CALLS_H
#define TKJ_LOAD_CALLS_H

#include <stddef.h>

/** How many calls came so far from the library whose file's name has a part; up to 8 of their names
 *  are printed if there are any. The library is loaded. */
size_t load_calls_from(const char *part);

/** File of the loader: what a constructor calls as its last step seems to come from there, for the
 *  compiler makes a jump of it. */
#define LOAD_CALLS_LOADER "/ld-"

/** Functions that the loader runs when it loads a library and when it unloads it. */
typedef struct load_functions {
    size_t before; /* constructors */
    size_t after;  /* destructors */
} load_functions;

/** Those of a library that is loaded. */
load_functions load_functions_of(const char *part);

#endif /* TKJ_LOAD_CALLS_H */
