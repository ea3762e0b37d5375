/* SPDX-License-Identifier: Apache-2.0 */
#include "paths.h"

#include <stdio.h>
#include <unistd.h>

bool warm_path_absolute(const char *given, char out[PATH_MAX])
{
    char here[PATH_MAX] = "";
    const bool relative = given[0] != '/';
    if (given[0] == '\0' || (relative && getcwd(here, sizeof here) == NULL))
        return false;
    const int length = snprintf(out, PATH_MAX, "%s%s%s", here, relative ? "/" : "", given);
    return length > 0 && length < PATH_MAX;
}
