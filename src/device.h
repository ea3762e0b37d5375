/* SPDX-License-Identifier: Apache-2.0 */
/** @file device.h @brief Facts of a GPU that decide variants and launches: data only. */
#ifndef TKJ_DEVICE_H
#define TKJ_DEVICE_H

#include <stdbool.h>

/** One device. */
typedef struct tkj_device_facts {
    int ordinal;       /* the driver's, and DLPack's device_id */
    int compute_major; /* compute capability X.Y */
    int compute_minor;
    int sm_count;         /* multiprocessors */
    int shared_per_block; /* bytes, the opt-in maximum */
    int l2_bytes;
    bool clusters; /* thread block clusters can be launched */
} tkj_device_facts;

#endif /* TKJ_DEVICE_H */
