/* SPDX-License-Identifier: Apache-2.0 */
#include "suggest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LENGTH_MAX (TKJ_SUGGESTION_SIZE - 1)

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/** Letters to add, drop, replace or swap with their neighbour to make one word of the other. */
static size_t distance_of(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t cost[LENGTH_MAX + 1][LENGTH_MAX + 1];
    for (size_t j = 0; j <= b_length; j++)
        cost[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        cost[i][0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            const bool same = a[i - 1] == b[j - 1];
            const size_t one = least(cost[i - 1][j], cost[i][j - 1]) + 1;
            cost[i][j] = least(one, cost[i - 1][j - 1] + !same);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost[i][j] = least(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    }
    return cost[a_length][b_length];
}

void tkj_suggest(tkj_suggestion *suggestion, const char *word)
{
    const size_t given = strlen(suggestion->given);
    const size_t length = strlen(word);
    if (given == 0 || length == 0 || given > LENGTH_MAX || length > LENGTH_MAX)
        return;
    const bool begun = strncmp(suggestion->given, word, least(given, length)) == 0;
    const size_t distance = begun ? 0 : distance_of(suggestion->given, given, word, length);
    if (distance > given / 3 + 1 || distance >= length ||
        (suggestion->count > 0 && distance > suggestion->distance))
        return;
    if (suggestion->count > 0 && distance < suggestion->distance)
        suggestion->count = 0;
    suggestion->distance = distance;
    if (suggestion->count < TKJ_SUGGESTIONS_MAX)
        memcpy(suggestion->kept[suggestion->count++], word, length + 1);
}

void tkj_suggestion_format(const tkj_suggestion *suggestion, const char *marks, char *out,
                           size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < suggestion->count && used < size; i++) {
        const char *before = i == 0                       ? "; did you mean "
                             : i + 1 == suggestion->count ? " or "
                                                          : ", ";
        used += (size_t)snprintf(out + used, size - used, "%s'%s%s'%s", before, marks,
                                 suggestion->kept[i], i + 1 == suggestion->count ? "?" : "");
    }
}
