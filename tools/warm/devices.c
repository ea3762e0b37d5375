/* SPDX-License-Identifier: Apache-2.0 */
#include "devices.h"

#include "driver.h"
#include "status.h"

const char *warm_devices(int *count)
{
    int version;
    *count = 0;
    if (tkj_driver_open(&version) != TOPK_JIT_OK || tkj_driver_device_count(count) != TOPK_JIT_OK)
        return topk_jit_last_error()->message;
    if (*count > WARM_DEVICES_MAX)
        *count = WARM_DEVICES_MAX;
    /* not an error of the driver's: the last message is of something else */
    return *count > 0 ? NULL : "the driver shows none to this process (CUDA_VISIBLE_DEVICES?)";
}
