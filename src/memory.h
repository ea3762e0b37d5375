/* SPDX-License-Identifier: Apache-2.0 */
/** @file memory.h @brief Allocation through a context's allocator, with checked sizes. */
#ifndef TKJ_MEMORY_H
#define TKJ_MEMORY_H

#include <stddef.h>
#include <topk_jit/topk_jit.h>

/** malloc and free. */
extern const topk_jit_allocator tkj_default_allocator;

/**
 * Uninitialised array of count elements (an empty one still has an address).
 * @return NULL with TOPK_JIT_OUT_OF_MEMORY recorded, also when count * size overflows
 */
void *tkj_alloc(const topk_jit_allocator *allocator, size_t count, size_t size);

/** As tkj_alloc, zeroed. */
void *tkj_alloc_zeroed(const topk_jit_allocator *allocator, size_t count, size_t size);

/** Releases memory of tkj_alloc; NULL is ignored. */
void tkj_free(const topk_jit_allocator *allocator, void *memory);

/** Copy of a string, NULL with TOPK_JIT_OUT_OF_MEMORY recorded. */
char *tkj_strdup(const topk_jit_allocator *allocator, const char *text);

/** Formatted string, NULL with TOPK_JIT_OUT_OF_MEMORY recorded. */
char *tkj_format(const topk_jit_allocator *allocator, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif /* TKJ_MEMORY_H */
