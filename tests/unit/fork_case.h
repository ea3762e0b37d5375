/* SPDX-License-Identifier: Apache-2.0 */
/** @file fork_case.h @brief Children of a process, and threads that stop where a fork finds them.
 */
#ifndef TKJ_FORK_CASE_H
#define TKJ_FORK_CASE_H

#include "plan_case.h"

#include <stdio.h>

/** In a child, where cmocka's assertions have no place: says what is wrong and returns 1. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: in the child: %s\n", __FILE__, __LINE__, #condition);          \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

/** cmocka's set-up: plan_case_set_up, with nothing bent. */
int fork_case_set_up(void **state);

/** Runs the work in a child, which has a minute: a deadlock is a failure.
 *  @return what it returned; -1 if it died */
int fork_case_run_child(plan_case *it, int (*work)(plan_case *it));

/** The same; it must return 0. No thread of the parent may be stopped. */
void fork_case_assert_child(plan_case *it, int (*work)(plan_case *it));

/** A thread prepares a spec and stops once it has locked this mutex; NULL = when it is about to
 *  compile. Returns when it has stopped. */
void fork_case_stop_thread(plan_case *it, const topk_jit_spec *spec, pthread_mutex_t *at);

/** Lets it go on to its end, which must be a success. */
void fork_case_release_thread(void);

/** From now on the system offers no bytes that a fork wipes. */
extern bool fork_case_no_wipe;

/** From now on a child takes its time to forget the parent's kernels. */
extern bool fork_case_slow;

/** Selects from two rows on the host. @return whether the slots are right */
bool fork_case_host_works(topk_jit_context *context);

/** Selects on the GPU of sm_90. */
topk_jit_status fork_case_launch(topk_jit_context *context, const topk_jit_spec *spec);

#endif /* TKJ_FORK_CASE_H */
