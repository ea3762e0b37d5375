/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kernel_map.h
 * @brief Prepared specs of a context: looked up without a lock, entered under the builder lock.
 */
#ifndef TKJ_KERNEL_MAP_H
#define TKJ_KERNEL_MAP_H

#include <stdatomic.h>
#include <topk_jit/topk_jit.h>

#include "driver.h"
#include "variants.h"

/** A spec with all its kernels loaded for one device. Never changes once it is in the map. */
typedef struct tkj_prepared {
    topk_jit_spec spec; /* canonical */
    tkj_device_facts facts;
    size_t count;
    tkj_variant variants[TKJ_VARIANTS_MAX];
    tkj_kernel kernels[TKJ_VARIANTS_MAX];
} tkj_prepared;

/** Unloads the kernels of a prepared spec that is in no map; NULL is ignored. */
void tkj_prepared_free(const topk_jit_allocator *allocator, tkj_prepared *prepared);

/** Open addressing over atomic pointers; a full table is replaced by a larger copy, the old one is
 *  kept for readers that still walk it. */
typedef struct tkj_kernel_table tkj_kernel_table;

typedef struct tkj_kernel_map {
    _Atomic(tkj_kernel_table *) table; /* newest; each links to the one it replaced */
} tkj_kernel_map;

/** Lock-free. @param spec canonical @return borrowed, or NULL */
const tkj_prepared *tkj_kernel_map_find(const tkj_kernel_map *map, const topk_jit_spec *spec,
                                        int ordinal);

/** Enters a prepared spec, which the map then owns. The caller holds the builder lock.
 *  @return TOPK_JIT_OK, TOPK_JIT_OUT_OF_MEMORY (prepared stays the caller's) */
topk_jit_status tkj_kernel_map_insert(const topk_jit_allocator *allocator, tkj_kernel_map *map,
                                      tkj_prepared *prepared);

/** Frees everything and unloads nothing: in a child after fork, whose kernels are the parent's. */
void tkj_kernel_map_forget(const topk_jit_allocator *allocator, tkj_kernel_map *map);

/** Unloads every kernel and frees everything. No other thread may be inside. */
void tkj_kernel_map_release(const topk_jit_allocator *allocator, tkj_kernel_map *map);

#endif /* TKJ_KERNEL_MAP_H */
