/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled for each library on its own: libraries may be deeper below the prefix than programs, as
   in Debian's lib/x86_64-linux-gnu. */
#include "installed.h"

const char tkj_installed_data[] = TKJ_INSTALLED_DATA;
