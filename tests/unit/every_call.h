/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file every_call.h
 * @brief Numbers the calls into the system that one thread makes, and lets one of them fail.
 *
 * A test links every_call.c, and with --wrap all functions that it defines: the list is
 * TKJ_EVERY_CALL in CMakeLists.txt.
 */
#ifndef TKJ_EVERY_CALL_H
#define TKJ_EVERY_CALL_H

#include <stdbool.h>

/** What goes wrong. */
typedef struct every_call_fault {
    int nth;        /* this call, 1 = the first; 0 = all, for short transfers */
    int error;      /* errno of a call that fails; close fails after it has closed */
    bool shortened; /* no failure: if it is a pread or write, it transfers one byte */
} every_call_fault;

/** From here on the calls of this thread count. @param shm  stands for /dev/shm: borrowed */
void every_call_begin(every_call_fault fault, const char *shm);

/** Until here. @return the name of the call that the fault struck, "" if there were not so many */
const char *every_call_end(void);

#endif /* TKJ_EVERY_CALL_H */
