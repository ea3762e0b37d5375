/* SPDX-License-Identifier: Apache-2.0 */
/** @file device.h @brief Facts of a GPU that decide variants and launches: data only. */
#ifndef TKJ_DEVICE_H
#define TKJ_DEVICE_H

/* The most blocks of a cluster. More than 8 are not portable: the driver says whether it has room.
 */
#define TKJ_CLUSTER_MAX 16

/** One device. */
typedef struct tkj_device_facts {
    int ordinal;       /* the driver's, and DLPack's device_id */
    int compute_major; /* compute capability X.Y */
    int compute_minor;
    int sm_count;         /* multiprocessors */
    int shared_per_block; /* bytes, the opt-in maximum */
    int l2_bytes;
    int cluster_max; /* most blocks of a cluster, 0 = no clusters */
} tkj_device_facts;

#endif /* TKJ_DEVICE_H */
