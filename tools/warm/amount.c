/* SPDX-License-Identifier: Apache-2.0 */
#include "amount.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "parse_number.h"

typedef struct unit {
    char letter;
    int64_t factor;
} unit;

/* Reads a number and the letter behind it. @return false if there is no such letter or no number */
static bool parse(const char *word, const unit *units, size_t count, int64_t *out)
{
    char digits[24];
    const size_t length = strlen(word);
    if (length < 2 || length > sizeof digits)
        return false;
    memcpy(digits, word, length - 1);
    digits[length - 1] = '\0';
    for (size_t i = 0; i < count; i++)
        if (tolower((unsigned char)word[length - 1]) == units[i].letter)
            return tkj_parse_number(digits, 0, INT64_MAX / units[i].factor, out) &&
                   !__builtin_mul_overflow(*out, units[i].factor, out);
    return false;
}

bool warm_parse_size(const char *word, int64_t *bytes)
{
    static const unit units[] = {{'k', INT64_C(1) << 10},
                                 {'m', INT64_C(1) << 20},
                                 {'g', INT64_C(1) << 30},
                                 {'t', INT64_C(1) << 40}};
    return tkj_parse_number(word, 0, INT64_MAX, bytes) ||
           parse(word, units, sizeof units / sizeof units[0], bytes);
}

bool warm_parse_age(const char *word, int64_t *seconds)
{
    static const unit units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}};
    return parse(word, units, sizeof units / sizeof units[0], seconds);
}
