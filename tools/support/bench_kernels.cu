/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file bench_kernels.cu
 * @brief What the benchmark compares with: kernels that only read, only write, or do nothing. Not
 *        templates of the library.
 */
#include "bench_params.h"

/* ---- reading ---- */

/* Volatile: never narrowed or left out. Past L1, which keeps nothing from launch to launch. */
static __device__ __forceinline__ unsigned load_16_bytes(const char *address)
{
    unsigned x, y, z, w;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
                 : "l"(address));
    return x ^ y ^ z ^ w;
}

/** LOADS x 16 bytes a thread, all in flight at once; `left` are to be read from `address` on. */
template <int LOADS>
static __device__ __forceinline__ unsigned read_vectors(const char *address, long long left)
{
    const int step = (int)blockDim.x;
    unsigned all = 0;
    if (left >= step * LOADS) { /* the same for the whole block: no condition between the loads */
        unsigned found[LOADS];
#pragma unroll
        for (int i = 0; i < LOADS; i++)
            found[i] = load_16_bytes(address + (threadIdx.x + i * step) * 16);
#pragma unroll
        for (int i = 0; i < LOADS; i++)
            all ^= found[i];
        return all;
    }
    for (int i = (int)threadIdx.x; i < left; i += step)
        all ^= load_16_bytes(address + i * 16);
    return all;
}

/** A block's turn: piece `piece` of a row. */
template <int LOADS>
static __device__ __forceinline__ unsigned read_piece(const bench_read_params &p, unsigned row,
                                                      unsigned piece)
{
    const char *begin = (const char *)p.score + row * p.pitch;
    const long long bytes = p.lengths != 0 ? (long long)p.lengths[row] * p.score_size : p.bytes;
    const long long before = (long long)((unsigned long long)begin & 15);
    const long long vectors = (before + bytes + 15) / 16;
    const long long first = (long long)piece * (blockDim.x * LOADS);
    return read_vectors<LOADS>(begin - before + first * 16, vectors - first);
}

/** Entries in no order, as the positions of the largest scores are. */
static __device__ __forceinline__ unsigned gather(const bench_read_params &p)
{
    const unsigned long long wanted = (unsigned long long)p.gather_rows * p.gathers;
    const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
    unsigned all = 0;
    for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
         i < wanted; i += step) {
        const unsigned row = (unsigned)(i / p.gathers) % p.table_rows;
        const unsigned entry = (unsigned)((unsigned)i * 2654435761u) % (unsigned)p.table_width;
        all ^= (unsigned)p.table[row * p.table_width + entry];
    }
    return all;
}

template <int LOADS> static __device__ __forceinline__ void read_all(const bench_read_params &p)
{
    unsigned all = 0;
    for (unsigned turn = blockIdx.x; turn < p.rows * p.pieces; turn += gridDim.x) {
        const unsigned row = p.rows > 1 ? turn / p.pieces : 0; /* no division for one long row */
        all ^= read_piece<LOADS>(p, row, turn - row * p.pieces);
    }
    if (p.gathers != 0)
        all ^= gather(p);
    if (all == 0x9E3779B9u) /* the compiler cannot know that it hardly ever is */
        *p.sink = all;
}

extern "C" __global__ void bench_read_1(const __grid_constant__ bench_read_params p)
{
    read_all<1>(p);
}

extern "C" __global__ void bench_read_2(const __grid_constant__ bench_read_params p)
{
    read_all<2>(p);
}

extern "C" __global__ void bench_read_4(const __grid_constant__ bench_read_params p)
{
    read_all<4>(p);
}

extern "C" __global__ void bench_read_8(const __grid_constant__ bench_read_params p)
{
    read_all<8>(p);
}

/* ---- writing, nothing, waiting ---- */

extern "C" __global__ void bench_write(const __grid_constant__ bench_write_params p)
{
    const long long vectors = p.words / 4;
    const long long step = (long long)gridDim.x * blockDim.x;
    const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (long long i = first; i < vectors; i += step)
        asm volatile("st.global.v4.s32 [%0], {%1, %1, %1, %1};"
                     :
                     : "l"(p.out + 4 * i), "r"(-1)
                     : "memory");
    if (first < p.words - 4 * vectors)
        p.out[4 * vectors + first] = -1;
}

extern "C" __global__ void bench_empty(const __grid_constant__ bench_write_params)
{
}

extern "C" __global__ void __launch_bounds__(1024)
    bench_hold(const __grid_constant__ bench_hold_params p)
{
    if (threadIdx.x == 0) {
        const volatile unsigned *stop = p.stop;
        const long long begin = clock64();
        *(volatile unsigned *)p.started = 1;
        while (*stop == 0 && clock64() - begin < p.cycles)
            __nanosleep(200);
    }
    __syncthreads();
}
