/* SPDX-License-Identifier: Apache-2.0 */
/* mbarriers, asynchronous copies and stores. */
#include "wrong_kernels.cuh"

/* Words that a copy moves, and where in shared memory what goes. */
#define COPIED 32
#define BYTES (COPIED * 4)

/** Shared memory of the kernels with copies. */
typedef struct copy_shared {
    tkj_u32 own[WRONG_THREADS];
    alignas(16) tkj_u32 buffer[WRONG_THREADS];
    tkj_mbarrier full;
    tkj_mbarrier empty;
} copy_shared;

static copy_shared *shared_of_copies(void)
{
    return (copy_shared *)tkj_simt_shared();
}

/** Initialises both mbarriers for all. */
static void init_barriers(copy_shared *shared, tkj_u32 arrivals)
{
    if (tkj_thread() == 0) {
        tkj_mbarrier_init(&shared->full, 1);
        tkj_mbarrier_init(&shared->empty, arrivals);
        tkj_mbarrier_fence_init();
    }
    tkj_block_barrier();
}

static void fill(copy_shared *shared, const tkj_u32 *from)
{
    tkj_mbarrier_arrive_expect(&shared->full, BYTES);
    tkj_copy_async_bulk(shared->buffer, from, BYTES, &shared->full);
}

/* ---- mbarriers ---- */

WRONG_KERNEL(mbarrier_not_initialised)
{
    copy_shared *shared = shared_of_copies();
    tkj_wait_for_dependencies();
    if (!p.wrong)
        init_barriers(shared, WRONG_THREADS);
    tkj_mbarrier_arrive(&shared->empty);
    tkj_mbarrier_wait(&shared->empty, 0);
}

WRONG_KERNEL(mbarrier_init_not_published)
{
    copy_shared *shared = shared_of_copies();
    tkj_wait_for_dependencies();
    if (tkj_thread() == 0)
        tkj_mbarrier_init(&shared->empty, WRONG_THREADS);
    if (!p.wrong)
        tkj_block_barrier();
    tkj_mbarrier_arrive(&shared->empty);
    tkj_mbarrier_wait(&shared->empty, 0);
}

WRONG_KERNEL(mbarrier_init_not_fenced)
{
    copy_shared *shared = shared_of_copies();
    tkj_wait_for_dependencies();
    if (tkj_thread() == 0) {
        tkj_mbarrier_init(&shared->full, 1);
        if (!p.wrong)
            tkj_mbarrier_fence_init();
        fill(shared, p.in);
        tkj_mbarrier_wait(&shared->full, 0);
    }
}

WRONG_KERNEL(mbarrier_initialised_twice)
{
    copy_shared *shared = shared_of_copies();
    tkj_wait_for_dependencies();
    if (tkj_thread() == 0) {
        tkj_mbarrier_init(&shared->full, 1);
        if (!p.wrong)
            tkj_mbarrier_invalidate(&shared->full);
        tkj_mbarrier_init(&shared->full, 2);
    }
}

/* The phase cannot end before the copy, so the second arrival comes too much. */
WRONG_KERNEL(mbarrier_one_arrival_too_many)
{
    copy_shared *shared = shared_of_copies();
    tkj_wait_for_dependencies();
    init_barriers(shared, 1);
    if (tkj_thread() == 0) {
        tkj_mbarrier_arrive_expect(&shared->full, BYTES);
        if (p.wrong)
            tkj_mbarrier_arrive(&shared->full);
        tkj_copy_async_bulk(shared->buffer, p.in, BYTES, &shared->full);
    }
    tkj_mbarrier_wait(&shared->full, 0);
}

WRONG_KERNEL(mbarrier_expects_too_little)
{
    copy_shared *shared = shared_of_copies();
    tkj_wait_for_dependencies();
    init_barriers(shared, 1);
    if (tkj_thread() == 0) {
        tkj_mbarrier_expect(&shared->full, BYTES - (p.wrong ? 16 : 0));
        tkj_copy_async_bulk(shared->buffer, p.in, BYTES, &shared->full);
        tkj_mbarrier_arrive(&shared->full);
    }
    tkj_mbarrier_wait(&shared->full, 0);
}

WRONG_KERNEL(mbarrier_expects_too_much)
{
    copy_shared *shared = shared_of_copies();
    tkj_wait_for_dependencies();
    init_barriers(shared, 1);
    if (tkj_thread() == 0) {
        tkj_mbarrier_arrive_expect(&shared->full, BYTES + (p.wrong ? 16 : 0));
        tkj_copy_async_bulk(shared->buffer, p.in, BYTES, &shared->full);
    }
    tkj_mbarrier_wait(&shared->full, 0);
}

/** Copies a row in, and out by the threads. */
static void copy_in_and_use(const wrong_params &p, bool wait, tkj_u32 parity)
{
    copy_shared *shared = shared_of_copies();
    tkj_wait_for_dependencies();
    init_barriers(shared, WRONG_THREADS);
    if (tkj_thread() == 0)
        fill(shared, p.in);
    if (wait)
        tkj_mbarrier_wait(&shared->full, parity);
    if (tkj_thread() < COPIED)
        p.out[tkj_thread()] = shared->buffer[tkj_thread()];
    tkj_mbarrier_wait(&shared->full, 0);
}

WRONG_KERNEL(mbarrier_not_waited_for)
{
    copy_in_and_use(p, !p.wrong, 0);
}

WRONG_KERNEL(mbarrier_wrong_parity)
{
    copy_in_and_use(p, true, p.wrong);
}

WRONG_KERNEL(mbarrier_arrival_publishes)
{
    copy_shared *shared = shared_of_copies();
    tkj_wait_for_dependencies();
    init_barriers(shared, WRONG_THREADS);
    if (!p.wrong)
        shared->own[tkj_thread()] = 1;
    tkj_mbarrier_arrive(&shared->empty);
    if (p.wrong)
        shared->own[tkj_thread()] = 1;
    tkj_mbarrier_wait(&shared->empty, 0);
    p.out[tkj_thread()] = shared->own[tkj_thread() ^ 33];
}

/** A producer and readers that pass one buffer back and forth. */
WRONG_KERNEL(buffer_refilled_too_early)
{
    copy_shared *shared = shared_of_copies();
    tkj_wait_for_dependencies();
    init_barriers(shared, 32);
    for (tkj_u32 i = 0; i < 3; i++) {
        if (tkj_thread() == 0) {
            if (!p.wrong)
                tkj_mbarrier_wait(&shared->empty, (i & 1) ^ 1);
            fill(shared, p.in + i * WRONG_PITCH);
        }
        if (tkj_warp() == 1) {
            tkj_mbarrier_wait(&shared->full, i & 1);
            p.out[i * WRONG_PITCH + tkj_lane()] = shared->buffer[tkj_lane()];
            tkj_mbarrier_arrive(&shared->empty);
        }
    }
}

/* ---- copies ---- */

WRONG_KERNEL(copy_misaligned)
{
    copy_shared *shared = shared_of_copies();
    tkj_wait_for_dependencies();
    init_barriers(shared, 1);
    if (tkj_thread() == 0)
        fill(shared, p.in + p.wrong);
    tkj_mbarrier_wait(&shared->full, 0);
}

WRONG_KERNEL(copy_from_between_rows)
{
    copy_shared *shared = shared_of_copies();
    tkj_wait_for_dependencies();
    init_barriers(shared, 1);
    if (tkj_thread() == 0)
        fill(shared, p.in + WRONG_COLUMNS - COPIED + 4 * p.wrong);
    tkj_mbarrier_wait(&shared->full, 0);
}

WRONG_KERNEL(copy_behind_shared_memory)
{
    copy_shared *shared = shared_of_copies();
    tkj_wait_for_dependencies();
    init_barriers(shared, 1);
    if (tkj_thread() == 0) {
        tkj_u32 *end = (tkj_u32 *)tkj_simt_shared() + WRONG_SHARED_BYTES / 4;
        tkj_mbarrier_arrive_expect(&shared->full, BYTES);
        tkj_copy_async_bulk(end - COPIED + 4 * p.wrong, p.in, BYTES, &shared->full);
    }
    tkj_mbarrier_wait(&shared->full, 0);
}

WRONG_KERNEL(copy_before_grid_dependencies)
{
    copy_shared *shared = shared_of_copies();
    if (!p.wrong)
        tkj_wait_for_dependencies();
    init_barriers(shared, 1);
    if (tkj_thread() == 0)
        fill(shared, p.in);
    tkj_mbarrier_wait(&shared->full, 0);
    tkj_wait_for_dependencies();
}

WRONG_KERNEL(copy_without_proxy_fence)
{
    copy_shared *shared = shared_of_copies();
    tkj_wait_for_dependencies();
    shared->buffer[tkj_thread()] = tkj_thread();
    if (!p.wrong)
        tkj_fence_async_proxy();
    tkj_block_barrier();
    if (tkj_thread() == 0) {
        tkj_copy_async_bulk_to_global(p.out, shared->buffer, BYTES);
        tkj_copy_async_bulk_commit();
        tkj_copy_async_bulk_wait();
    }
}

WRONG_KERNEL(copy_out_overwritten)
{
    copy_shared *shared = shared_of_copies();
    tkj_wait_for_dependencies();
    shared->buffer[tkj_thread()] = tkj_thread();
    tkj_block_barrier();
    if (tkj_thread() == 0) {
        tkj_fence_async_proxy();
        tkj_copy_async_bulk_to_global(p.out, shared->buffer, BYTES);
        tkj_copy_async_bulk_commit();
        if (!p.wrong)
            tkj_copy_async_bulk_wait();
        shared->buffer[0] = 7;
        tkj_copy_async_bulk_wait();
    }
}

WRONG_KERNEL(copy_out_not_waited_for)
{
    copy_shared *shared = shared_of_copies();
    tkj_wait_for_dependencies();
    shared->buffer[tkj_thread()] = tkj_thread();
    tkj_fence_async_proxy();
    tkj_block_barrier();
    if (tkj_thread() == 0) {
        tkj_copy_async_bulk_to_global(p.out, shared->buffer, BYTES);
        tkj_copy_async_bulk_commit();
        if (!p.wrong)
            tkj_copy_async_bulk_wait();
    }
}

WRONG_KERNEL(copy_out_not_committed)
{
    copy_shared *shared = shared_of_copies();
    tkj_wait_for_dependencies();
    shared->buffer[tkj_thread()] = tkj_thread();
    tkj_fence_async_proxy();
    tkj_block_barrier();
    if (tkj_thread() == 0) {
        tkj_copy_async_bulk_to_global(p.out, shared->buffer, BYTES);
        if (!p.wrong)
            tkj_copy_async_bulk_commit();
        tkj_copy_async_bulk_wait();
    }
}

WRONG_KERNEL(copy_to_rank_not_waited_for)
{
    copy_shared *shared = shared_of_copies();
    tkj_wait_for_dependencies();
    init_barriers(shared, 1);
    shared->own[tkj_thread()] = tkj_block();
    tkj_fence_async_proxy();
    tkj_cluster_barrier();
    if (tkj_thread() == 0) {
        tkj_mbarrier_arrive_expect(&shared->full, BYTES);
        tkj_copy_async_bulk_to_rank(shared->buffer, shared->own, BYTES, &shared->full,
                                    tkj_cluster_rank() ^ 1);
    }
    if (!p.wrong)
        tkj_mbarrier_wait(&shared->full, 0);
    if (tkj_thread() < COPIED)
        p.out[tkj_block() * WRONG_PITCH + tkj_thread()] = shared->buffer[tkj_thread()];
    tkj_cluster_barrier();
}

/* ---- st.async ---- */

static void store_and_use(const wrong_params &p, tkj_u32 expected, bool wait)
{
    copy_shared *shared = shared_of_copies();
    tkj_wait_for_dependencies();
    init_barriers(shared, 1);
    tkj_cluster_barrier();
    if (tkj_thread() == 0)
        tkj_mbarrier_arrive_expect(&shared->full, expected);
    tkj_store_async(&shared->own[tkj_thread()], tkj_block(), &shared->full, tkj_cluster_rank() ^ 1);
    if (wait)
        tkj_mbarrier_wait(&shared->full, 0);
    p.out[tkj_block() * WRONG_PITCH + tkj_thread()] = shared->own[tkj_thread()];
    tkj_cluster_barrier();
}

WRONG_KERNEL(store_async_not_waited_for)
{
    store_and_use(p, WRONG_THREADS * 4, !p.wrong);
}

WRONG_KERNEL(store_async_not_expected)
{
    store_and_use(p, WRONG_THREADS * 4 - (p.wrong ? 8 : 0), true);
}
