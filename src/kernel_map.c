/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_map.h"

#include <string.h>

#include "memory.h"

/* A server has a handful of specs; a power of two. */
#define CAPACITY_FIRST 16u

struct tkj_kernel_table {
    tkj_kernel_table *replaced; /* the smaller table before it: readers may still walk that one */
    size_t capacity;            /* a power of two */
    size_t count;
    _Atomic(tkj_prepared *) slots[];
};

/* A spec as words: compared and hashed as such, since a call does both. */
#define SPEC_WORDS 6
_Static_assert(sizeof(topk_jit_spec) == SPEC_WORDS * sizeof(uint64_t), "a spec is these words");

static inline uint64_t word(const topk_jit_spec *spec, size_t i)
{
    uint64_t out;
    memcpy(&out, (const char *)spec + i * sizeof out, sizeof out);
    return out;
}

/* Products with odd numbers that do not wait for one another: multiples of 2^64 / golden ratio.
   The first word is struct_size, the same in all. */
static inline size_t hash_of(const topk_jit_spec *spec, int ordinal)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t sum = (uint64_t)(unsigned)ordinal * odd + word(spec, 1) * (odd * 3) +
                         word(spec, 2) * (odd * 5) + word(spec, 3) * (odd * 7) +
                         word(spec, 4) * (odd * 9) + word(spec, 5) * (odd * 11);
    return (size_t)(sum ^ sum >> 32);
}

static inline bool is_of(const tkj_prepared *prepared, const topk_jit_spec *spec, int ordinal)
{
    const topk_jit_spec *own = &prepared->spec;
    const uint64_t different = (word(own, 1) ^ word(spec, 1)) | (word(own, 2) ^ word(spec, 2)) |
                               (word(own, 3) ^ word(spec, 3)) | (word(own, 4) ^ word(spec, 4)) |
                               (word(own, 5) ^ word(spec, 5));
    return different == 0 && prepared->facts.ordinal == ordinal;
}

const tkj_prepared *tkj_kernel_map_find(const tkj_kernel_map *map, const topk_jit_spec *spec,
                                        int ordinal)
{
    const tkj_kernel_table *table = atomic_load_explicit(&map->table, memory_order_acquire);
    if (table == NULL)
        return NULL;
    for (size_t i = hash_of(spec, ordinal);; i++) {
        const tkj_prepared *prepared =
            atomic_load_explicit(&table->slots[i & (table->capacity - 1)], memory_order_acquire);
        if (prepared == NULL || is_of(prepared, spec, ordinal))
            return prepared;
    }
}

static void place(tkj_kernel_table *table, tkj_prepared *prepared)
{
    size_t i = hash_of(&prepared->spec, prepared->facts.ordinal);
    while (atomic_load_explicit(&table->slots[i & (table->capacity - 1)], memory_order_relaxed))
        i++;
    atomic_store_explicit(&table->slots[i & (table->capacity - 1)], prepared, memory_order_release);
    table->count++;
}

static tkj_kernel_table *larger_copy(const topk_jit_allocator *allocator, tkj_kernel_table *table)
{
    size_t capacity = table != NULL ? 2 * table->capacity : CAPACITY_FIRST;
    tkj_kernel_table *copy =
        tkj_alloc_zeroed(allocator, 1, sizeof *copy + capacity * sizeof copy->slots[0]);
    if (copy == NULL)
        return NULL;
    copy->replaced = table;
    copy->capacity = capacity;
    for (size_t i = 0; table != NULL && i < table->capacity; i++) {
        tkj_prepared *prepared = atomic_load_explicit(&table->slots[i], memory_order_relaxed);
        if (prepared != NULL)
            place(copy, prepared);
    }
    return copy;
}

topk_jit_status tkj_kernel_map_insert(const topk_jit_allocator *allocator, tkj_kernel_map *map,
                                      tkj_prepared *prepared)
{
    tkj_kernel_table *table = atomic_load_explicit(&map->table, memory_order_relaxed);
    /* Half empty, so that a reader always meets an empty slot and soon. */
    if (table != NULL && 2 * (table->count + 1) <= table->capacity) {
        place(table, prepared);
        return TOPK_JIT_OK;
    }
    tkj_kernel_table *larger = larger_copy(allocator, table);
    if (larger == NULL)
        return TOPK_JIT_OUT_OF_MEMORY;
    place(larger, prepared);
    atomic_store_explicit(&map->table, larger, memory_order_release);
    return TOPK_JIT_OK;
}

void tkj_prepared_free(const topk_jit_allocator *allocator, tkj_prepared *prepared)
{
    for (size_t v = 0; prepared != NULL && v < prepared->count; v++)
        tkj_driver_unload(&prepared->kernels[v]);
    tkj_free(allocator, prepared);
}

static void release(const topk_jit_allocator *allocator, tkj_kernel_map *map,
                    void (*free_one)(const topk_jit_allocator *allocator, tkj_prepared *prepared))
{
    tkj_kernel_table *table = atomic_load_explicit(&map->table, memory_order_relaxed);
    for (size_t i = 0; table != NULL && i < table->capacity; i++)
        free_one(allocator, atomic_load_explicit(&table->slots[i], memory_order_relaxed));
    while (table != NULL) {
        tkj_kernel_table *replaced = table->replaced;
        tkj_free(allocator, table);
        table = replaced;
    }
    atomic_store_explicit(&map->table, NULL, memory_order_relaxed);
}

static void forget_one(const topk_jit_allocator *allocator, tkj_prepared *prepared)
{
    tkj_free(allocator, prepared);
}

void tkj_kernel_map_forget(const topk_jit_allocator *allocator, tkj_kernel_map *map)
{
    release(allocator, map, forget_one);
}

void tkj_kernel_map_release(const topk_jit_allocator *allocator, tkj_kernel_map *map)
{
    release(allocator, map, tkj_prepared_free);
}
