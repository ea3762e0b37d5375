/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file simt_device.h
 * @brief What platform.cuh asks of the executor. `site` is the line of the kernel that asks.
 *
 * Every function runs on the stack of the calling thread of the grid, and may run others before it
 * returns. A fault does not return.
 */
#ifndef TKJ_SIMT_DEVICE_H
#define TKJ_SIMT_DEVICE_H

#include <stdint.h>

#include "simt.h"

/** Where in the kernel an operation stands: what threads that meet must agree on. */
typedef struct tkj_simt_site {
    const char *file;
    int line;
} tkj_simt_site;

/** What the lanes of a warp do together. */
typedef enum tkj_simt_warp_op {
    TKJ_SIMT_WARP_BARRIER,
    TKJ_SIMT_BALLOT,
    TKJ_SIMT_SHUFFLE,      /* operand: source lane */
    TKJ_SIMT_SHUFFLE_UP,   /* operand: distance */
    TKJ_SIMT_SHUFFLE_DOWN, /* operand: distance */
    TKJ_SIMT_SHUFFLE_XOR,  /* operand: mask */
    TKJ_SIMT_MATCH,
    TKJ_SIMT_REDUCE_ADD,
    TKJ_SIMT_REDUCE_MIN,
    TKJ_SIMT_REDUCE_MAX
} tkj_simt_warp_op;

/** Atomic operations on 32-bit words. */
typedef enum tkj_simt_atomic_op {
    TKJ_SIMT_ATOMIC_ADD,
    TKJ_SIMT_ATOMIC_MIN,
    TKJ_SIMT_ATOMIC_MAX,
    TKJ_SIMT_ATOMIC_OR,
    TKJ_SIMT_ATOMIC_EXCHANGE
} tkj_simt_atomic_op;

extern "C" {

/* The thread's place: it cannot change while the thread runs. */
__attribute__((const)) uint32_t tkj_simt_thread(void);
__attribute__((const)) uint32_t tkj_simt_block(void);
__attribute__((const)) uint32_t tkj_simt_block_count(void);
__attribute__((const)) uint32_t tkj_simt_cluster_rank(void);
__attribute__((const)) uint32_t tkj_simt_cluster_size(void);
__attribute__((const)) void *tkj_simt_shared(void);

void tkj_simt_note_slow_path(void);
void tkj_simt_block_barrier(tkj_simt_site site);
void tkj_simt_named_barrier(uint32_t id, uint32_t threads, bool wait, tkj_simt_site site);
uint64_t tkj_simt_warp(tkj_simt_warp_op op, uint64_t value, uint32_t operand, tkj_simt_site site);
uint32_t tkj_simt_atomic(tkj_simt_atomic_op op, uint32_t *address, uint32_t value,
                         tkj_simt_site site);
void tkj_simt_wait_for_dependencies(tkj_simt_site site);
void tkj_simt_release_dependents(tkj_simt_site site);

void tkj_simt_cluster_arrive(bool release, tkj_simt_site site);
void tkj_simt_cluster_wait(tkj_simt_site site);
void *tkj_simt_cluster_map(const void *address, uint32_t rank, tkj_simt_site site);

void tkj_simt_fence_async_proxy(tkj_simt_site site);
void tkj_simt_mbarrier_fence_init(tkj_simt_site site);
void tkj_simt_mbarrier_init(uint64_t *barrier, uint32_t count, tkj_simt_site site);
void tkj_simt_mbarrier_invalidate(uint64_t *barrier, tkj_simt_site site);
void tkj_simt_mbarrier_arrive(uint64_t *barrier, uint32_t expect_bytes, tkj_simt_site site);
void tkj_simt_mbarrier_expect(uint64_t *barrier, uint32_t bytes, tkj_simt_site site);
void tkj_simt_mbarrier_wait(uint64_t *barrier, uint32_t parity, tkj_simt_site site);

/** Bulk copy into shared memory of the cluster, completing on an mbarrier of the same block. */
void tkj_simt_copy_bulk(void *to, const void *from, uint32_t bytes, uint64_t *barrier,
                        tkj_simt_site site);
/** Bulk copy from shared to global memory, completing with the thread's bulk group. */
void tkj_simt_copy_bulk_out(void *to, const void *from, uint32_t bytes, tkj_simt_site site);
void tkj_simt_copy_bulk_commit(tkj_simt_site site);
void tkj_simt_copy_bulk_wait(uint32_t pending, tkj_simt_site site);
/** Store of 4 or 8 bytes that completes on an mbarrier of the block that it goes to. */
void tkj_simt_store_async(void *to, uint64_t value, uint32_t bytes, uint64_t *barrier,
                          tkj_simt_site site);

} /* extern "C" */

#endif /* TKJ_SIMT_DEVICE_H */
