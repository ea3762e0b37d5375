/* SPDX-License-Identifier: Apache-2.0 */
#include "primitives.h"

#include "wrong_kernels.cuh"

#define TKJ_DTYPE TKJ_FLOAT32
#define TKJ_INDEX_BITS 32
#define TKJ_UNIT_STRIDE 1
#define TKJ_NAN_LAST 0
#define TKJ_TIE_LARGEST 0
#include "value_bins.cuh"

#define PRIMITIVE(name) TKJ_SIMT_DEFINE(primitive_##name, #name, name, wrong_params, p)

static tkj_u32 *row_of(const wrong_params &p, tkj_u32 row)
{
    return p.out + row * WRONG_PITCH + tkj_thread();
}

PRIMITIVE(ballots)
{
    tkj_wait_for_dependencies();
    *row_of(p, 0) = tkj_ballot(tkj_thread() % 3 == 0);
}

PRIMITIVE(shuffles)
{
    tkj_wait_for_dependencies();
    *row_of(p, 0) = tkj_shuffle(tkj_thread(), tkj_lane() / 2);
    *row_of(p, 1) = tkj_shuffle_up(tkj_thread(), 3);
    *row_of(p, 2) = tkj_shuffle_down(tkj_thread(), 5);
    *row_of(p, 3) = tkj_shuffle_xor(tkj_thread(), 9);
}

PRIMITIVE(wide_shuffle)
{
    tkj_wait_for_dependencies();
    tkj_u64 wide = tkj_shuffle_up((tkj_u64)tkj_thread() << 40, 1);
    *row_of(p, 0) = (tkj_u32)(wide >> 40);
    wide = tkj_warp_sum((tkj_u64)1 << 40);
    *row_of(p, 1) = (tkj_u32)(wide >> 40);
}

PRIMITIVE(matches)
{
    tkj_wait_for_dependencies();
    *row_of(p, 0) = tkj_match(tkj_thread() % 5);
}

PRIMITIVE(reductions)
{
    tkj_wait_for_dependencies();
    tkj_u32 value = tkj_thread() * 7 % 64;
    *row_of(p, 0) = tkj_warp_sum(value);
    *row_of(p, 1) = tkj_warp_min(value);
    *row_of(p, 2) = tkj_warp_max(value);
}

PRIMITIVE(bit_counts)
{
    tkj_wait_for_dependencies();
    tkj_u32 bits = 1u << tkj_lane() | 0x80000000u;
    *row_of(p, 0) = tkj_count_bits(bits);
    *row_of(p, 1) = tkj_lowest_bit(bits);
    *row_of(p, 2) = tkj_bit_width(tkj_thread());
    *row_of(p, 3) = tkj_push_sign(tkj_thread(), tkj_thread() << 31);
}

/* Every 1024th float16. */
PRIMITIVE(halves)
{
    tkj_wait_for_dependencies();
    *row_of(p, 0) = tkj_bits_from_float(tkj_float_from_half((tkj_u16)(tkj_thread() * 1024 + 1)));
    *row_of(p, 1) = tkj_bits_from_float(tkj_float_from_half((tkj_u16)(tkj_thread() * 1024)));
}

/* Floats of all magnitudes, infinity, NaN. */
PRIMITIVE(rounded)
{
    tkj_wait_for_dependencies();
    tkj_u32 bits = tkj_thread() == 62 ? 0x7f800000u : tkj_thread() * 0x02082083u;
    float x = tkj_float_from_bits(tkj_thread() == 63 ? 0x7f800001u : bits);
    tkj_u32 halves = tkj_halves_of(x, -x);
    *row_of(p, 0) = halves & 0xffffu;
    *row_of(p, 1) = halves >> 16;
}

PRIMITIVE(roots)
{
    tkj_wait_for_dependencies();
    *row_of(p, 0) = tkj_bits_from_float(tkj_square_root((float)(tkj_thread() * tkj_thread())));
}

PRIMITIVE(saturated)
{
    tkj_wait_for_dependencies();
    float x = tkj_thread() == 0 ? tkj_float_from_bits(0x7fc00000u) : (float)tkj_thread();
    *row_of(p, 0) = tkj_bits_from_float(tkj_fma_saturated(x, 0.0625f, -1.0f));
}

/** The first launch leaves a word a thread, the second one adds up as many, from counter[0] on. */
PRIMITIVE(left_in_memory)
{
    tkj_wait_for_dependencies();
    if (p.wrong == 0)
        p.out[tkj_thread()] = tkj_thread() + 1;
    else
        tkj_atomic_add(p.counter + 1, p.in[tkj_thread() + p.counter[0]]);
}

/** Keys of maps whose bins are said to be distinct: how many share an inner bin with the one
 * before, and how many the last bin. */
PRIMITIVE(distinct_bins)
{
    const tkj_u32 spans[] = {1, 125, 300, TKJ_BINS / 4 - 1};
    tkj_u32 inner = 0;
    tkj_u32 last = 0;
    tkj_wait_for_dependencies();
    for (tkj_u32 span : spans) {
        const tkj_u32 lowest = 0x3fff851eu + tkj_thread() * 130001u;
        const float low = tkj_float_from_bits(lowest);
        const float high = tkj_float_from_bits(lowest + span);
        const tkj_value_map map = tkj_value_map_of_pivots(high, low);
        tkj_u32 before = TKJ_BINS;
        inner += !tkj_bins_are_distinct(high, low);
        for (tkj_u32 bits = lowest + span + 1; bits-- > lowest;) {
            tkj_u32 bin = tkj_value_bin(&map, tkj_float_from_bits(bits));
            inner += bin == before && bin > 0 && bin < TKJ_BINS - 1;
            last += bin == before && bin == TKJ_BINS - 1;
            before = bin;
        }
    }
    *row_of(p, 0) = inner;
    *row_of(p, 1) = last;
}

PRIMITIVE(atomics)
{
    WRONG_SHARED(shared);
    tkj_wait_for_dependencies();
    if (tkj_thread() < 8)
        shared[tkj_thread()] = tkj_thread() == 1 ? 0xffffffffu : 0;
    tkj_block_barrier();
    tkj_atomic_add(&shared[0], tkj_thread());
    tkj_atomic_min(&shared[1], tkj_thread() + 5);
    tkj_atomic_max(&shared[2], tkj_thread() + 5);
    tkj_atomic_or(&shared[3 + tkj_thread() / 32], 1u << tkj_lane());
    tkj_u32 before = tkj_atomic_exchange(&shared[5], tkj_thread() + 1);
    tkj_atomic_add(&shared[6], before);
    tkj_atomic_count(shared, 100, 107);
    tkj_block_barrier();
    /* Every value was handed on but the last one. */
    *row_of(p, 0) = tkj_thread() < 5 ? shared[tkj_thread()] : shared[5] + shared[6];
    *row_of(p, 1) = shared[7];
}

/* Which thread gets which slot depends on the order alone. */
PRIMITIVE(slots_by_order)
{
    tkj_wait_for_dependencies();
    p.out[tkj_atomic_fetch_add(p.counter, 1)] = tkj_thread();
}

/* Two stages, a producer, a consumer warp. */
PRIMITIVE(ring_of_copies)
{
    struct ring {
        alignas(16) tkj_u32 stage[2][32];
        tkj_mbarrier full[2];
        tkj_mbarrier empty[2];
    };
    ring *shared = (ring *)tkj_simt_shared();
    tkj_wait_for_dependencies();
    if (tkj_thread() == 0) {
        for (int s = 0; s < 2; s++) {
            tkj_mbarrier_init(&shared->full[s], 1);
            tkj_mbarrier_init(&shared->empty[s], 32);
        }
        tkj_mbarrier_fence_init();
    }
    tkj_block_barrier();
    for (tkj_u32 i = 0; i < 2 * WRONG_ROWS; i++) {
        tkj_u32 s = i % 2;
        tkj_u32 round = i / 2 % 2;
        if (tkj_thread() == 0) {
            tkj_mbarrier_wait(&shared->empty[s], round ^ 1);
            tkj_mbarrier_arrive_expect(&shared->full[s], 128);
            tkj_copy_async_bulk(shared->stage[s], p.in + i / 2 * WRONG_PITCH + s * 32, 128,
                                &shared->full[s]);
        }
        if (tkj_warp() == 1) {
            tkj_mbarrier_wait(&shared->full[s], round);
            p.out[i / 2 * WRONG_PITCH + s * 32 + tkj_lane()] = shared->stage[s][tkj_lane()];
            tkj_mbarrier_arrive(&shared->empty[s]);
        }
    }
}

/* Every rank gets what the next one has. */
PRIMITIVE(cluster_exchange)
{
    WRONG_SHARED(shared);
    tkj_wait_for_dependencies();
    tkj_u32 next = (tkj_cluster_rank() + 1) % tkj_cluster_size();
    shared[tkj_thread()] = tkj_block() * 100 + tkj_thread();
    tkj_cluster_barrier();
    *row_of(p, tkj_block()) = ((tkj_u32 *)tkj_cluster_map(shared, next))[tkj_thread()];
    tkj_cluster_barrier();
}

/** Shared memory of the two below. */
struct exchange {
    alignas(16) tkj_u32 mine[64];
    alignas(16) tkj_u32 copied[64];
    tkj_u64 stored[64];
    tkj_mbarrier full;
};

/* By a bulk copy, and by stores of both widths. */
PRIMITIVE(copies_between_ranks)
{
    exchange *shared = (exchange *)tkj_simt_shared();
    tkj_wait_for_dependencies();
    tkj_u32 next = (tkj_cluster_rank() + 1) % tkj_cluster_size();
    if (tkj_thread() == 0) {
        tkj_mbarrier_init(&shared->full, 1);
        tkj_mbarrier_fence_init();
    }
    shared->mine[tkj_thread()] = tkj_block() * 100 + tkj_thread();
    tkj_fence_async_proxy();
    tkj_cluster_barrier();
    if (tkj_thread() == 0) {
        tkj_mbarrier_arrive_expect(&shared->full, 128 + 32 * 4 + 64 * 8);
        tkj_copy_async_bulk_to_rank(shared->copied, shared->mine, 128, &shared->full, next);
    }
    if (tkj_thread() >= 32)
        tkj_store_async(&shared->copied[tkj_thread()], tkj_block() * 100 + tkj_thread(),
                        &shared->full, next);
    tkj_store_async(&shared->stored[tkj_thread()], (tkj_u64)tkj_block() << 40, &shared->full, next);
    tkj_mbarrier_wait(&shared->full, 0);
    *row_of(p, tkj_block()) =
        shared->copied[tkj_thread()] + 1000 * (tkj_u32)(shared->stored[tkj_thread()] >> 40);
    tkj_cluster_barrier();
}

/* Rank 0 waits for all threads of all ranks. */
PRIMITIVE(remote_arrivals)
{
    exchange *shared = (exchange *)tkj_simt_shared();
    tkj_wait_for_dependencies();
    if (tkj_thread() == 0) {
        tkj_mbarrier_init(&shared->full, WRONG_THREADS * tkj_cluster_size());
        tkj_mbarrier_fence_init();
    }
    tkj_cluster_barrier();
    tkj_u32 *of_rank_0 = (tkj_u32 *)tkj_cluster_map(shared->copied, 0);
    if (tkj_thread() < 16)
        of_rank_0[tkj_cluster_rank() * 16 + tkj_thread()] = tkj_block() + 7;
    tkj_mbarrier_arrive_remote(&shared->full, 0);
    if (tkj_cluster_rank() == 0) {
        tkj_mbarrier_wait(&shared->full, 0);
        *row_of(p, 0) = shared->copied[tkj_thread()];
    }
    tkj_cluster_barrier();
}

PRIMITIVE(copy_out)
{
    exchange *shared = (exchange *)tkj_simt_shared();
    tkj_wait_for_dependencies();
    shared->mine[tkj_thread()] = tkj_thread() * 3;
    tkj_block_barrier();
    if (tkj_thread() == 0) {
        tkj_fence_async_proxy();
        tkj_copy_async_bulk_to_global(p.out, shared->mine, 128);
        tkj_copy_async_bulk_commit();
        tkj_copy_async_bulk_to_global(p.out + 32, shared->mine + 32, 128);
        tkj_copy_async_bulk_commit();
        tkj_copy_async_bulk_wait();
    }
}
