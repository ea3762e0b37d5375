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
#define TKJ_UNROLL _Pragma("unroll")
#define TKJ_WARP 32

/** A kernel of one parameter, TKJ_THREADS threads a block. */
#define TKJ_KERNEL(params_type, name)                                                              \
    extern "C" __global__ void __launch_bounds__(TKJ_THREADS)                                      \
        TKJ_ENTRY(const __grid_constant__ params_type name)

/** The block's dynamic shared memory as one struct. */
#define TKJ_SHARED(type, name)                                                                     \
    extern __shared__ __align__(16) unsigned char tkj_shared_bytes[];                              \
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

/** Relaxed; in shared or global memory. */
TKJ_DEVICE void tkj_atomic_add(tkj_u32 *address, tkj_u32 value)
{
    atomicAdd(address, value);
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

#endif /* TKJ_PLATFORM_CUH */
