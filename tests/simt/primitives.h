/* SPDX-License-Identifier: Apache-2.0 */
/** @file primitives.h @brief Kernels that write what one operation of the platform gives. */
#ifndef TKJ_SIMT_PRIMITIVES_H
#define TKJ_SIMT_PRIMITIVES_H

#include "wrong.h"

/** Each writes one word a thread, or more rows of them. */
#define PRIMITIVE_KERNELS(X)                                                                       \
    X(ballots)                                                                                     \
    X(shuffles)                                                                                    \
    X(wide_shuffle)                                                                                \
    X(matches)                                                                                     \
    X(reductions)                                                                                  \
    X(bit_counts)                                                                                  \
    X(halves)                                                                                      \
    X(rounded)                                                                                     \
    X(roots)                                                                                       \
    X(saturated)                                                                                   \
    X(distinct_bins)                                                                               \
    X(atomics)                                                                                     \
    X(slots_by_order)                                                                              \
    X(left_in_memory)                                                                              \
    X(ring_of_copies)                                                                              \
    X(cluster_exchange)                                                                            \
    X(copies_between_ranks)                                                                        \
    X(remote_arrivals)                                                                             \
    X(copy_out)

#endif /* TKJ_SIMT_PRIMITIVES_H */
