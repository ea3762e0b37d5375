/* SPDX-License-Identifier: Apache-2.0 */
/** @file ranked.cuh @brief A key with its position as one value: by descending key, equal keys by
 * ascending position. */
#ifndef TKJ_RANKED_CUH
#define TKJ_RANKED_CUH

#include "ordered_key.cuh"
#include "slots.cuh"

/* What is ordered: a key and a position, larger ones first; in words of 32 bits, upper ones first,
   which do the same. */
#define TKJ_KEY_WORDS (sizeof(tkj_key) / 4)
#define TKJ_RANK_WORDS (TKJ_KEY_WORDS + sizeof(tkj_index) / 4)

#if TKJ_KEY_BITS <= 32 && TKJ_INDEX_BITS == 32

typedef tkj_u64 tkj_ranked;

TKJ_DEVICE tkj_ranked tkj_rank(tkj_key key, tkj_index position)
{
    return (tkj_u64)key << 32 | ~(tkj_u32)position;
}

TKJ_DEVICE tkj_index tkj_ranked_position(tkj_ranked ranked)
{
    return (tkj_index) ~(tkj_u32)ranked;
}

TKJ_DEVICE bool tkj_ranks_before(tkj_ranked a, tkj_ranked b)
{
    return a > b;
}

TKJ_DEVICE tkj_u32 tkj_rank_word(tkj_ranked ranked, tkj_u32 w)
{
    return (tkj_u32)(ranked >> (32 * (1 - w)));
}

#else

typedef struct alignas(16) tkj_ranked {
    tkj_key key;
    tkj_count place; /* of the position from the last one down */
} tkj_ranked;

TKJ_DEVICE tkj_ranked tkj_rank(tkj_key key, tkj_index position)
{
    tkj_ranked ranked = {key, ~(tkj_count)position};
    return ranked;
}

TKJ_DEVICE tkj_index tkj_ranked_position(tkj_ranked ranked)
{
    return (tkj_index)~ranked.place;
}

TKJ_DEVICE bool tkj_ranks_before(tkj_ranked a, tkj_ranked b)
{
    return a.key > b.key || (a.key == b.key && a.place > b.place);
}

TKJ_DEVICE tkj_u32 tkj_rank_word(tkj_ranked ranked, tkj_u32 w)
{
    if (w < TKJ_KEY_WORDS)
        return (tkj_u32)(ranked.key >> (32 * (TKJ_KEY_WORDS - 1 - w)));
    return (tkj_u32)(ranked.place >> (32 * (TKJ_RANK_WORDS - 1 - w)));
}

#endif

#endif /* TKJ_RANKED_CUH */
