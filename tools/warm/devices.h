/* SPDX-License-Identifier: Apache-2.0 */
/** @file devices.h @brief Whether GPUs are present. */
#ifndef TKJ_WARM_DEVICES_H
#define TKJ_WARM_DEVICES_H

/** Of more, those beyond are not looked at. */
#define WARM_DEVICES_MAX 64

/**
 * Opens the driver and counts the devices that it shows to this process.
 * @param[out] count  from 1 to WARM_DEVICES_MAX
 * @return NULL, or why there is none: valid until the library fails again in this thread
 */
const char *warm_devices(int *count);

#endif /* TKJ_WARM_DEVICES_H */
