/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file plateau.cuh
 * @brief Step 3 to 5 of select_stream.cu where a plateau of equal scores lies across the k-th
 * place.
 *
 * All scores above the plateau are taken, and as many of the plateau as are wanted, by position. So
 * each block lists the positions of both, ascending; of equal ones at most k are ever needed. Once
 * the blocks know each other's counts, each merges its two lists and writes its own part of the
 * row.
 *
 * Exact if, and only if, at most k scores are above the plateau and at least k in all: counted, not
 * assumed.
 */
#ifndef TKJ_PLATEAU_CUH
#define TKJ_PLATEAU_CUH

/* Equal positions that are kept: the first k of them, or the last. */
#define KEPT ((tkj_u32)TKJ_TOPK)

/** The equal positions, where the scores of a list would be. */
TKJ_DEVICE tkj_u32 *equal_positions(tkj_listing *shared)
{
    return (tkj_u32 *)shared->scores;
}
TKJ_STATIC_ASSERT(LIST * sizeof(tkj_element) >= TKJ_TOPK * 4, "equal positions fit the scores");

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
    tkj_ring ring = {equal_positions(shared), KEPT, from, from + KEPT};
    return ring;
}

/** Lists the share of block `rank` of `size`. */
TKJ_DEVICE tkj_plateau_counts split_share(const tkj_held_row *held, tkj_u32 plateau, tkj_u32 rank,
                                          tkj_u32 size, tkj_listing *shared)
{
    tkj_turns turns = turns_of(held, rank, size);
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
        const tkj_ring above_ring = {shared->positions, LIST, 0, LIST};
        const tkj_ring kept_ring = equal_ring(counts.equal, shared);
        store_positions(held, column, above, above_base, above_ranks, &above_ring);
        store_positions(held, column, equal, equal_base, equal_ranks, &kept_ring);
    }
    return counts;
}

/** What a block has to write of the row. */
typedef struct tkj_plateau_part {
    tkj_u32 slot;        /* of its first score */
    tkj_u32 above;       /* scores above the plateau */
    tkj_u32 first_equal; /* of its equal ones, in order: from this one */
    tkj_u32 equal;       /* so many */
    bool exact;          /* the plateau was the right one; the same in every block */
} tkj_plateau_part;

/** Adds up the counts of the cluster. All blocks call; ends with no barrier. */
TKJ_DEVICE tkj_plateau_part share_out(tkj_plateau_counts own, tkj_listing *shared)
{
    tkj_plateau_counts lower = {0, 0};
    tkj_plateau_counts all = own;
#if TKJ_CLUSTERS
    if (cluster_size() > 1) {
        if (tkj_thread() == 0)
            shared->plateau = own;
        tkj_cluster_barrier(); /* also: every block of the cluster has started */
        tkj_plateau_counts of_lane = {0, 0};
        if (tkj_lane() < cluster_size())
            of_lane = *(const tkj_plateau_counts *)tkj_cluster_map(&shared->plateau, tkj_lane());
        bool is_lower = tkj_lane() < cluster_rank();
        lower.above = tkj_warp_sum(is_lower ? of_lane.above : 0);
        lower.equal = tkj_warp_sum(is_lower ? of_lane.equal : 0);
        all.above = tkj_warp_sum(of_lane.above);
        all.equal = tkj_warp_sum(of_lane.equal);
    }
#endif
    tkj_u32 wanted = (tkj_u32)TKJ_TOPK - all.above;
    tkj_u32 taken_below = taken_of_equal(lower.equal, wanted, all.equal);
    tkj_u32 taken_up_to = taken_of_equal(lower.equal + own.equal, wanted, all.equal);
    tkj_plateau_part part;
    part.exact = all.above <= TKJ_TOPK && all.above + all.equal >= TKJ_TOPK;
    part.slot = lower.above + taken_below;
    part.above = own.above;
    part.equal = taken_up_to - taken_below;
    part.first_equal = TKJ_TIE_LARGEST ? own.equal - part.equal : 0;
    return part;
}

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

/** Merges both lists of this block into its slots of the row. */
TKJ_DEVICE void write_part(const tkj_select_params *p, tkj_i64 row, const tkj_window *window,
                           const tkj_plateau_part *part, tkj_listing *shared)
{
    const tkj_u32 *above = shared->positions;
    const tkj_u32 *equal = equal_positions(shared);
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
                   part->slot + i + count_below(above, 0, part->above, LIST, position), position);
    }
}

/** Steps 3 to 5. All blocks of the cluster call. @return false if the plateau was not the right
 * one: then nothing was written */
TKJ_DEVICE bool select_on_plateau(const tkj_select_params *p, tkj_i64 row, const tkj_held_row *held,
                                  tkj_u32 plateau, tkj_stream_shared *shared)
{
    tkj_listing *listing = &shared->listing;
    tkj_plateau_counts own = split_share(held, plateau, cluster_rank(), cluster_size(), listing);
    tkj_block_barrier();
    tkj_plateau_part part = share_out(own, listing);
    tkj_window window = listing->held.window;
    if (part.exact)
        write_part(p, row, &window, &part, listing);
#if TKJ_CLUSTERS
    if (cluster_size() > 1)
        tkj_cluster_barrier(); /* nobody reads the counts any more; the slots are written */
    else
        tkj_block_barrier();
#else
    tkj_block_barrier();
#endif
#if TKJ_SORTED
    if (part.exact && cluster_rank() == 0)
        tkj_write_slots(p, row, &window, TKJ_TOPK, &shared->sort);
#endif
    return part.exact;
}

#endif /* TKJ_PLATEAU_CUH */
