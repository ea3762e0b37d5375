/* SPDX-License-Identifier: Apache-2.0 */
#include "source_file.h"

#include <inttypes.h>

#include "complain.h"

bool warm_source_file(const char *path, uint64_t most, warm_file *out)
{
    if (!warm_file_open(path, out))
        return false;
    if (out->size > most) {
        warm_complain("%s: it has %" PRIu64 " bytes, expected at most %" PRIu64, path, out->size,
                      most);
        return false;
    }
    return warm_file_read(out, out->size);
}
