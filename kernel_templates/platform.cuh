/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file platform.cuh
 * @brief The only place that names hardware: thread indices, warp operations, barriers, atomics,
 *        grid dependencies. A second platform.cuh runs the same templates elsewhere.
 */
#ifndef TKJ_PLATFORM_CUH
#define TKJ_PLATFORM_CUH

#include "params.h"

#define TKJ_DEVICE static __device__ __forceinline__
/* What rows rarely need: a call, so that its code and its registers are out of the others' way. It
   takes few words, and finds shared memory by TKJ_SHARED. */
#define TKJ_OUT_OF_LINE static __device__ __noinline__
#define TKJ_UNROLL _Pragma("unroll")
#define TKJ_UNROLL_TWICE _Pragma("unroll 2")
#define TKJ_NO_UNROLL _Pragma("unroll 1")
#define TKJ_WARP 32

/** A kernel of one parameter, TKJ_THREADS threads a block, TKJ_BLOCKS_PER_SM blocks an SM. */
#define TKJ_KERNEL(params_type, name)                                                              \
    extern "C" __global__ void __launch_bounds__(TKJ_THREADS, TKJ_BLOCKS_PER_SM)                   \
        TKJ_ENTRY(const __grid_constant__ params_type name)

extern __shared__ __align__(16) unsigned char tkj_shared_bytes[];

/** The block's dynamic shared memory as one struct. */
#define TKJ_SHARED(type, name)                                                                     \
    TKJ_STATIC_ASSERT(sizeof(type) <= TKJ_SHARED_BYTES, "the host passes TKJ_SHARED_BYTES");       \
    type *name = (type *)tkj_shared_bytes

TKJ_DEVICE tkj_u32 tkj_thread(void)
{
    return threadIdx.x;
}

TKJ_DEVICE tkj_u32 tkj_lane(void)
{
    return threadIdx.x % TKJ_WARP;
}

TKJ_DEVICE tkj_u32 tkj_warp(void)
{
    return threadIdx.x / TKJ_WARP;
}

TKJ_DEVICE tkj_u32 tkj_block(void)
{
    return blockIdx.x;
}

TKJ_DEVICE tkj_u32 tkj_block_count(void)
{
    return gridDim.x;
}

/** All threads of the block; orders their shared and global accesses. */
TKJ_DEVICE void tkj_block_barrier(void)
{
    __syncthreads();
}

/** 16 bytes, loaded and stored by one instruction at an address that is a multiple of 16. */
typedef struct __align__(16) tkj_quad
{
    tkj_u32 words[4];
}
tkj_quad;

/** 8 bytes, likewise. */
typedef struct __align__(8) tkj_pair
{
    tkj_u32 words[2];
}
tkj_pair;

/** Bit l is the condition of lane l; all lanes call. */
TKJ_DEVICE tkj_u32 tkj_ballot(bool condition)
{
    return __ballot_sync(0xffffffffu, condition);
}

TKJ_DEVICE tkj_u32 tkj_count_bits(tkj_u32 bits)
{
    return (tkj_u32)__popc(bits);
}

/** The value of the lane `distance` below; a lane below `distance` gets its own. All lanes call. */
TKJ_DEVICE tkj_u64 tkj_shuffle_up(tkj_u64 value, tkj_u32 distance)
{
    return __shfl_up_sync(0xffffffffu, value, distance);
}

TKJ_DEVICE tkj_u32 tkj_shuffle_up(tkj_u32 value, tkj_u32 distance)
{
    return __shfl_up_sync(0xffffffffu, value, distance);
}

TKJ_DEVICE tkj_u32 tkj_shuffle_xor(tkj_u32 value, tkj_u32 mask)
{
    return __shfl_xor_sync(0xffffffffu, value, mask);
}

/** Largest value of the warp, in every lane. All lanes call. */
TKJ_DEVICE tkj_u32 tkj_warp_max(tkj_u32 value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(0xffffffffu, value);
#else
    TKJ_UNROLL
    for (tkj_u32 mask = TKJ_WARP / 2; mask > 0; mask /= 2) {
        tkj_u32 other = tkj_shuffle_xor(value, mask);
        value = other > value ? other : value;
    }
    return value;
#endif
}

/** Smallest value of the warp, in every lane. All lanes call. */
TKJ_DEVICE tkj_u32 tkj_warp_min(tkj_u32 value)
{
    return ~tkj_warp_max(~value);
}

/** Sum over the warp, in every lane. All lanes call. */
TKJ_DEVICE tkj_u64 tkj_warp_sum(tkj_u64 value)
{
    TKJ_UNROLL
    for (tkj_u32 mask = TKJ_WARP / 2; mask > 0; mask /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, mask);
    return value;
}

TKJ_DEVICE tkj_u32 tkj_warp_sum(tkj_u32 value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(0xffffffffu, value);
#else
    return (tkj_u32)tkj_warp_sum((tkj_u64)value);
#endif
}

/** Index of the lowest bit that is set, of bits != 0. */
TKJ_DEVICE tkj_u32 tkj_lowest_bit(tkj_u32 bits)
{
    return (tkj_u32)__ffs((tkj_i32)bits) - 1;
}

/** Bits that the value needs: 0 for 0. */
TKJ_DEVICE tkj_u32 tkj_bit_width(tkj_u32 value)
{
    return 32 - (tkj_u32)__clz((tkj_i32)value);
}

/** The mask moved up by one, with bit 31 of the value below it. */
TKJ_DEVICE tkj_u32 tkj_push_sign(tkj_u32 mask, tkj_u32 value)
{
    return __funnelshift_l(value, mask, 1);
}

TKJ_DEVICE float tkj_float_from_bits(tkj_u32 bits)
{
    return __uint_as_float(bits);
}

TKJ_DEVICE tkj_u32 tkj_bits_from_float(float value)
{
    return __float_as_uint(value);
}

/** a * b + c, rounded once and cut to [0, 1]; NaN gives 0. */
TKJ_DEVICE float tkj_fma_saturated(float a, float b, float c)
{
    float result;
    asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(result) : "f"(a), "f"(b), "f"(c));
    return result;
}

/** Requests global memory that will be read soon, from an address and of a size that are multiples
 * of 16. One thread asks for all. */
TKJ_DEVICE void tkj_prefetch(const void *address, tkj_u32 bytes)
{
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global(address)),
        "r"(bytes)
        : "memory");
#endif
}

/** An element of memory, or something else; without a branch, so that several are loaded at once.
 * Compilers do not know that it reads memory: what the kernel itself writes is to be ordered by
 * something that the address comes from. */
TKJ_DEVICE tkj_i32 tkj_load_if(bool condition, const tkj_i32 *address, tkj_i32 otherwise)
{
    tkj_i32 value;
    asm("{ .reg .pred p; setp.ne.u32 p, %1, 0; mov.s32 %0, %3;\n"
        "@p ld.s32 %0, [%2]; }"
        : "=r"(value)
        : "r"((tkj_u32)condition), "l"(address), "r"(otherwise));
    return value;
}

/** Says that the block takes a slow way, where few rows are to: for tests. */
TKJ_DEVICE void tkj_note_slow_path(void)
{
}

/** Fetches a parameter, and what is beside it, before it is needed. */
TKJ_DEVICE void tkj_prefetch_parameter(const void *value)
{
    asm volatile("" ::"l"(value));
}

/** The same address in global memory, of which the compiler is not to know how it came about: it
 * would not add to it what is at hand, but begin anew. */
TKJ_DEVICE const void *tkj_opaque(const void *address)
{
    asm("" : "+l"(address));
    __builtin_assume(__isGlobal(address));
    return address;
}

/** Value + that of the lane `distance` below; the value alone, if there is none. All lanes call. */
TKJ_DEVICE tkj_u32 tkj_add_from_below(tkj_u32 value, tkj_u32 distance)
{
    asm volatile("{ .reg .pred exists; .reg .u32 below; "
                 "shfl.sync.up.b32 below|exists, %0, %1, 0, 0xffffffff; "
                 "@exists add.u32 %0, %0, below; }"
                 : "+r"(value)
                 : "r"(distance));
    return value;
}

/** The upper half of a product. */
TKJ_DEVICE tkj_u32 tkj_upper_product(tkj_u32 a, tkj_u32 b)
{
    return __umulhi(a, b);
}

/** About 1 / x. */
TKJ_DEVICE float tkj_reciprocal(float x)
{
    float result;
    asm("rcp.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

/** About the square root of x. */
TKJ_DEVICE float tkj_square_root(float x)
{
    float result;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

/** Bit 31: x is below a pivot, which is a number; NaN is not. Below +0, -0 is, too. The other bits
 * are anything. */
TKJ_DEVICE tkj_u32 tkj_sign_if_below(float x, float pivot)
{
    return tkj_bits_from_float(x - pivot); /* NaN comes out positive */
}

/** Two floats rounded towards zero to float16, as bits, the first in the lower half. */
TKJ_DEVICE tkj_u32 tkj_halves_of(float first, float second)
{
    tkj_u32 halves;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rz.f16x2.f32 %0, %1, %2;" : "=r"(halves) : "f"(second), "f"(first));
#else
    asm("{ .reg .b16 lower, upper; cvt.rz.f16.f32 lower, %1; cvt.rz.f16.f32 upper, %2; "
        "mov.b32 %0, {lower, upper}; }"
        : "=r"(halves)
        : "f"(first), "f"(second));
#endif
    return halves;
}

/** The larger one; NaN if either is. */
TKJ_DEVICE float tkj_larger_or_nan(float a, float b)
{
#if __CUDA_ARCH__ >= 800
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
#else
    return a != a || a > b ? a : b;
#endif
}

/** A float16, given as bits, as a float: exact. */
TKJ_DEVICE float tkj_float_from_half(tkj_u16 bits)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

/** Relaxed; in shared or global memory. @return what was there before */
TKJ_DEVICE tkj_u32 tkj_atomic_fetch_add(tkj_u32 *address, tkj_u32 value)
{
    return atomicAdd(address, value);
}

/** Relaxed; in shared or global memory. */
TKJ_DEVICE void tkj_atomic_or(tkj_u32 *address, tkj_u32 bits)
{
    atomicOr(address, bits);
}

/** Relaxed; in shared or global memory. */
TKJ_DEVICE void tkj_atomic_add(tkj_u32 *address, tkj_u32 value)
{
    atomicAdd(address, value);
}

TKJ_DEVICE tkj_u32 tkj_shared_address(const void *shared)
{
    return (tkj_u32)__cvta_generic_to_shared(shared);
}

/** A place in shared memory. */
typedef unsigned int tkj_cursor;

TKJ_DEVICE tkj_cursor tkj_cursor_at(void *shared)
{
    return tkj_shared_address(shared);
}

/** The cursor, moved on by `size` bytes if only bit e of `bit` may be set, and is. */
TKJ_DEVICE tkj_cursor tkj_cursor_after(tkj_cursor cursor, tkj_u32 bit, tkj_u32 e, tkj_u32 size)
{
    tkj_cursor next;
    tkj_u32 shift = tkj_bit_width(size) - 1;
    if (e < shift)
        asm("{ .reg .u32 step; shl.b32 step, %2, %3; add.u32 %0, %1, step; }"
            : "=r"(next)
            : "r"(cursor), "r"(bit), "r"(shift - e));
    else
        asm("{ .reg .u32 step; shr.u32 step, %2, %3; add.u32 %0, %1, step; }"
            : "=r"(next)
            : "r"(cursor), "r"(bit), "r"(e - shift));
    return next;
}

/** Stores a value, if bit e of a mask is set; without a branch, and without waiting for the store
 * to have read its address. @return the cursor for the next one */
TKJ_DEVICE tkj_cursor tkj_append(tkj_cursor cursor, tkj_u32 value, tkj_u32 mask, tkj_u32 e)
{
    tkj_u32 bit;
    asm volatile("{ .reg .pred holds; and.b32 %0, %3, %4; setp.ne.u32 holds, %0, 0; "
                 "@holds st.shared.u32 [%1], %2; }"
                 : "=&r"(bit)
                 : "r"(cursor), "r"(value), "r"(mask), "r"(1u << e)
                 : "memory");
    return tkj_cursor_after(cursor, bit, e, 4);
}

TKJ_DEVICE tkj_cursor tkj_append(tkj_cursor cursor, tkj_pair value, tkj_u32 mask, tkj_u32 e)
{
    tkj_u32 bit;
    asm volatile("{ .reg .pred holds; and.b32 %0, %4, %5; setp.ne.u32 holds, %0, 0; "
                 "@holds st.shared.v2.u32 [%1], {%2, %3}; }"
                 : "=&r"(bit)
                 : "r"(cursor), "r"(value.words[0]), "r"(value.words[1]), "r"(mask), "r"(1u << e)
                 : "memory");
    return tkj_cursor_after(cursor, bit, e, 8);
}

/** Adds 1 to the counter of an index, in shared memory; counters[0] is that of `first`. One
 * instruction for the address. */
TKJ_DEVICE void tkj_atomic_count(tkj_u32 *counters, tkj_u32 first, tkj_u32 index)
{
    tkj_u32 address = tkj_shared_address(counters) - first * 4 + index * 4;
    asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(address) : "memory");
}

/** Waits for the kernels this one depends on; every thread, before its first global access. */
TKJ_DEVICE void tkj_wait_for_dependencies(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/** Lets kernels that depend on this one start to launch; they still wait for its end. */
TKJ_DEVICE void tkj_release_dependents(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/** The threads of the warp; orders their shared and global accesses. All lanes call. */
TKJ_DEVICE void tkj_warp_barrier(void)
{
    __syncwarp();
}

/** The value of a lane. All lanes call. */
TKJ_DEVICE tkj_u32 tkj_shuffle(tkj_u32 value, tkj_u32 lane)
{
    return __shfl_sync(0xffffffffu, value, lane);
}

/** The value of the lane `distance` above; a lane that has none gets its own. All lanes call. */
TKJ_DEVICE tkj_u32 tkj_shuffle_down(tkj_u32 value, tkj_u32 distance)
{
    return __shfl_down_sync(0xffffffffu, value, distance);
}

/** Bit l: lane l has the same value. All lanes call. */
TKJ_DEVICE tkj_u32 tkj_match(tkj_u32 value)
{
    return __match_any_sync(0xffffffffu, value);
}

/** Relaxed; in shared or global memory. */
TKJ_DEVICE void tkj_atomic_min(tkj_u32 *address, tkj_u32 value)
{
    atomicMin(address, value);
}

/** Relaxed; in shared or global memory. */
TKJ_DEVICE void tkj_atomic_max(tkj_u32 *address, tkj_u32 value)
{
    atomicMax(address, value);
}

/** Relaxed; in shared or global memory. @return what was there before */
TKJ_DEVICE tkj_u32 tkj_atomic_exchange(tkj_u32 *address, tkj_u32 value)
{
    return atomicExch(address, value);
}

/** A barrier of some warps: `id` is 1 .. 15, `threads` how many threads arrive or wait. */
TKJ_DEVICE void tkj_named_barrier(tkj_u32 id, tkj_u32 threads)
{
    asm volatile("barrier.cta.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/** Counts at a named barrier and goes on: orders what came before, for those who wait. */
TKJ_DEVICE void tkj_named_barrier_arrive(tkj_u32 id, tkj_u32 threads)
{
    asm volatile("barrier.cta.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

#if __CUDA_ARCH__ >= 900

/** An mbarrier in shared memory, opaque. */
typedef tkj_u64 tkj_mbarrier;

/** Rank of this block in its cluster. Read anew each time, or it would take a register for long. */
TKJ_DEVICE tkj_u32 tkj_cluster_rank(void)
{
    tkj_u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

/** Blocks of the cluster. */
TKJ_DEVICE tkj_u32 tkj_cluster_size(void)
{
    tkj_u32 size;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    return size;
}

/** Every thread of the cluster arrives once, then waits once; the lanes of a warp together. */
TKJ_DEVICE void tkj_cluster_arrive(void)
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

/** Publishes nothing that this thread wrote. */
TKJ_DEVICE void tkj_cluster_arrive_relaxed(void)
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

TKJ_DEVICE void tkj_cluster_wait(void)
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/** All threads of the cluster; orders their accesses. */
TKJ_DEVICE void tkj_cluster_barrier(void)
{
    tkj_cluster_arrive();
    tkj_cluster_wait();
}

/** The same place in the shared memory of another block of the cluster. That block must have passed
 *  a cluster barrier, and must not exit before it knows that this one is done with it. */
TKJ_DEVICE void *tkj_cluster_map(void *shared, tkj_u32 rank)
{
    tkj_u64 mapped;
    asm("mapa.u64 %0, %1, %2;" : "=l"(mapped) : "l"(shared), "r"(rank));
    return (void *)mapped;
}

/** Shared-memory address of the same place in another block. */
TKJ_DEVICE tkj_u32 tkj_remote_address(const void *shared, tkj_u32 rank)
{
    tkj_u32 mapped;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(mapped)
        : "r"(tkj_shared_address(shared)), "r"(rank));
    return mapped;
}

/** For `count` arrivals a phase. */
TKJ_DEVICE void tkj_mbarrier_init(tkj_mbarrier *barrier, tkj_u32 count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(tkj_shared_address(barrier)),
                 "r"(count)
                 : "memory");
}

/** Shows the mbarriers that this thread initialised to asynchronous operations and other blocks; a
 *  barrier must follow. */
TKJ_DEVICE void tkj_mbarrier_fence_init(void)
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

TKJ_DEVICE void tkj_mbarrier_invalidate(tkj_mbarrier *barrier)
{
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(tkj_shared_address(barrier))
                 : "memory");
}

TKJ_DEVICE void tkj_mbarrier_arrive(tkj_mbarrier *barrier)
{
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0]; }" ::"r"(
                     tkj_shared_address(barrier))
                 : "memory");
}

/** At the mbarrier of another block of the cluster. */
TKJ_DEVICE void tkj_mbarrier_arrive_remote(tkj_mbarrier *barrier, tkj_u32 rank)
{
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                     tkj_remote_address(barrier, rank))
                 : "memory");
}

/** Arrives, and adds to the bytes that the phase waits for. */
TKJ_DEVICE void tkj_mbarrier_arrive_expect(tkj_mbarrier *barrier, tkj_u32 bytes)
{
    asm volatile("{ .reg .b64 state; "
                 "mbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1; }" ::"r"(
                     tkj_shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
}

/** Adds to the bytes that the phase waits for. */
TKJ_DEVICE void tkj_mbarrier_expect(tkj_mbarrier *barrier, tkj_u32 bytes)
{
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(
                     tkj_shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
}

/** Waits until the phase of this parity is complete: the first has parity 0. Parity 1 of a fresh
 *  mbarrier is complete. Orders shared memory, which no cache holds: at the scope of the cluster it
 *  would also empty the cache of global memory. */
TKJ_DEVICE void tkj_mbarrier_wait(tkj_mbarrier *barrier, tkj_u32 parity)
{
    tkj_u32 done;
    do {
        asm volatile("{ .reg .pred complete; "
                     "mbarrier.try_wait.parity.shared::cta.b64 complete, [%1], %2; "
                     "selp.u32 %0, 1, 0, complete; }"
                     : "=r"(done)
                     : "r"(tkj_shared_address(barrier)), "r"(parity)
                     : "memory");
    } while (!done);
}

/** Makes what this thread knows to be written visible to asynchronous copies. */
TKJ_DEVICE void tkj_fence_async_proxy(void)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/** Global to own shared memory; addresses and size are multiples of 16. The bytes count at the
 *  mbarrier. */
TKJ_DEVICE void tkj_copy_async_bulk(void *to, const void *from, tkj_u32 bytes,
                                    tkj_mbarrier *barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(tkj_shared_address(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(tkj_shared_address(barrier))
                 : "memory");
}

/** Own shared memory to that of another block: `to` and `barrier` are places in this block that
 *  stand for those of the other. */
TKJ_DEVICE void tkj_copy_async_bulk_to_rank(void *to, const void *from, tkj_u32 bytes,
                                            tkj_mbarrier *barrier, tkj_u32 rank)
{
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(tkj_remote_address(to, rank)),
                 "r"(tkj_shared_address(from)), "r"(bytes), "r"(tkj_remote_address(barrier, rank))
                 : "memory");
}

/** Own shared to global memory, in the thread's open bulk group. */
TKJ_DEVICE void tkj_copy_async_bulk_to_global(void *to, const void *from, tkj_u32 bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                     __cvta_generic_to_global(to)),
                 "r"(tkj_shared_address(from)), "r"(bytes)
                 : "memory");
}

/** Closes the thread's open bulk group. */
TKJ_DEVICE void tkj_copy_async_bulk_commit(void)
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/** Waits for all closed bulk groups of the thread. */
TKJ_DEVICE void tkj_copy_async_bulk_wait(void)
{
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/** Stores to another block, without waiting; the bytes count at its mbarrier. */
TKJ_DEVICE void tkj_store_async(tkj_u32 *to, tkj_u32 value, tkj_mbarrier *barrier, tkj_u32 rank)
{
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 "
                 "[%0], %1, [%2];" ::"r"(tkj_remote_address(to, rank)),
                 "r"(value), "r"(tkj_remote_address(barrier, rank))
                 : "memory");
}

TKJ_DEVICE void tkj_store_async(tkj_u64 *to, tkj_u64 value, tkj_mbarrier *barrier, tkj_u32 rank)
{
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u64 "
                 "[%0], %1, [%2];" ::"r"(tkj_remote_address(to, rank)),
                 "l"(value), "r"(tkj_remote_address(barrier, rank))
                 : "memory");
}

#endif /* __CUDA_ARCH__ >= 900 */

#endif /* TKJ_PLATFORM_CUH */
