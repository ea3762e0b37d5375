/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file select_stream.cu
 * @brief The selection for rows longer than a block holds: a pivot from a sample leaves few scores,
 *        of which held_row.cuh takes the k largest. One block a row, or with TKJ_CLUSTERS the
 * blocks of one cluster, as many as the launch says.
 *
 * 1. A window that one block holds is selected by the first block alone (held_row.cuh).
 * 2. Every block draws the same sample, evenly spread over the row, and finds in it the bin of a
 * rank that the k-th largest of the row will hardly fall behind: with p = k / n, of S samples the
 * rank S p + 4.5 sqrt(S p (1 - p)) + 3.
 * 3. Every block reads its share of the row once, contiguous and in order, and lists what falls
 * into that bin or an earlier one, in ascending position.
 * 4. The blocks of the cluster read each other's counts, and all hand their lists to the first.
 *    Where the sample shows that too many would pass, a plateau of equal scores lies across the
 * k-th place: see plateau.cuh for steps 3 to 5 then.
 * 5. If the lists hold at least k scores and fit, the first block selects from them (held_row.cuh).
 *    Otherwise it takes the row digit by digit (radix.cuh): slower, but rare and exact.
 *
 * Exact: the filter is monotone in the score, so whatever the sample was, the listed scores are the
 * largest of the row, and if they are at least k, the k largest are among them. Always
 * deterministic: lists are in ascending position, and of equal scores held_row.cuh takes by place
 * in the list.
 *
 * Synchronisation: block barriers; two cluster barriers a row where it has a cluster. Shared
 * memory: tkj_stream_shared; other blocks write to `survivors` of all and to the list of the first.
 */
#define TKJ_UNIT_STRIDE 1
#define TKJ_COLLECTED 4 /* the way out is to cost no registers */

#include "held_row.cuh"
#include "radix.cuh"
#include "write_selected.cuh"

#define LIST TKJ_CAPACITY

/* Scores of one warp's turn: TKJ_GROUPS groups a lane, a group's lanes side by side. */
#define TURN (TKJ_WARP * TKJ_ITEMS)

/* Longer rows are sampled four times as densely, or too much of them would survive. */
#define DENSE_SAMPLE_FROM 131072
#define DENSE_PARTS 4

/** Scores of a block's share, or of the cluster, above a plateau and on it. */
typedef struct tkj_plateau_counts {
    tkj_u32 above;
    tkj_u32 equal;
} tkj_plateau_counts;

/** Shared memory of steps 1 to 5. */
typedef struct tkj_listing {
    tkj_held_shared held;
    tkj_quad scores[LIST / TKJ_GROUP]; /* what survived the filter */
    tkj_u32 positions[LIST];
    tkj_u32 warp_counts[2][TKJ_WARPS]; /* survivors of a turn; turns alternate */
    tkj_u32 survivors;                 /* of this block */
    tkj_plateau_counts plateau;        /* likewise, where it sorts by a plateau */
} tkj_listing;

/** Shared memory: one phase at a time. */
typedef union tkj_stream_shared {
    tkj_listing listing;
    tkj_sort_shared sort; /* once the selected positions are in the output slots */
} tkj_stream_shared;

#if TKJ_CLUSTERS
TKJ_DEVICE tkj_u32 cluster_rank(void)
{
    return tkj_cluster_rank();
}

TKJ_DEVICE tkj_u32 cluster_size(void)
{
    return tkj_cluster_size();
}
#else
TKJ_DEVICE tkj_u32 cluster_rank(void)
{
    return 0;
}

TKJ_DEVICE tkj_u32 cluster_size(void)
{
    return 1;
}
#endif

/** What the filter lets through: places up to the limit, in the sense of value_bins.cuh; or, where
 * too many scores would pass, keys from that of a plateau on. */
typedef struct tkj_filter {
    tkj_value_map map;
    float limit;
    bool on_plateau;
    tkj_u32 plateau; /* key */
} tkj_filter;

/* ---- step 2 ---- */

/** This thread's samples: groups at even distances, whole groups of the window only. */
TKJ_DEVICE void load_sample(const tkj_held_row *held, tkj_u32 part, tkj_u32 parts,
                            float x[TKJ_GROUP])
{
    tkj_u32 first = (tkj_u32)(held->begin - held->first + TKJ_GROUP - 1) / TKJ_GROUP;
    tkj_u32 count = (tkj_u32)(held->end - held->first) / TKJ_GROUP - first; /* whole groups */
    tkj_u64 place = (tkj_u64)(part * TKJ_THREADS + tkj_thread()) * count / TKJ_THREADS;
    tkj_u64 group = first + (parts == 1 ? place : place / DENSE_PARTS);
    unpack(*(const tkj_quad *)(held->row + held->first + group * TKJ_GROUP), x);
}

/** Rank in a sample of `size` that the k-th largest of n will hardly fall behind. */
TKJ_DEVICE tkj_u32 sample_rank(tkj_u32 size, tkj_i32 n)
{
    float share = (float)TKJ_TOPK / (float)n;
    float mean = share * (float)size;
    float rank = mean + 4.5f * sqrtf(mean * (1.0f - share)) + 3.0f;
    return rank < (float)size ? (tkj_u32)rank : size;
}

/** Two ranges for the sample's bins: from the highest minimum of a warp to the middle one of the
 * warps' maxima, beyond which few samples are, however far out; and from the lowest to the highest
 * finite. */
typedef struct tkj_sample_ranges {
    tkj_value_map inner;
    tkj_value_map outer;
    bool differ_above;
    bool differ_below;
} tkj_sample_ranges;

TKJ_DEVICE tkj_sample_ranges sample_ranges(const tkj_held_shared *shared)
{
    tkj_u32 high = tkj_lane() < TKJ_WARPS ? shared->high[tkj_lane() % TKJ_WARPS] : 0;
    tkj_u32 low = shared->low[tkj_lane() % TKJ_WARPS];
    tkj_u32 above = 0;
    TKJ_UNROLL
    for (tkj_u32 w = 0; w < TKJ_WARPS; w++)
        above += shared->high[w] > high;
    tkj_u32 highest = tkj_warp_max(high <= tkj_float_key(TKJ_FLOAT_MAX) ? high : 0);
    tkj_u32 lowest = tkj_warp_min(low);
    tkj_u32 middle = tkj_warp_max(above >= TKJ_WARPS / 2 ? high : 0);
    tkj_u32 bottom = tkj_warp_max(low);
    tkj_u32 top = middle != 0 ? middle : highest;
    tkj_sample_ranges ranges;
    ranges.inner = tkj_value_map_of(tkj_float_of_key(top), tkj_float_of_key(bottom));
    ranges.outer = tkj_value_map_of(tkj_float_of_key(highest), tkj_float_of_key(lowest));
    ranges.differ_above = highest > top;
    ranges.differ_below = lowest < bottom;
    return ranges;
}

/** Counts `parts` sampled groups a thread in bins, and finds the bin of the rank. */
TKJ_DEVICE void bin_sample(const tkj_held_row *held, tkj_u32 parts, tkj_u32 rank,
                           const tkj_value_map *map, tkj_held_shared *shared)
{
    tkj_histogram *histogram = &shared->histogram;
    tkj_histogram_clear(histogram);
    tkj_block_barrier();
    TKJ_NO_UNROLL
    for (tkj_u32 part = 0; part < parts; part++) {
        float x[TKJ_GROUP];
        load_sample(held, part, parts, x);
        TKJ_UNROLL
        for (tkj_u32 i = 0; i < TKJ_GROUP; i++)
            tkj_atomic_add(&histogram->bins[tkj_value_bin_bits(map, x[i]) - TKJ_TWO_23_BITS], 1);
    }
    tkj_block_barrier();
    tkj_count own[TKJ_BINS_PER_THREAD] = {0};
    tkj_histogram_collect(histogram, own);
    tkj_histogram_find(histogram, own, rank);
}

/** The lowest key of the sampled scores in the bin that was found: where a bin is crowded, most of
 * its scores are equal, and those of a ReLU, of few values or of masked keys are its lowest. */
TKJ_DEVICE tkj_u32 lowest_of_bin(const tkj_held_row *held, tkj_u32 parts, const tkj_value_map *map,
                                 tkj_held_shared *shared)
{
    tkj_u32 bin = TKJ_TWO_23_BITS + shared->histogram.bin;
    tkj_u32 low = 0xffffffffu;
    TKJ_NO_UNROLL
    for (tkj_u32 part = 0; part < parts; part++) {
        float x[TKJ_GROUP];
        load_sample(held, part, parts, x);
        TKJ_UNROLL
        for (tkj_u32 i = 0; i < TKJ_GROUP; i++) {
            tkj_u32 key = tkj_float_key(x[i]);
            low = tkj_value_bin_bits(map, x[i]) == bin && key < low ? key : low;
        }
    }
    publish_keys(0, low, shared);
    tkj_block_barrier();
    return tkj_warp_min(shared->low[tkj_lane() % TKJ_WARPS]);
}

/** Step 2. The same in every block of the cluster. */
TKJ_DEVICE tkj_filter find_filter(const tkj_held_row *held, tkj_held_shared *shared)
{
    tkj_i32 n = held->end - held->begin;
    tkj_u32 parts = n > DENSE_SAMPLE_FROM ? DENSE_PARTS : 1;
    tkj_u32 rank = sample_rank(TKJ_THREADS * TKJ_GROUP * parts, n);
    float x[TKJ_GROUP];
    float high = -TKJ_FLOAT_INFINITY;
    float low = TKJ_FLOAT_INFINITY;
    load_sample(held, 0, parts, x);
    TKJ_UNROLL
    for (tkj_u32 i = 0; i < TKJ_GROUP; i++) {
        high = fmaxf(high, x[i]);
        low = fminf(low, x[i]);
    }
    publish_keys(tkj_float_key(high), tkj_float_key(low), shared);
    tkj_block_barrier();
    tkj_filter filter;
    const tkj_sample_ranges ranges = sample_ranges(shared);
    filter.map = ranges.inner;
    bin_sample(held, parts, rank, &filter.map, shared);
    if ((shared->histogram.bin == 0 && ranges.differ_above) ||
        (shared->histogram.bin == TKJ_BINS - 1 && ranges.differ_below)) {
        filter.map = ranges.outer; /* the rank is beyond the inner range */
        tkj_block_barrier();
        bin_sample(held, parts, rank, &filter.map, shared);
    }
    filter.limit = ((float)shared->histogram.bin + 0.5f) / (float)(TKJ_BINS - 1);
    float passing = (float)(shared->histogram.before + shared->histogram.inside) /
                    (float)(TKJ_THREADS * TKJ_GROUP * parts) * (float)n;
    filter.on_plateau = passing > 0.9f * (float)LIST;
    if (filter.on_plateau)
        filter.plateau = lowest_of_bin(held, parts, &filter.map, shared);
    return filter;
}

/* ---- step 3 ---- */

#if TKJ_KEY_BITS == 32
typedef tkj_u32 tkj_packed; /* a count of each group: lanes * 4 scores fit 8 bits */
#define PACKED_BITS 8
#else
typedef tkj_u64 tkj_packed;
#define PACKED_BITS 16
#endif
TKJ_STATIC_ASSERT(TKJ_GROUPS == 4, "a word packs the counts of four groups");

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
    for (tkj_u32 g = 0; g < TKJ_GROUPS; g++) {
        if (inner)
            unpack(*(const tkj_quad *)(held->row + turn_column(column, g)), x + g * TKJ_GROUP);
        else
            load_group(held, turn_column(column, g), x + g * TKJ_GROUP);
    }
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

/** Bits of this lane's scores of a turn that are in the window and pass the filter. */
TKJ_DEVICE tkj_u32 filter_turn(const tkj_held_row *held, const tkj_filter *filter, tkj_i32 column)
{
    float x[TKJ_ITEMS];
    tkj_u32 inside = load_turn(held, column, x);
    tkj_u32 passed = 0;
    TKJ_UNROLL
    for (tkj_i32 e = TKJ_ITEMS - 1; e >= 0; e--) {
        float place = tkj_value_place(&filter->map, x[e]);
        passed = tkj_push_sign(passed, tkj_bits_from_float(place - filter->limit));
    }
    return passed & inside;
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

/** Lists this lane's survivors; those beyond the list's end are only counted. */
TKJ_DEVICE void list_survivors(const tkj_held_row *held, tkj_i32 column, tkj_u32 passed,
                               tkj_u32 base, const tkj_u32 ranks[TKJ_GROUPS], tkj_listing *shared)
{
    tkj_element *scores = (tkj_element *)shared->scores;
    TKJ_UNROLL
    for (tkj_u32 g = 0; g < TKJ_GROUPS; g++) {
        tkj_u32 slot = base + ranks[g];
        TKJ_NO_UNROLL
        for (tkj_u32 bits = group_bits(passed, g); bits != 0; bits &= bits - 1, slot++) {
            tkj_i32 at = turn_column(column, g) + (tkj_i32)tkj_lowest_bit(bits);
            if (slot < LIST) {
                scores[slot] = held->row[at];
                shared->positions[slot] = (tkj_u32)(at - held->begin);
            }
        }
    }
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

/** Step 3 for the share of block `rank` of `size`. @return its survivors, listed or not */
TKJ_DEVICE tkj_u32 filter_share(const tkj_held_row *held, const tkj_filter *filter, tkj_u32 rank,
                                tkj_u32 size, tkj_listing *shared)
{
    tkj_turns turns = turns_of(held, rank, size);
    tkj_u32 listed = 0;
    tkj_u32 parity = 0;
    for (tkj_i32 first = turns.begin; first < turns.end; first += TKJ_WARPS, parity ^= 1) {
        tkj_i32 turn = first + (tkj_i32)tkj_warp();
        tkj_i32 column = held->first + turn * TURN;
        tkj_u32 ranks[TKJ_GROUPS];
        tkj_u32 passed = turn < turns.end ? filter_turn(held, filter, column) : 0;
        tkj_u32 count = rank_turn(passed, ranks);
        if (tkj_lane() == 0)
            shared->warp_counts[parity][tkj_warp()] = count;
        tkj_block_barrier();
        tkj_u32 of_lane =
            tkj_lane() < TKJ_WARPS ? shared->warp_counts[parity][tkj_lane() % TKJ_WARPS] : 0;
        tkj_u32 base = listed + tkj_warp_sum(tkj_lane() < tkj_warp() ? of_lane : 0);
        list_survivors(held, column, passed, base, ranks, shared);
        listed += tkj_warp_sum(of_lane);
    }
    return listed;
}

/* ---- step 4 ---- */

#if TKJ_CLUSTERS
/** Appends the lists of all blocks to the first one's. @return survivors of the cluster; more than
 *  LIST if they did not fit. The same in every block. */
TKJ_DEVICE tkj_u32 gather(tkj_u32 listed, tkj_listing *shared)
{
    if (tkj_thread() == 0)
        shared->survivors = listed;
    tkj_cluster_barrier(); /* also: every block of the cluster has started */
    tkj_u32 of_lane = tkj_lane() < cluster_size()
                          ? *(const tkj_u32 *)tkj_cluster_map(&shared->survivors, tkj_lane())
                          : 0;
    tkj_u32 base = tkj_warp_sum(tkj_lane() < cluster_rank() ? of_lane : 0);
    tkj_u32 total = tkj_warp_sum(of_lane);
    if (cluster_rank() != 0 && total <= LIST) {
        tkj_element *scores = (tkj_element *)tkj_cluster_map(shared->scores, 0);
        tkj_u32 *positions = (tkj_u32 *)tkj_cluster_map(shared->positions, 0);
        for (tkj_u32 s = tkj_thread(); s < listed; s += TKJ_THREADS) {
            scores[base + s] = ((const tkj_element *)shared->scores)[s];
            positions[base + s] = shared->positions[s];
        }
    }
    tkj_cluster_barrier();
    return total;
}
#endif

/* ---- steps 3 to 5 on a plateau ---- */

#include "plateau.cuh"

/* ---- step 5 ---- */

/** The way out where the sample misled: exact on any data. */
TKJ_DEVICE void select_by_digits(const tkj_select_params *p, tkj_i64 row, tkj_stream_shared *shared)
{
    const tkj_window window = shared->listing.held.window;
    tkj_histogram *histogram = &shared->listing.held.histogram;
    tkj_elements elements = {(const tkj_element *)p->score + row * p->score_stride + window.start,
                             1};
    tkj_slots slots = {(tkj_index *)p->indices + row * p->indices_stride, 1};
    tkj_threshold threshold = tkj_find_threshold(&elements, window.length, TKJ_TOPK, histogram);
    tkj_collect(&elements, window.length, &threshold, TKJ_TOPK, &slots, &histogram->scan);
    tkj_block_barrier();
    tkj_write_slots(p, row, &window, TKJ_TOPK, &shared->sort);
}

/** Steps 3 and 4. @return scores listed in the first block, more than LIST if they do not fit */
TKJ_DEVICE tkj_u32 list_window(const tkj_held_row *held, const tkj_filter *filter,
                               tkj_listing *shared)
{
    tkj_u32 count = filter_share(held, filter, cluster_rank(), cluster_size(), shared);
#if TKJ_CLUSTERS
    if (cluster_size() > 1)
        count = gather(count, shared);
#endif
    tkj_block_barrier();
    return count;
}

/** Steps 2 to 4 for a window that no block holds. @return true if the row is written; else the list
 * is in *held */
TKJ_DEVICE bool write_or_list(const tkj_select_params *p, tkj_i64 row, tkj_held_row *held,
                              tkj_stream_shared *shared)
{
    tkj_filter filter = find_filter(held, &shared->listing.held);
    tkj_block_barrier();
    tkj_u32 count = 0;
    if (!filter.on_plateau)
        count = list_window(held, &filter, &shared->listing);
    else if (select_on_plateau(p, row, held, filter.plateau, shared))
        return true;
    if (cluster_rank() == 0 && (count < TKJ_TOPK || count > LIST)) {
        select_by_digits(p, row, shared);
        return true;
    }
    held->row = (const tkj_element *)shared->listing.scores;
    held->first = held->begin = 0;
    held->width = held->end = (tkj_i32)count;
    return false;
}

/** All steps for one row of the batch. */
TKJ_DEVICE void select_row(const tkj_select_params *p, tkj_i64 row, tkj_stream_shared *shared)
{
    tkj_listing *listing = &shared->listing;
    tkj_window window = tkj_window_of(p, row);
    tkj_held_row held = hold(p, row, window.start);
    tkj_selection selection = {window.length, 0, 0};
    held.end = held.begin + (tkj_i32)window.length;
    if (tkj_thread() == 0)
        listing->held.window = window;
    if (held.end - held.first > TKJ_CAPACITY && window.length > TKJ_TOPK) {
        if (write_or_list(p, row, &held, shared))
            return;
        selection.positions = listing->positions;
    }
    if (cluster_rank() != 0)
        return;
    if (window.length > TKJ_TOPK) {
        float x[TKJ_ITEMS];
        load_row(&held, x);
        select_held(&held, x, &listing->held);
        selection.count = TKJ_TOPK;
        selection.selected = listing->held.selected;
    }
    tkj_block_barrier();
    window = listing->held.window;
    tkj_write_selection(p, row, &window, &selection, &shared->sort);
}

TKJ_KERNEL(tkj_select_params, p)
{
    TKJ_SHARED(tkj_stream_shared, shared);
    tkj_wait_for_dependencies();
    tkj_release_dependents();
    tkj_i64 clusters = tkj_block_count() / cluster_size();
    for (tkj_i64 row = tkj_block() / cluster_size(); row < p.out_rows; row += clusters) {
        if (row < p.rows)
            select_row(&p, row, shared);
        else if (cluster_rank() == 0)
            tkj_write_padding(&p, row, 0);
        tkj_block_barrier(); /* the next row uses the same shared memory */
    }
}
