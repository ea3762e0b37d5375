/* SPDX-License-Identifier: Apache-2.0 */
/** @file crew.h @brief Many threads that do the same to one plan_case at the same time. */
#ifndef TKJ_CREW_H
#define TKJ_CREW_H

#include "plan_case.h"

#define CREW_THREADS 8

/** What a thread does, the how-manieth it is being given; asserts nothing itself, since cmocka's
 *  assertions belong to the main one. */
typedef bool (*crew_work)(plan_case *it, int thread);

/** Runs the work on all threads at once; every one of them must succeed. */
void crew_assert_all_succeed(plan_case *it, crew_work run);

#endif /* TKJ_CREW_H */
