/* SPDX-License-Identifier: Apache-2.0 */
#include "parse_number.h"

#include <errno.h>
#include <stdlib.h>

bool tkj_parse_number(const char *word, int64_t lowest, int64_t highest, int64_t *out)
{
    if (word[0] < '0' || word[0] > '9') /* strtoll would take blanks and signs */
        return false;
    char *end = NULL;
    errno = 0;
    const long long value = strtoll(word, &end, 10);
    if (errno != 0 || *end != '\0' || value < lowest || value > highest)
        return false;
    *out = value;
    return true;
}
