/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels without instrumentation but for the compiler's own counts of branches. */
#include "machine.h"

const bool simt::race_build = false;

void simt::check_sanitizers()
{
}

void simt::silence_sanitizers(bool)
{
}
