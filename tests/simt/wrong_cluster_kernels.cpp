/* SPDX-License-Identifier: Apache-2.0 */
/* Named barriers and clusters. */
#include "wrong_kernels.cuh"

/* ---- named barriers ---- */

WRONG_KERNEL(named_barrier_of_two_sizes)
{
    tkj_wait_for_dependencies();
    tkj_named_barrier(1, p.wrong && tkj_warp() == 1 ? 32 : 64);
}

WRONG_KERNEL(named_barrier_that_misses_a_warp)
{
    tkj_wait_for_dependencies();
    if (!p.wrong || tkj_warp() == 0)
        tkj_named_barrier(2, 64);
}

WRONG_KERNEL(arrive_orders_nothing)
{
    WRONG_SHARED(shared);
    tkj_wait_for_dependencies();
    if (tkj_warp() == 0)
        shared[tkj_lane()] = 1;
    if ((tkj_warp() == 0) != (p.wrong != 0))
        tkj_named_barrier_arrive(1, 64);
    else
        tkj_named_barrier(1, 64);
    if (tkj_warp() == 1)
        p.out[tkj_lane()] = shared[tkj_lane()];
}

/* ---- clusters ---- */

WRONG_KERNEL(remote_access_before_barrier)
{
    WRONG_SHARED(shared);
    tkj_wait_for_dependencies();
    tkj_u32 *remote = (tkj_u32 *)tkj_cluster_map(shared, tkj_cluster_rank() ^ 1);
    if (!p.wrong)
        tkj_cluster_barrier();
    remote[tkj_thread()] = 1;
    tkj_cluster_barrier();
}

WRONG_KERNEL(remote_read_without_barrier)
{
    WRONG_SHARED(shared);
    tkj_wait_for_dependencies();
    tkj_u32 *remote = (tkj_u32 *)tkj_cluster_map(shared, tkj_cluster_rank() ^ 1);
    tkj_cluster_barrier();
    shared[tkj_thread()] = 1;
    if (!p.wrong)
        tkj_cluster_barrier();
    else
        tkj_block_barrier();
    tkj_u32 value = tkj_cluster_rank() == 0 ? remote[tkj_thread()] : 0;
    if (p.wrong && tkj_cluster_rank() == 1)
        shared[tkj_thread()] = 2;
    tkj_cluster_barrier();
    p.out[tkj_block() * WRONG_PITCH + tkj_thread()] = value;
}

WRONG_KERNEL(relaxed_arrive_publishes_nothing)
{
    WRONG_SHARED(shared);
    tkj_wait_for_dependencies();
    tkj_u32 *remote = (tkj_u32 *)tkj_cluster_map(shared, tkj_cluster_rank() ^ 1);
    shared[tkj_thread()] = 1;
    if (p.wrong)
        tkj_cluster_arrive_relaxed();
    else
        tkj_cluster_arrive();
    tkj_cluster_wait();
    p.out[tkj_block() * WRONG_PITCH + tkj_thread()] = remote[tkj_thread()];
    tkj_cluster_barrier();
}

/* The fence is what makes a relaxed arrival enough. */
WRONG_KERNEL(remote_mbarrier_init_not_fenced)
{
    WRONG_SHARED(shared);
    tkj_mbarrier *barrier = (tkj_mbarrier *)shared;
    tkj_wait_for_dependencies();
    if (tkj_thread() == 0 && tkj_cluster_rank() == 0) {
        tkj_mbarrier_init(barrier, 1);
        if (!p.wrong)
            tkj_mbarrier_fence_init();
    }
    tkj_cluster_arrive_relaxed();
    tkj_cluster_wait();
    if (tkj_thread() == 0 && tkj_cluster_rank() == 1)
        tkj_mbarrier_arrive_remote(barrier, 0);
    tkj_block_barrier(); /* its own initialisation */
    if (tkj_cluster_rank() == 0)
        tkj_mbarrier_wait(barrier, 0);
    tkj_cluster_barrier();
}

WRONG_KERNEL(exit_before_remote_access)
{
    WRONG_SHARED(shared);
    tkj_wait_for_dependencies();
    tkj_u32 *remote = (tkj_u32 *)tkj_cluster_map(shared, tkj_cluster_rank() ^ 1);
    shared[tkj_thread()] = 1;
    tkj_cluster_barrier();
    p.out[tkj_block() * WRONG_PITCH + tkj_thread()] = remote[tkj_thread()];
    if (!p.wrong) {
        tkj_cluster_arrive();
        tkj_cluster_wait();
    }
}

WRONG_KERNEL(cluster_arrive_twice)
{
    tkj_wait_for_dependencies();
    tkj_cluster_arrive();
    if (p.wrong && tkj_block() == 1)
        tkj_cluster_arrive();
    tkj_cluster_wait();
}

WRONG_KERNEL(cluster_wait_without_arrival)
{
    tkj_wait_for_dependencies();
    if (!p.wrong || tkj_thread() != 3)
        tkj_cluster_arrive();
    tkj_cluster_wait();
}

WRONG_KERNEL(cluster_arrive_without_wait)
{
    tkj_wait_for_dependencies();
    tkj_cluster_arrive();
    if (!p.wrong || tkj_thread() != 3)
        tkj_cluster_wait();
}

WRONG_KERNEL(cluster_rank_that_is_not)
{
    WRONG_SHARED(shared);
    tkj_wait_for_dependencies();
    tkj_cluster_map(shared, tkj_cluster_size() - !p.wrong);
}
