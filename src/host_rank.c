/* SPDX-License-Identifier: Apache-2.0 */
#include "host_rank.h"

#include <stdlib.h>

/* The k-th largest key, eight bits at a time from the top. Tells how many of the pairs with this
   key belong to the k largest, and how many there are. */
static uint64_t find_threshold(const tkj_rank_pair *pairs, int64_t count, int64_t k,
                               int64_t *wanted, int64_t *equal)
{
    uint64_t threshold = 0;
    uint64_t known = 0; /* the bits of the threshold that are found */
    *wanted = k;
    for (int shift = 56; shift >= 0; shift -= 8) {
        int64_t histogram[256] = {0};
        for (int64_t i = 0; i < count; i++)
            if ((pairs[i].key & known) == threshold)
                histogram[pairs[i].key >> shift & 255]++;
        uint64_t digit = 255;
        while (histogram[digit] < *wanted)
            *wanted -= histogram[digit--];
        threshold |= digit << shift;
        known |= UINT64_C(255) << shift;
        *equal = histogram[digit];
    }
    return threshold;
}

void tkj_rank_keep(tkj_rank_pair *pairs, int64_t count, int64_t k, bool last_ties)
{
    int64_t wanted, equal;
    uint64_t threshold = find_threshold(pairs, count, k, &wanted, &equal);
    int64_t first_taken = last_ties ? equal - wanted : 0;
    int64_t kept = 0, ties = 0;
    for (int64_t i = 0; i < count; i++) {
        bool keep = pairs[i].key > threshold;
        if (pairs[i].key == threshold) {
            keep = ties >= first_taken && ties < first_taken + wanted;
            ties++;
        }
        if (keep)
            pairs[kept++] = pairs[i];
    }
}

static int compare_pairs(const void *left, const void *right)
{
    const tkj_rank_pair *a = left, *b = right;
    if (a->key != b->key)
        return a->key > b->key ? -1 : 1;
    return (a->position > b->position) - (a->position < b->position);
}

void tkj_rank_sort(tkj_rank_pair *pairs, int64_t count)
{
    qsort(pairs, (size_t)count, sizeof *pairs, compare_pairs);
}
