/* SPDX-License-Identifier: Apache-2.0 */
#include "device_facts.h"

#include <strings.h>

#define KIB 1024
#define MIB (1024 * 1024)

#define DEVICE(text, major, minor, sms, shared, l2, cluster)                                       \
    {                                                                                              \
        text,                                                                                      \
        {                                                                                          \
            .compute_major = (major), .compute_minor = (minor), .sm_count = (sms),                 \
            .shared_per_block = (shared), .l2_bytes = (l2), .cluster_max = (cluster)               \
        }                                                                                          \
    }

const tkj_named_facts tkj_known_devices[] = {
    DEVICE("T4", 7, 5, 40, 64 * KIB, 4 * MIB, 0),
    DEVICE("A100", 8, 0, 108, 163 * KIB, 40 * MIB, 0),
    DEVICE("L4", 8, 9, 58, 99 * KIB, 48 * MIB, 0),
    DEVICE("H100-PCIe", 9, 0, 114, 227 * KIB, 50 * MIB, TKJ_CLUSTER_MAX),
    DEVICE("H100-SXM", 9, 0, 132, 227 * KIB, 50 * MIB, TKJ_CLUSTER_MAX),
    DEVICE("H200", 9, 0, 132, 227 * KIB, 60 * MIB, TKJ_CLUSTER_MAX),
    DEVICE("B200", 10, 0, 148, 227 * KIB, 126 * MIB, TKJ_CLUSTER_MAX),
    DEVICE("RTX-5090", 12, 0, 170, 99 * KIB, 96 * MIB, 8),
    DEVICE("GB10", 12, 1, 48, 99 * KIB, 24 * MIB, 8),
};
const size_t tkj_known_device_count = sizeof tkj_known_devices / sizeof tkj_known_devices[0];

const tkj_named_facts *tkj_known_device(const char *name)
{
    for (size_t i = 0; i < tkj_known_device_count; i++)
        if (strcasecmp(name, tkj_known_devices[i].name) == 0)
            return &tkj_known_devices[i];
    return NULL;
}
