/* SPDX-License-Identifier: Apache-2.0 */
/** @file offline_case.h @brief The message of an offline miss, taken apart. */
#ifndef TKJ_OFFLINE_CASE_H
#define TKJ_OFFLINE_CASE_H

#include "plan_layers.h"

/** Parts of a message; empty where it has none. */
typedef struct offline_message {
    char command[2048];
    char spec[512];
    char target[32];
    char key[64];
    char places[4096];
} offline_message;

/** Prepares a spec that must be an offline miss on the GPU of sm_90, once. @return what was logged,
 *  taken apart */
offline_message offline_case_miss(plan_case *it, const topk_jit_spec *spec);

#endif /* TKJ_OFFLINE_CASE_H */
