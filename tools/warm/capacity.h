/* SPDX-License-Identifier: Apache-2.0 */
/** @file capacity.h @brief How many kernels this machine can compile at a time. */
#ifndef TKJ_WARM_CAPACITY_H
#define TKJ_WARM_CAPACITY_H

#include <stddef.h>

/**
 * One builder for each core that this process may use, fewer where memory is short: by its affinity
 * and what the machine has available, and by its control groups
 * (control_group.h).
 * @param root  "" for this machine; else the directory that stands for /, for tests
 * @return at least 1
 */
size_t warm_capacity(const char *root);

#endif /* TKJ_WARM_CAPACITY_H */
