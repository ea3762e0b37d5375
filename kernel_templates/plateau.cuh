/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file plateau.cuh
 * @brief Selection where a plateau of equal scores lies across the k-th place, for
 * select_stream.cu, select_split.cu and select_cluster.cu.
 *
 * All scores above the plateau are taken, and as many of the plateau as are wanted. So each block
 * lists the positions of both; of equal ones at most k are ever needed. Once the blocks know each
 * other's counts, each writes its own part of the row. With TKJ_ORDERED lists are ascending, the
 * blocks' shares of the row one behind the other, and a part is merged from both lists.
 *
 * Exact if, and only if, at most k scores are above the plateau and at least k in all: counted, not
 * assumed.
 */
#ifndef TKJ_PLATEAU_CUH
#define TKJ_PLATEAU_CUH

/** Scores above the plateau, and on it. */
typedef struct tkj_plateau_counts {
    tkj_u32 above;
    tkj_u32 equal;
} tkj_plateau_counts;

/* Equal positions that are kept: the first k of them, or the last. */
#define KEPT ((tkj_u32)TKJ_TOPK)

#if TKJ_ORDERED

/* Scores of one warp's turn: TKJ_GROUPS groups a lane, a group's lanes side by side. */
#define TURN (TKJ_WARP * TKJ_ITEMS)

#if TKJ_KEY_BITS == 32
typedef tkj_u32 tkj_packed; /* a count of each group: lanes * 4 scores fit 8 bits */
#define PACKED_BITS 8
#else
typedef tkj_u64 tkj_packed;
#define PACKED_BITS 16
#endif
TKJ_STATIC_ASSERT(TKJ_GROUPS <= 4, "a word packs the counts of four groups");

/** Column of the first score of this lane's group g in a turn that starts at `column`. */
TKJ_DEVICE tkj_i32 turn_column(tkj_i32 column, tkj_u32 g)
{
    return column + (tkj_i32)(g * TKJ_WARP + tkj_lane()) * TKJ_GROUP;
}

/** Loads this lane's scores of a turn. @return those that are in the window */
TKJ_DEVICE tkj_u32 load_turn(const tkj_held_row *held, tkj_i32 column, float x[TKJ_ITEMS])
{
    bool inner = column >= held->begin && column + TURN <= held->end;
    TKJ_UNROLL
    for (tkj_u32 g = 0; g < TKJ_GROUPS; g++)
        unpack(load_group(held, turn_column(column, g)), x + g * TKJ_GROUP);
    tkj_u32 inside = ALL_INSIDE;
    if (!inner) {
        TKJ_UNROLL
        for (tkj_u32 e = 0; e < TKJ_ITEMS; e++) {
            tkj_i32 at = turn_column(column, e / TKJ_GROUP) + (tkj_i32)(e % TKJ_GROUP);
            inside &= ~((tkj_u32)(at < held->begin || at >= held->end) << e);
        }
    }
    return inside;
}

/** The scores of a lane's group in a mask. */
TKJ_DEVICE tkj_u32 group_bits(tkj_u32 mask, tkj_u32 g)
{
    return mask >> (g * TKJ_GROUP) & ((1u << TKJ_GROUP) - 1);
}

/** Where the first survivor of each of this lane's groups goes, counted from the turn's first one
 * in this warp; and how many survive in the warp. */
TKJ_DEVICE tkj_u32 rank_turn(tkj_u32 passed, tkj_u32 ranks[TKJ_GROUPS])
{
    tkj_packed counts = 0;
    TKJ_UNROLL
    for (tkj_u32 g = 0; g < TKJ_GROUPS; g++)
        counts += (tkj_packed)tkj_count_bits(group_bits(passed, g)) << (g * PACKED_BITS);
    tkj_packed sum = counts;
    TKJ_UNROLL
    for (tkj_u32 distance = 1; distance < TKJ_WARP; distance *= 2) {
        tkj_packed below = tkj_shuffle_up(sum, distance);
        sum += tkj_lane() >= distance ? below : 0;
    }
    tkj_packed total = tkj_warp_sum(counts);
    tkj_packed before = sum - counts;
    tkj_u32 first = 0;
    TKJ_UNROLL
    for (tkj_u32 g = 0; g < TKJ_GROUPS; g++) {
        tkj_u32 mask = (1u << PACKED_BITS) - 1;
        ranks[g] = first + (tkj_u32)(before >> (g * PACKED_BITS) & mask);
        first += (tkj_u32)(total >> (g * PACKED_BITS) & mask);
    }
    return first;
}

/** Turns of one block: [begin, end). */
typedef struct tkj_turns {
    tkj_i32 begin;
    tkj_i32 end;
} tkj_turns;

TKJ_DEVICE tkj_turns turns_of(const tkj_held_row *held, tkj_u32 rank, tkj_u32 size)
{
    tkj_i32 all = (held->end - held->first + TURN - 1) / TURN;
    tkj_i32 share = (all + (tkj_i32)size - 1) / (tkj_i32)size;
    tkj_i32 begin = share * (tkj_i32)rank;
    tkj_turns turns = {begin, begin + share < all ? begin + share : all};
    return turns;
}

/** This lane's scores of a turn above the plateau, and on it. */
TKJ_DEVICE tkj_u32 split_turn(const tkj_held_row *held, tkj_u32 plateau, tkj_i32 column,
                              tkj_u32 *equal)
{
    float x[TKJ_ITEMS];
    tkj_u32 inside = load_turn(held, column, x);
    tkj_u32 above = 0;
    *equal = 0;
    TKJ_UNROLL
    for (tkj_u32 e = 0; e < TKJ_ITEMS; e++) {
        tkj_u32 key = tkj_float_key(x[e]);
        above |= (tkj_u32)(key > plateau) << e;
        *equal |= (tkj_u32)(key == plateau) << e;
    }
    *equal &= inside;
    return above & inside;
}

/** A list in `capacity` slots, used as a ring: of its entries by rank, those in [from, to) are
 * stored. No two of one turn may share a slot: to - from <= capacity. */
typedef struct tkj_ring {
    tkj_u32 *positions;
    tkj_u32 capacity;
    tkj_u32 from;
    tkj_u32 to;
} tkj_ring;

/** Stores the positions of this lane's marked scores, which rank from `base` on. */
TKJ_DEVICE void store_positions(const tkj_held_row *held, tkj_i32 column, tkj_u32 marked,
                                tkj_u32 base, const tkj_u32 ranks[TKJ_GROUPS], const tkj_ring *ring)
{
    TKJ_UNROLL
    for (tkj_u32 g = 0; g < TKJ_GROUPS; g++) {
        tkj_u32 rank = base + ranks[g];
        TKJ_NO_UNROLL
        for (tkj_u32 bits = group_bits(marked, g); bits != 0; bits &= bits - 1, rank++)
            if (rank >= ring->from && rank < ring->to)
                ring->positions[rank % ring->capacity] =
                    (tkj_u32)(turn_column(column, g) + (tkj_i32)tkj_lowest_bit(bits) - held->begin);
    }
}

/** The equal scores to keep of the first `count`: the first k, or the last. */
TKJ_DEVICE tkj_ring equal_ring(tkj_u32 count, tkj_listing *shared)
{
    tkj_u32 from = TKJ_TIE_LARGEST && count > KEPT ? count - KEPT : 0;
    tkj_ring ring = {shared->passed.positions.equal, KEPT, from, from + KEPT};
    return ring;
}

/** Lists the share of this block. Ends with a barrier. */
TKJ_DEVICE void split_share(const tkj_held_row *held, tkj_u32 plateau, tkj_listing *shared)
{
    tkj_turns turns = turns_of(held, cluster_rank(), cluster_size());
    tkj_plateau_counts counts = {0, 0};
    tkj_u32 parity = 0;
    for (tkj_i32 first = turns.begin; first < turns.end; first += TKJ_WARPS, parity ^= 1) {
        tkj_i32 turn = first + (tkj_i32)tkj_warp();
        tkj_i32 column = held->first + turn * TURN;
        tkj_u32 equal = 0;
        tkj_u32 above = turn < turns.end ? split_turn(held, plateau, column, &equal) : 0;
        tkj_u32 above_ranks[TKJ_GROUPS];
        tkj_u32 equal_ranks[TKJ_GROUPS];
        tkj_u32 packed = rank_turn(above, above_ranks) | rank_turn(equal, equal_ranks) << 16;
        if (tkj_lane() == 0)
            shared->warp_counts[parity][tkj_warp()] = packed;
        tkj_block_barrier();
        tkj_u32 of_lane =
            tkj_lane() < TKJ_WARPS ? shared->warp_counts[parity][tkj_lane() % TKJ_WARPS] : 0;
        tkj_u32 before = tkj_warp_sum(tkj_lane() < tkj_warp() ? of_lane : 0);
        tkj_u32 total = tkj_warp_sum(of_lane);
        tkj_u32 above_base = counts.above + (before & 0xffffu);
        tkj_u32 equal_base = counts.equal + (before >> 16);
        counts.above += total & 0xffffu;
        counts.equal += total >> 16;
        const tkj_ring above_ring = {shared->passed.positions.above, TKJ_LIST, 0, TKJ_LIST};
        const tkj_ring kept_ring = equal_ring(counts.equal, shared);
        store_positions(held, column, above, above_base, above_ranks, &above_ring);
        store_positions(held, column, equal, equal_base, equal_ranks, &kept_ring);
    }
    if (tkj_thread() == 0) {
        shared->held.counts[0] = counts.above;
        shared->held.counts[1] = counts.equal;
    }
    tkj_block_barrier();
}

#else

/** Stores positions of this thread's marked scores from a place on, while there is one. */
TKJ_DEVICE void store_marked(const tkj_held_row *held, tkj_u32 marked, tkj_u32 place,
                             tkj_u32 capacity, tkj_u32 *positions)
{
    TKJ_NO_UNROLL
    for (; marked != 0 && place < capacity; marked &= marked - 1, place++)
        positions[place] = position_of(held, tkj_lowest_bit(marked));
}

/** This thread's scores above the plateau, and on it. */
TKJ_DEVICE void split_round(tkj_u32 plateau, const tkj_quad quads[TKJ_GROUPS], tkj_u32 *above,
                            tkj_u32 *equal)
{
    if (!TKJ_NAN_LAST && plateau < tkj_float_key(TKJ_FLOAT_INFINITY)) {
        float level = tkj_float_of_key(plateau);
        *above = ~scores_below(tkj_float_of_key(plateau + 1), quads);
        *equal = ~*above & ~scores_below(level == 0.0f ? -0.0f : level, quads);
        return;
    }
    *above = *equal = 0;
    TKJ_UNROLL
    for (tkj_u32 e = 0; e < TKJ_ITEMS; e++) {
        tkj_u32 key = tkj_float_key(score_of(quads, e));
        *above |= (tkj_u32)(key > plateau) << e;
        *equal |= (tkj_u32)(key == plateau) << e;
    }
}

/** Lists the share of this block. The counts are 0. Ends with a barrier. */
TKJ_DEVICE void split_share(const tkj_held_row *held, tkj_u32 plateau, tkj_listing *shared)
{
    TKJ_NO_UNROLL
    for (tkj_u32 round = 0; round < rounds_of(held); round++) {
        const tkj_held_row moved = round_of(held, round);
        tkj_quad quads[TKJ_GROUPS];
        load_groups(&moved, quads);
        tkj_u32 above, equal;
        split_round(plateau, quads, &above, &equal);
        tkj_u32 inside = window_mask(&moved);
        above &= inside;
        equal &= inside;
        const tkj_places places =
            tkj_warp_places(tkj_count_bits(above), tkj_count_bits(equal), shared->held.counts);
        store_marked(&moved, above, places.first, TKJ_LIST, shared->passed.positions.above);
        store_marked(&moved, equal, places.second, KEPT, shared->passed.positions.equal);
    }
    tkj_block_barrier();
}

#endif

/** What a block has to write of the row. */
typedef struct tkj_plateau_part {
    tkj_u32 slot;        /* of its first score */
    tkj_u32 above;       /* scores above the plateau */
    tkj_u32 first_equal; /* of its equal ones, in order: from this one */
    tkj_u32 equal;       /* so many */
    bool exact;          /* the plateau was the right one; the same in every block */
} tkj_plateau_part;

/** Adds up the counts of the row's blocks. All of them call; ends with no barrier. */
TKJ_DEVICE tkj_plateau_part share_out(tkj_u32 parity, tkj_stream_shared *shared)
{
    const tkj_u32 *counts = shared->listing.held.counts;
    const tkj_plateau_counts own = {counts[0], counts[1]};
    tkj_plateau_counts lower = {0, 0};
    tkj_plateau_counts all = own;
#if TKJ_CLUSTERS
    send_counts(counts, &shared->gather);
    skip_lists(&shared->gather);
    tkj_u64 both = await_counts(parity, &shared->gather);
    const tkj_plateau_counts of_lane = {(tkj_u32)both, (tkj_u32)(both >> 32)};
    bool is_lower = tkj_lane() < cluster_rank();
    lower.above = tkj_warp_sum(is_lower ? of_lane.above : 0);
    lower.equal = tkj_warp_sum(is_lower ? of_lane.equal : 0);
    all.above = tkj_warp_sum(of_lane.above);
    all.equal = tkj_warp_sum(of_lane.equal);
#endif
    tkj_u32 wanted = (tkj_u32)TKJ_TOPK - all.above;
    tkj_u32 taken_below = (tkj_u32)tkj_taken_of_equal(lower.equal, wanted, all.equal);
    tkj_u32 taken_up_to = (tkj_u32)tkj_taken_of_equal(lower.equal + own.equal, wanted, all.equal);
    tkj_plateau_part part;
    part.exact = all.above <= TKJ_TOPK && all.above + all.equal >= TKJ_TOPK;
    part.slot = lower.above + taken_below;
    part.above = own.above;
    part.equal = taken_up_to - taken_below;
    part.first_equal = TKJ_TIE_LARGEST ? own.equal - part.equal : 0;
    return part;
}

/** Writes one slot: its position if the row is still to be sorted, else into every output. */
TKJ_DEVICE void write_slot(const tkj_select_params *p, tkj_i64 row, const tkj_window *window,
                           tkj_u32 slot, tkj_u32 position)
{
#if TKJ_SORTED
    ((tkj_index *)p->indices)[row * p->indices_stride + slot] = (tkj_index)position;
#else
    tkj_elements elements = {(const tkj_element *)p->score + row * p->score_stride + window->start,
                             1};
    tkj_emit(p, row, window, &elements, slot, position);
#endif
}

#if TKJ_ORDERED

/** How many of an ascending list's `count` positions, from place `first` on, are below `position`.
 */
TKJ_DEVICE tkj_u32 count_below(const tkj_u32 *positions, tkj_u32 first, tkj_u32 count,
                               tkj_u32 capacity, tkj_u32 position)
{
    tkj_u32 low = 0;
    tkj_u32 high = count;
    while (low < high) {
        tkj_u32 middle = (low + high) / 2;
        if (positions[(first + middle) % capacity] < position)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/** Merges both lists of this block into its slots of the row. */
TKJ_DEVICE void write_part(const tkj_select_params *p, tkj_i64 row, const tkj_window *window,
                           const tkj_plateau_part *part, tkj_listing *shared)
{
    const tkj_u32 *above = shared->passed.positions.above;
    const tkj_u32 *equal = shared->passed.positions.equal;
    TKJ_NO_UNROLL
    for (tkj_u32 i = tkj_thread(); i < part->above; i += TKJ_THREADS)
        write_slot(p, row, window,
                   part->slot + i +
                       count_below(equal, part->first_equal, part->equal, KEPT, above[i]),
                   above[i]);
    TKJ_NO_UNROLL
    for (tkj_u32 i = tkj_thread(); i < part->equal; i += TKJ_THREADS) {
        tkj_u32 position = equal[(part->first_equal + i) % KEPT];
        write_slot(p, row, window,
                   part->slot + i + count_below(above, 0, part->above, TKJ_LIST, position),
                   position);
    }
}

#else

/** Writes both lists of this block into its slots of the row. */
TKJ_DEVICE void write_part(const tkj_select_params *p, tkj_i64 row, const tkj_window *window,
                           const tkj_plateau_part *part, tkj_listing *shared)
{
    TKJ_NO_UNROLL
    for (tkj_u32 i = tkj_thread(); i < part->above + part->equal; i += TKJ_THREADS)
        write_slot(p, row, window, part->slot + i,
                   i < part->above ? shared->passed.positions.above[i]
                                   : shared->passed.positions.equal[i - part->above]);
}

#endif

/** All steps. All blocks of the cluster call. @return false if the plateau was not the right
 * one: then nothing was written */
TKJ_DEVICE bool select_on_plateau(const tkj_select_params *p, tkj_i64 row, const tkj_held_row *held,
                                  tkj_u32 plateau, tkj_u32 parity, tkj_stream_shared *shared)
{
    tkj_listing *listing = &shared->listing;
    split_share(held, plateau, listing);
    tkj_plateau_part part = share_out(parity, shared);
    tkj_window window = listing->held.window;
    if (!part.exact)
        return false;
    write_part(p, row, &window, &part, listing);
#if TKJ_SORTED
#if TKJ_CLUSTERS
    tkj_cluster_barrier(); /* all slots are written */
#else
    tkj_block_barrier();
#endif
    const tkj_selection selection = {
        TKJ_TOPK, 0, 0, {(tkj_index *)p->indices + row * p->indices_stride, 1}};
    if (cluster_rank() == 0)
        write_row(p, row, &window, &selection, shared);
#endif
    return true;
}

#endif /* TKJ_PLATEAU_CUH */
