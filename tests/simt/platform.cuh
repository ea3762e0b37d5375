/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file platform.cuh
 * @brief The platform of kernel_templates/platform.cuh on the executor: same names, same meaning.
 *
 * Included before the prelude (the compiler's -include), so that its guard keeps the other file
 * out. TKJ_SIMT_KERNEL names the kernel's description, TKJ_SIMT_ARCHITECTURE is 90 for sm_90.
 */
#ifndef TKJ_PLATFORM_CUH
#define TKJ_PLATFORM_CUH

#include <math.h>

#include "params.h"
#include "simt_device.h"

#define TKJ_DEVICE [[maybe_unused]] static inline
#define TKJ_OUT_OF_LINE [[maybe_unused]] static
#define TKJ_UNROLL
#define TKJ_UNROLL_TWICE
#define TKJ_NO_UNROLL

/** What only passes on: inlined, so that a return address is a line of the kernel. */
#define TKJ_SIMT_PASS [[maybe_unused]] static inline __attribute__((always_inline))
#define TKJ_WARP 32

/** The last parameter of everything that threads do together: the line of the call. */
#define TKJ_SIMT_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()
#define TKJ_SIMT_HERE (tkj_simt_site{file, line})
#define TKJ_SIMT_TEXT_(text) #text
#define TKJ_SIMT_TEXT(text) TKJ_SIMT_TEXT_(text)

/** A kernel and its description, `symbol`. */
#define TKJ_SIMT_DEFINE(symbol, entry, body, params_type, name)                                    \
    static void body(const params_type &name);                                                     \
    extern "C" const tkj_simt_kernel symbol;                                                       \
    const tkj_simt_kernel symbol = {                                                               \
        entry,                                                                                     \
        TKJ_SIMT_ARCHITECTURE,                                                                     \
        TKJ_THREADS,                                                                               \
        TKJ_SHARED_BYTES,                                                                          \
        sizeof(params_type),                                                                       \
        [](const void *p) { body(*static_cast<const params_type *>(p)); }};                        \
    static void body(const params_type &name)

#define TKJ_KERNEL(params_type, name)                                                              \
    TKJ_SIMT_DEFINE(TKJ_SIMT_KERNEL, TKJ_SIMT_TEXT(TKJ_ENTRY), tkj_simt_body, params_type, name)

#define TKJ_SHARED(type, name)                                                                     \
    TKJ_STATIC_ASSERT(sizeof(type) <= TKJ_SHARED_BYTES, "the host passes TKJ_SHARED_BYTES");       \
    type *name = (type *)tkj_simt_shared()

typedef struct alignas(16) tkj_quad {
    tkj_u32 words[4];
} tkj_quad;

typedef struct alignas(8) tkj_pair {
    tkj_u32 words[2];
} tkj_pair;

TKJ_SIMT_PASS tkj_u32 tkj_thread(void)
{
    return tkj_simt_thread();
}

TKJ_SIMT_PASS tkj_u32 tkj_lane(void)
{
    return tkj_simt_thread() % TKJ_WARP;
}

TKJ_SIMT_PASS tkj_u32 tkj_warp(void)
{
    return tkj_simt_thread() / TKJ_WARP;
}

TKJ_SIMT_PASS tkj_u32 tkj_block(void)
{
    return tkj_simt_block();
}

TKJ_SIMT_PASS tkj_u32 tkj_block_count(void)
{
    return tkj_simt_block_count();
}

TKJ_SIMT_PASS void tkj_block_barrier(TKJ_SIMT_SITE)
{
    tkj_simt_block_barrier(TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_named_barrier(tkj_u32 id, tkj_u32 threads, TKJ_SIMT_SITE)
{
    tkj_simt_named_barrier(id, threads, true, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_named_barrier_arrive(tkj_u32 id, tkj_u32 threads, TKJ_SIMT_SITE)
{
    tkj_simt_named_barrier(id, threads, false, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_warp_barrier(TKJ_SIMT_SITE)
{
    tkj_simt_warp(TKJ_SIMT_WARP_BARRIER, 0, 0, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS tkj_u32 tkj_ballot(bool condition, TKJ_SIMT_SITE)
{
    return (tkj_u32)tkj_simt_warp(TKJ_SIMT_BALLOT, condition, 0, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS tkj_u32 tkj_count_bits(tkj_u32 bits)
{
    return (tkj_u32)__builtin_popcount(bits);
}

TKJ_SIMT_PASS tkj_u32 tkj_lowest_bit(tkj_u32 bits)
{
    return (tkj_u32)__builtin_ctz(bits);
}

TKJ_SIMT_PASS tkj_u32 tkj_bit_width(tkj_u32 value)
{
    return value == 0 ? 0 : 32 - (tkj_u32)__builtin_clz(value);
}

TKJ_SIMT_PASS tkj_u32 tkj_push_sign(tkj_u32 mask, tkj_u32 value)
{
    return mask << 1 | value >> 31;
}

TKJ_SIMT_PASS float tkj_float_from_bits(tkj_u32 bits)
{
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

TKJ_SIMT_PASS tkj_u32 tkj_bits_from_float(float value)
{
    tkj_u32 bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

TKJ_SIMT_PASS float tkj_fma_saturated(float a, float b, float c)
{
    float result = fmaf(a, b, c);
    return result >= 1.0f ? 1.0f : result > 0.0f ? result : 0.0f;
}

/** Only bounds matter: the first and the last bytes are read. */
TKJ_SIMT_PASS void tkj_prefetch(const void *address, tkj_u32 bytes)
{
    const volatile tkj_u8 *first = static_cast<const tkj_u8 *>(address);
    if (bytes > 0)
        (void)(first[0] + first[bytes - 1]);
}

TKJ_SIMT_PASS tkj_i32 tkj_load_if(bool condition, const tkj_i32 *address, tkj_i32 otherwise)
{
    return condition ? *address : otherwise;
}

TKJ_SIMT_PASS float tkj_larger_or_nan(float a, float b)
{
    return a != a || a > b ? a : b;
}

TKJ_SIMT_PASS void tkj_note_slow_path()
{
    tkj_simt_note_slow_path();
}

TKJ_SIMT_PASS void tkj_prefetch_parameter(const void *)
{
}

TKJ_SIMT_PASS const void *tkj_opaque(const void *address)
{
    return address;
}

TKJ_SIMT_PASS tkj_u32 tkj_upper_product(tkj_u32 a, tkj_u32 b)
{
    return (tkj_u32)((tkj_u64)a * b >> 32);
}

TKJ_SIMT_PASS float tkj_reciprocal(float x)
{
    return 1.0f / x;
}

TKJ_SIMT_PASS float tkj_square_root(float x)
{
    return __builtin_sqrtf(x);
}

/** As on the GPU: -0 is below +0, and NaN comes out positive. */
TKJ_SIMT_PASS tkj_u32 tkj_sign_if_below(float x, float pivot)
{
    float difference = x - pivot;
    return difference != difference ? 0 : tkj_bits_from_float(difference);
}

static inline tkj_u32 tkj_simt_half(float x)
{
    tkj_u32 bits = tkj_bits_from_float(x);
    tkj_u32 sign = bits >> 31 << 15;
    tkj_u32 magnitude = bits & 0x7fffffffu;
    if (magnitude >= 0x7f800000u)
        return magnitude > 0x7f800000u ? 0x7fffu : sign | 0x7c00u;
    if (magnitude >= 0x47800000u) /* 2^16 */
        return sign | 0x7bffu;
    if (magnitude >= 0x38800000u) /* 2^-14 */
        return sign | (magnitude - 0x38000000u) >> 13;
    return sign | (tkj_u32)(tkj_float_from_bits(magnitude) * 0x1p24f);
}

TKJ_SIMT_PASS tkj_u32 tkj_halves_of(float first, float second)
{
    return tkj_simt_half(first) | tkj_simt_half(second) << 16;
}

TKJ_SIMT_PASS float tkj_float_from_half(tkj_u16 bits)
{
    tkj_u32 exponent = bits >> 10 & 31u;
    tkj_u32 mantissa = bits & 0x3ffu;
    float sign = bits >> 15 ? -1.0f : 1.0f;
    if (exponent == 0)
        return sign * (float)mantissa * 0x1p-24f;
    tkj_u32 biased = exponent == 31 ? 255 : exponent + 112;
    return tkj_float_from_bits((tkj_u32)(bits >> 15) << 31 | biased << 23 | mantissa << 13);
}

TKJ_SIMT_PASS tkj_u32 tkj_shuffle(tkj_u32 value, tkj_u32 lane, TKJ_SIMT_SITE)
{
    return (tkj_u32)tkj_simt_warp(TKJ_SIMT_SHUFFLE, value, lane, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS tkj_u64 tkj_shuffle_up(tkj_u64 value, tkj_u32 distance, TKJ_SIMT_SITE)
{
    return tkj_simt_warp(TKJ_SIMT_SHUFFLE_UP, value, distance, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS tkj_u32 tkj_shuffle_up(tkj_u32 value, tkj_u32 distance, TKJ_SIMT_SITE)
{
    return (tkj_u32)tkj_simt_warp(TKJ_SIMT_SHUFFLE_UP, value, distance, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS tkj_u32 tkj_add_from_below(tkj_u32 value, tkj_u32 distance, TKJ_SIMT_SITE)
{
    tkj_u32 below = (tkj_u32)tkj_simt_warp(TKJ_SIMT_SHUFFLE_UP, value, distance, TKJ_SIMT_HERE);
    return tkj_lane() >= distance ? value + below : value;
}

TKJ_SIMT_PASS tkj_u32 tkj_shuffle_down(tkj_u32 value, tkj_u32 distance, TKJ_SIMT_SITE)
{
    return (tkj_u32)tkj_simt_warp(TKJ_SIMT_SHUFFLE_DOWN, value, distance, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS tkj_u32 tkj_shuffle_xor(tkj_u32 value, tkj_u32 mask, TKJ_SIMT_SITE)
{
    return (tkj_u32)tkj_simt_warp(TKJ_SIMT_SHUFFLE_XOR, value, mask, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS tkj_u32 tkj_match(tkj_u32 value, TKJ_SIMT_SITE)
{
    return (tkj_u32)tkj_simt_warp(TKJ_SIMT_MATCH, value, 0, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS tkj_u32 tkj_warp_min(tkj_u32 value, TKJ_SIMT_SITE)
{
    return (tkj_u32)tkj_simt_warp(TKJ_SIMT_REDUCE_MIN, value, 0, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS tkj_u32 tkj_warp_max(tkj_u32 value, TKJ_SIMT_SITE)
{
    return (tkj_u32)tkj_simt_warp(TKJ_SIMT_REDUCE_MAX, value, 0, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS tkj_u64 tkj_warp_sum(tkj_u64 value, TKJ_SIMT_SITE)
{
    return tkj_simt_warp(TKJ_SIMT_REDUCE_ADD, value, 0, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS tkj_u32 tkj_warp_sum(tkj_u32 value, TKJ_SIMT_SITE)
{
    return (tkj_u32)tkj_simt_warp(TKJ_SIMT_REDUCE_ADD, value, 0, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_atomic_add(tkj_u32 *address, tkj_u32 value, TKJ_SIMT_SITE)
{
    tkj_simt_atomic(TKJ_SIMT_ATOMIC_ADD, address, value, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_atomic_count(tkj_u32 *counters, tkj_u32 first, tkj_u32 index, TKJ_SIMT_SITE)
{
    tkj_simt_atomic(TKJ_SIMT_ATOMIC_ADD, counters + (index - first), 1, TKJ_SIMT_HERE);
}

typedef unsigned char *tkj_cursor;

TKJ_SIMT_PASS tkj_cursor tkj_cursor_at(void *shared)
{
    return (tkj_cursor)shared;
}

TKJ_SIMT_PASS tkj_cursor tkj_append(tkj_cursor cursor, tkj_u32 value, tkj_u32 mask, tkj_u32 e)
{
    if ((mask >> e & 1) == 0)
        return cursor;
    *(tkj_u32 *)cursor = value;
    return cursor + sizeof value;
}

TKJ_SIMT_PASS tkj_cursor tkj_append(tkj_cursor cursor, tkj_pair value, tkj_u32 mask, tkj_u32 e)
{
    if ((mask >> e & 1) == 0)
        return cursor;
    *(tkj_pair *)cursor = value;
    return cursor + sizeof value;
}

TKJ_SIMT_PASS tkj_u32 tkj_atomic_fetch_add(tkj_u32 *address, tkj_u32 value, TKJ_SIMT_SITE)
{
    return tkj_simt_atomic(TKJ_SIMT_ATOMIC_ADD, address, value, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_atomic_min(tkj_u32 *address, tkj_u32 value, TKJ_SIMT_SITE)
{
    tkj_simt_atomic(TKJ_SIMT_ATOMIC_MIN, address, value, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_atomic_max(tkj_u32 *address, tkj_u32 value, TKJ_SIMT_SITE)
{
    tkj_simt_atomic(TKJ_SIMT_ATOMIC_MAX, address, value, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_atomic_or(tkj_u32 *address, tkj_u32 value, TKJ_SIMT_SITE)
{
    tkj_simt_atomic(TKJ_SIMT_ATOMIC_OR, address, value, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS tkj_u32 tkj_atomic_exchange(tkj_u32 *address, tkj_u32 value, TKJ_SIMT_SITE)
{
    return tkj_simt_atomic(TKJ_SIMT_ATOMIC_EXCHANGE, address, value, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_wait_for_dependencies(TKJ_SIMT_SITE)
{
    if (TKJ_SIMT_ARCHITECTURE >= 90)
        tkj_simt_wait_for_dependencies(TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_release_dependents(TKJ_SIMT_SITE)
{
    if (TKJ_SIMT_ARCHITECTURE >= 90)
        tkj_simt_release_dependents(TKJ_SIMT_HERE);
}

#if TKJ_SIMT_ARCHITECTURE >= 90
typedef tkj_u64 tkj_mbarrier;

TKJ_SIMT_PASS tkj_u32 tkj_cluster_rank(void)
{
    return tkj_simt_cluster_rank();
}

TKJ_SIMT_PASS tkj_u32 tkj_cluster_size(void)
{
    return tkj_simt_cluster_size();
}

TKJ_SIMT_PASS void tkj_cluster_arrive(TKJ_SIMT_SITE)
{
    tkj_simt_cluster_arrive(true, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_cluster_arrive_relaxed(TKJ_SIMT_SITE)
{
    tkj_simt_cluster_arrive(false, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_cluster_wait(TKJ_SIMT_SITE)
{
    tkj_simt_cluster_wait(TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_cluster_barrier(TKJ_SIMT_SITE)
{
    tkj_simt_cluster_arrive(true, TKJ_SIMT_HERE);
    tkj_simt_cluster_wait(TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void *tkj_cluster_map(void *address, tkj_u32 rank, TKJ_SIMT_SITE)
{
    return tkj_simt_cluster_map(address, rank, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_fence_async_proxy(TKJ_SIMT_SITE)
{
    tkj_simt_fence_async_proxy(TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_mbarrier_fence_init(TKJ_SIMT_SITE)
{
    tkj_simt_mbarrier_fence_init(TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_mbarrier_init(tkj_mbarrier *barrier, tkj_u32 count, TKJ_SIMT_SITE)
{
    tkj_simt_mbarrier_init(barrier, count, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_mbarrier_invalidate(tkj_mbarrier *barrier, TKJ_SIMT_SITE)
{
    tkj_simt_mbarrier_invalidate(barrier, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_mbarrier_arrive(tkj_mbarrier *barrier, TKJ_SIMT_SITE)
{
    tkj_simt_mbarrier_arrive(barrier, 0, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_mbarrier_arrive_remote(tkj_mbarrier *barrier, tkj_u32 rank, TKJ_SIMT_SITE)
{
    void *remote = tkj_simt_cluster_map(barrier, rank, TKJ_SIMT_HERE);
    tkj_simt_mbarrier_arrive((tkj_mbarrier *)remote, 0, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_mbarrier_arrive_expect(tkj_mbarrier *barrier, tkj_u32 bytes, TKJ_SIMT_SITE)
{
    tkj_simt_mbarrier_arrive(barrier, bytes, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_mbarrier_expect(tkj_mbarrier *barrier, tkj_u32 bytes, TKJ_SIMT_SITE)
{
    tkj_simt_mbarrier_expect(barrier, bytes, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_mbarrier_wait(tkj_mbarrier *barrier, tkj_u32 parity, TKJ_SIMT_SITE)
{
    tkj_simt_mbarrier_wait(barrier, parity, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_copy_async_bulk(void *to, const void *from, tkj_u32 bytes,
                                       tkj_mbarrier *barrier, TKJ_SIMT_SITE)
{
    tkj_simt_copy_bulk(to, from, bytes, barrier, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_copy_async_bulk_to_rank(void *to, const void *from, tkj_u32 bytes,
                                               tkj_mbarrier *barrier, tkj_u32 rank, TKJ_SIMT_SITE)
{
    void *remote = tkj_simt_cluster_map(to, rank, TKJ_SIMT_HERE);
    void *completes = tkj_simt_cluster_map(barrier, rank, TKJ_SIMT_HERE);
    tkj_simt_copy_bulk(remote, from, bytes, (tkj_mbarrier *)completes, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_copy_async_bulk_to_global(void *to, const void *from, tkj_u32 bytes,
                                                 TKJ_SIMT_SITE)
{
    tkj_simt_copy_bulk_out(to, from, bytes, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_copy_async_bulk_commit(TKJ_SIMT_SITE)
{
    tkj_simt_copy_bulk_commit(TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_copy_async_bulk_wait(TKJ_SIMT_SITE)
{
    tkj_simt_copy_bulk_wait(0, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_store_async(tkj_u32 *to, tkj_u32 value, tkj_mbarrier *barrier, tkj_u32 rank,
                                   TKJ_SIMT_SITE)
{
    void *remote = tkj_simt_cluster_map(to, rank, TKJ_SIMT_HERE);
    void *completes = tkj_simt_cluster_map(barrier, rank, TKJ_SIMT_HERE);
    tkj_simt_store_async(remote, value, 4, (tkj_mbarrier *)completes, TKJ_SIMT_HERE);
}

TKJ_SIMT_PASS void tkj_store_async(tkj_u64 *to, tkj_u64 value, tkj_mbarrier *barrier, tkj_u32 rank,
                                   TKJ_SIMT_SITE)
{
    void *remote = tkj_simt_cluster_map(to, rank, TKJ_SIMT_HERE);
    void *completes = tkj_simt_cluster_map(barrier, rank, TKJ_SIMT_HERE);
    tkj_simt_store_async(remote, value, 8, (tkj_mbarrier *)completes, TKJ_SIMT_HERE);
}
#endif

#endif /* TKJ_PLATFORM_CUH */
