/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file gather.cuh
 * @brief The blocks of a row: how many there are, and how their lists come to the first one.
 *
 * The list of the first block is divided into one region for each block. A block lists into its own
 * memory, at the place of the first region; then it tells all blocks how many it listed, and hands
 * its list over to the first one, by asynchronous stores and copies. An mbarrier of each block
 * waits for the counts, which say how many bytes of lists follow, another of the first block for
 * these.
 *
 * The cluster barrier has one phase a row: the first block arrives when it has all lists and reads
 * its own no more, and the others wait for that before they list again, or exit.
 */
#ifndef TKJ_GATHER_CUH
#define TKJ_GATHER_CUH

#include "listed_row.cuh"

#define TKJ_CLUSTER_MAX 16 /* as on the host */
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

/** Binary logarithm of the cluster's size, a power of two. */
TKJ_DEVICE tkj_u32 cluster_shift(void)
{
    return tkj_bit_width(cluster_size()) - 1;
}

TKJ_DEVICE tkj_i64 first_row(void)
{
    return tkj_block() >> cluster_shift();
}

TKJ_DEVICE tkj_i64 rows_at_once(void)
{
    return tkj_block_count() >> cluster_shift();
}

/** Shared memory; the lists' mbarrier is used in the first block. */
typedef struct tkj_gather {
    tkj_mbarrier counts_arrived;
    tkj_mbarrier lists_arrived;
    tkj_u64 counts[TKJ_CLUSTER_MAX]; /* of each block: certain scores; upper half: survivors */
} tkj_gather;

/** How far the blocks of a row are: the same in all their threads. */
typedef struct tkj_gathering {
    bool started;   /* the cluster barrier has been arrived at */
    bool listed;    /* a list of this block may still be under way to the first one */
    tkj_u32 parity; /* of the mbarriers' phase */
} tkj_gathering;

/** Once, before the first row. */
TKJ_DEVICE void gather_init(tkj_gather *gather)
{
    if (tkj_thread() == TKJ_THREADS - TKJ_WARP) { /* for the first warp has other things to do */
        tkj_mbarrier_init(&gather->counts_arrived, 1);
        tkj_mbarrier_init(&gather->lists_arrived, 1);
        tkj_mbarrier_fence_init();
    }
}

/** Before the first row that is listed, unless gather_next came before. */
TKJ_DEVICE void gather_start(void)
{
    tkj_cluster_arrive_relaxed();
}

/** Before another block is written to, and before a list that it may still copy is written over;
 * once a row from the first one on. */
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
    return TKJ_LIST >> cluster_shift();
}

/** Bytes of a list as it is sent; of one that does not fit nothing, for it has gaps. */
TKJ_DEVICE tkj_u32 bytes_of(tkj_u32 count)
{
    return count > region_size() ? 0 : (count + 1) / 2 * 16;
}

/** Tells all blocks of the row what this one listed: certain scores, survivors; and expects the
 * same of them. A barrier must have come before. */
TKJ_DEVICE void send_counts(const tkj_u32 counts[2], tkj_gather *gather)
{
    if (tkj_thread() < cluster_size())
        tkj_store_async(&gather->counts[cluster_rank()], (tkj_u64)counts[1] << 32 | counts[0],
                        &gather->counts_arrived, tkj_thread());
    if (tkj_thread() == TKJ_THREADS - TKJ_WARP)
        tkj_mbarrier_arrive_expect(&gather->counts_arrived, cluster_size() * 8);
}

/** Hands over this block's list: one thread, after a barrier. */
TKJ_DEVICE void send_list(tkj_survivor *survivors, tkj_u32 count, tkj_gather *gather)
{
    const tkj_survivor nothing = {{0, 0}};
    tkj_u32 bytes = bytes_of(count);
    if (count < region_size() && count % 2 == 1)
        survivors[count] = nothing; /* is sent, too */
    tkj_fence_async_proxy();
    if (bytes != 0)
        tkj_copy_async_bulk_to_rank(survivors + cluster_rank() * region_size(), survivors, bytes,
                                    &gather->lists_arrived, 0);
}

/** What the blocks of a row know of each other. */
typedef struct tkj_share {
    tkj_u32 slot;    /* of this block's first certain score */
    tkj_u32 certain; /* certain scores of the row */
    bool exact;      /* they are at most k, with the survivors at least k, and all are listed */
} tkj_share;

/** Waits for the counts: all threads of each block. @return what this lane's block listed, if the
 * row has so many blocks: certain scores, in the upper half survivors */
TKJ_DEVICE tkj_u64 await_counts(tkj_u32 parity, tkj_gather *gather)
{
    tkj_mbarrier_wait(&gather->counts_arrived, parity);
    return tkj_lane() < cluster_size() ? gather->counts[tkj_lane() % TKJ_CLUSTER_MAX] : 0;
}

/** Waits for the counts. In the first block the lists are expected then. */
TKJ_DEVICE tkj_share receive_counts(const tkj_gathering *gathering, tkj_gather *gather)
{
    tkj_u64 both = await_counts(gathering->parity, gather);
    tkj_u32 certain = (tkj_u32)both;
    tkj_u32 survivors = (tkj_u32)(both >> 32);
    if (cluster_rank() == 0 && tkj_warp() == 0) {
        tkj_u32 bytes = tkj_warp_sum(tkj_lane() > 0 ? bytes_of(survivors) : 0);
        if (tkj_lane() == 0)
            tkj_mbarrier_arrive_expect(&gather->lists_arrived, bytes);
    }
    tkj_share share;
    share.slot = tkj_warp_sum(tkj_lane() < cluster_rank() ? certain : 0);
    share.certain = tkj_warp_sum(certain);
    share.exact = tkj_warp_max(survivors) <= region_size() && share.certain <= TKJ_TOPK &&
                  share.certain + tkj_warp_sum(survivors) >= TKJ_TOPK;
    return share;
}

/** Instead of receive_lists, where counts are sent but no lists. */
TKJ_DEVICE void skip_lists(tkj_gather *gather)
{
    if (cluster_rank() == 0 && tkj_thread() == 0)
        tkj_mbarrier_arrive_expect(&gather->lists_arrived, 0);
}

/** Waits for the lists: all threads of the first block. */
TKJ_DEVICE void receive_lists(const tkj_gathering *gathering, tkj_gather *gather)
{
    tkj_mbarrier_wait(&gather->lists_arrived, gathering->parity);
}

/** The list, for this thread: each warp takes a part of one region. */
TKJ_DEVICE tkj_list gathered(const tkj_survivor *survivors, tkj_u32 positions,
                             const tkj_gather *gather)
{
    tkj_u32 warps = TKJ_WARPS >> cluster_shift(); /* of a region */
    tkj_u32 region = (tkj_warp() << cluster_shift()) / TKJ_WARPS;
    tkj_u32 begin = region * region_size();
    tkj_u32 count = (tkj_u32)(gather->counts[region % TKJ_CLUSTER_MAX] >> 32);
    tkj_list list = {survivors, begin + (tkj_warp() & (warps - 1)) * TKJ_WARP + tkj_lane(),
                     warps * TKJ_WARP, begin + count, positions};
    return list;
}
TKJ_STATIC_ASSERT(TKJ_WARPS % TKJ_CLUSTER_MAX == 0, "warps share out the regions evenly");

#else

TKJ_DEVICE tkj_u32 cluster_rank(void)
{
    return 0;
}

TKJ_DEVICE tkj_u32 cluster_shift(void)
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
