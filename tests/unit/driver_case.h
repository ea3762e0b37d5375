/* SPDX-License-Identifier: Apache-2.0 */
/** @file driver_case.h @brief What the tests with the fake driver share. */
#ifndef TKJ_DRIVER_CASE_H
#define TKJ_DRIVER_CASE_H

#include "testing.h"

#include "driver.h"
#include "fake_cuda.h"

#define ANY_CODE 719 /* a CUresult that the fake never returns by itself */

/** The fake, with a context and a stream on each device. */
extern const fake_cuda *fake;
extern void *contexts[FAKE_CUDA_DEVICES];
extern CUstream streams[FAKE_CUDA_DEVICES];

/** Finds the fake; says so if it cannot. */
bool driver_case_connect(void);

/** Resets the fake and makes contexts and streams: the setup of every test. */
int driver_case_start(void **state);

void assert_message_has(const char *text);

/** The thread is as the caller had it: context, context stack and capture mode. */
void assert_thread_is_as_before(void *current);

#endif /* TKJ_DRIVER_CASE_H */
