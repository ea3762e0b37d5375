/* SPDX-License-Identifier: Apache-2.0 */
/* An NVRTC that its process does not survive, as one dies that the system has no memory for. */
#include <signal.h>

__attribute__((constructor)) static void die(void)
{
    raise(SIGKILL);
}
