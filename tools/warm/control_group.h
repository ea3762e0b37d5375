/* SPDX-License-Identifier: Apache-2.0 */
/** @file control_group.h @brief What the control groups of version 2 leave to this process. */
#ifndef TKJ_WARM_CONTROL_GROUP_H
#define TKJ_WARM_CONTROL_GROUP_H

#include <stdint.h>

/** UINT64_MAX = there is no limit. */
typedef struct warm_control_limits {
    uint64_t cores;  /* whole ones; 0 = less than one */
    uint64_t memory; /* bytes: the limit of the group that leaves the least */
    uint64_t left;   /* bytes: what it leaves */
} warm_control_limits;

/**
 * The tightest limits of its own group and of those above it. The root has limits only inside a
 * container. Version 1 is not read.
 * @param root  "" for this machine; else the directory that stands for /, for tests
 */
warm_control_limits warm_control_group_limits(const char *root);

#endif /* TKJ_WARM_CONTROL_GROUP_H */
