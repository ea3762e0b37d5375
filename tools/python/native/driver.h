/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file driver.h
 * @brief Makes the GPU of the tensors the current one where the stream does not say which it is.
 *
 * The library takes the GPU from the stream. The default streams (NULL, 1, 2) are those of the
 * current context, which in a framework belongs to the current device and not to the tensor's:
 * without this, a call on tensors of the second GPU would launch on the first one.
 */
#ifndef TKP_DRIVER_H
#define TKP_DRIVER_H

#include <stdbool.h>

enum { TKP_ANY_DEVICE = -1 }; /* whichever is current, else the first */

/** What has to be undone. */
typedef struct tkp_device_scope {
    bool entered;
} tkp_device_scope;

/**
 * @brief Makes a device's primary context current, unless a context of that device is.
 * Without a driver or such a device it does nothing: the library then says what is missing.
 */
tkp_device_scope tkp_driver_enter(int device);
void tkp_driver_leave(tkp_device_scope scope);

#endif
