/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file gather.cuh
 * @brief The blocks of a row: how many there are, and how their lists come to the first one.
 *
 * The list of the first block is divided into one region for each block. A block lists into its own
 * memory, at the place of the first region; then it hands its count and its list over by
 * asynchronous copies. Two mbarriers of the first block wait for the counts, which say how many
 * bytes of lists follow, and for the lists.
 *
 * The cluster barrier has one phase a row: the first block arrives when it has all lists and reads
 * its own no more, and the others wait for that before they list again, or exit.
 */
#ifndef TKJ_GATHER_CUH
#define TKJ_GATHER_CUH

#include "listed_row.cuh"

#define TKJ_CLUSTER_MAX 8 /* as on the host */
TKJ_STATIC_ASSERT(TKJ_LIST % (TKJ_CLUSTER_MAX * 2) == 0, "regions are whole multiples of 16 bytes");

#if TKJ_CLUSTERS

TKJ_DEVICE tkj_u32 cluster_rank(void)
{
    return tkj_cluster_rank();
}

TKJ_DEVICE tkj_u32 cluster_size(void)
{
    return tkj_cluster_size();
}

TKJ_DEVICE tkj_i64 first_row(void)
{
    return tkj_cluster();
}

TKJ_DEVICE tkj_i64 rows_at_once(void)
{
    return tkj_cluster_count();
}

/** Shared memory; used in the first block. */
typedef struct tkj_gather {
    tkj_mbarrier counts_arrived;
    tkj_mbarrier lists_arrived;
    tkj_u32 counts[TKJ_CLUSTER_MAX]; /* survivors of each block */
    tkj_u32 parity;                  /* of the mbarriers' phase */
} tkj_gather;

/** Before the first row that is listed. */
TKJ_DEVICE void gather_start(tkj_gather *gather)
{
    if (tkj_thread() == 0) {
        tkj_mbarrier_init(&gather->counts_arrived, 1);
        tkj_mbarrier_init(&gather->lists_arrived, 1);
        tkj_mbarrier_fence_init();
        gather->parity = 1; /* before the first phase */
    }
    tkj_cluster_arrive_relaxed();
}

/** Before a row is listed, once a row from the first one on. */
TKJ_DEVICE void gather_await(void)
{
    tkj_cluster_wait();
}

/** After a row that another one follows; the block has a barrier before. */
TKJ_DEVICE void gather_next(void)
{
    tkj_cluster_arrive();
}

/** After the last row. */
TKJ_DEVICE void gather_end(void)
{
    tkj_cluster_arrive_relaxed();
    tkj_cluster_wait();
}

TKJ_DEVICE tkj_u32 region_size(void)
{
    return TKJ_LIST / cluster_size();
}

/** Bytes of a list as it is sent; of one that does not fit nothing, for it has gaps. */
TKJ_DEVICE tkj_u32 bytes_of(tkj_u32 count)
{
    return count > region_size() ? 0 : (count + 1) / 2 * 16;
}

/** Hands over this block's list: one thread, after a barrier. */
TKJ_DEVICE void send_list(tkj_survivor *survivors, tkj_u32 count, tkj_gather *gather)
{
    const tkj_survivor nothing = {{0, 0}};
    tkj_u32 bytes = bytes_of(count);
    if (count < region_size() && count % 2 == 1)
        survivors[count] = nothing; /* is sent, too */
    tkj_fence_async_proxy();
    tkj_store_async(&gather->counts[cluster_rank()], count, &gather->counts_arrived, 0);
    if (bytes != 0)
        tkj_copy_async_bulk_to_rank(survivors + cluster_rank() * region_size(), survivors, bytes,
                                    &gather->lists_arrived, 0);
}

/** Begins a phase: one thread of the first block, a barrier before the others wait. */
TKJ_DEVICE void expect_counts(tkj_gather *gather)
{
    gather->parity ^= 1;
    tkj_mbarrier_arrive_expect(&gather->counts_arrived, (cluster_size() - 1) * 4);
}

/** Waits for the lists: all threads of the first block, whose own count is given. @return survivors
 * of the row; more than TKJ_LIST if a region was too small */
TKJ_DEVICE tkj_u32 receive_lists(tkj_u32 own_count, tkj_gather *gather)
{
    tkj_u32 parity = gather->parity;
    tkj_mbarrier_wait(&gather->counts_arrived, parity);
    bool other = tkj_lane() > 0 && tkj_lane() < cluster_size();
    tkj_u32 count = other ? gather->counts[tkj_lane() % TKJ_CLUSTER_MAX] : 0;
    tkj_u32 bytes = tkj_warp_sum(other ? bytes_of(count) : 0);
    if (tkj_thread() == 0)
        tkj_mbarrier_arrive_expect(&gather->lists_arrived, bytes);
    count = tkj_lane() == 0 ? own_count : count;
    tkj_u32 most = tkj_warp_max(count);
    tkj_u32 total = tkj_warp_sum(count);
    tkj_mbarrier_wait(&gather->lists_arrived, parity);
    return most > region_size() ? TKJ_LIST + 1 : total;
}

/** The list, for this thread: each warp takes a part of one region. */
TKJ_DEVICE tkj_list gathered(const tkj_survivor *survivors, tkj_u32 own_count, tkj_u32 positions,
                             const tkj_gather *gather)
{
    tkj_u32 warps = TKJ_WARPS / cluster_size(); /* of a region */
    tkj_u32 region = tkj_warp() / warps;
    tkj_u32 begin = region * region_size();
    tkj_u32 count = region == 0 ? own_count : gather->counts[region % TKJ_CLUSTER_MAX];
    tkj_list list = {survivors, begin + tkj_warp() % warps * TKJ_WARP + tkj_lane(),
                     warps * TKJ_WARP, begin + count, positions};
    return list;
}
TKJ_STATIC_ASSERT(TKJ_WARPS % TKJ_CLUSTER_MAX == 0, "warps share out the regions evenly");

#else

TKJ_DEVICE tkj_u32 cluster_rank(void)
{
    return 0;
}

TKJ_DEVICE tkj_u32 cluster_size(void)
{
    return 1;
}

TKJ_DEVICE tkj_i64 first_row(void)
{
    return tkj_block();
}

TKJ_DEVICE tkj_i64 rows_at_once(void)
{
    return tkj_block_count();
}

TKJ_DEVICE tkj_u32 region_size(void)
{
    return TKJ_LIST;
}

#endif

#endif /* TKJ_GATHER_CUH */
