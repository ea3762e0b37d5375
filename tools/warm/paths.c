/* SPDX-License-Identifier: Apache-2.0 */
#include "paths.h"

#include <stdio.h>
#include <string.h>
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

bool warm_path_nearest(const char *path, char out[PATH_MAX])
{
    const int length = snprintf(out, PATH_MAX, "%s", path);
    if (length <= 0 || length >= PATH_MAX)
        return false;
    while (access(out, F_OK) != 0 && out[1] != '\0') {
        char *slash = strrchr(out, '/');
        if (slash == NULL)
            return false;
        slash[slash == out] = '\0';
    }
    return true;
}
