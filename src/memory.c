/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "status.h"

static void *allocate_by_malloc(void *user, size_t size)
{
    (void)user;
    return malloc(size);
}

static void release_by_free(void *user, void *memory)
{
    (void)user;
    free(memory);
}

const topk_jit_allocator tkj_default_allocator = {allocate_by_malloc, release_by_free, NULL};

void *tkj_alloc(const topk_jit_allocator *allocator, size_t count, size_t size)
{
    size_t bytes;
    void *memory = NULL;
    if (!__builtin_mul_overflow(count, size, &bytes))
        memory = allocator->allocate(allocator->user, bytes > 0 ? bytes : 1);
    if (memory == NULL)
        tkj_fail(TOPK_JIT_OUT_OF_MEMORY, "the allocator has no %zu elements of %zu bytes", count,
                 size);
    return memory;
}

void *tkj_alloc_zeroed(const topk_jit_allocator *allocator, size_t count, size_t size)
{
    void *memory = tkj_alloc(allocator, count, size);
    if (memory != NULL)
        memset(memory, 0, count * size);
    return memory;
}

void tkj_free(const topk_jit_allocator *allocator, void *memory)
{
    if (memory != NULL)
        allocator->release(allocator->user, memory);
}

char *tkj_strdup(const topk_jit_allocator *allocator, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = tkj_alloc(allocator, size, 1);
    if (copy != NULL)
        memcpy(copy, text, size);
    return copy;
}

char *tkj_format(const topk_jit_allocator *allocator, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = tkj_alloc(allocator, (size_t)length + 1, 1);
    if (text == NULL)
        return NULL;
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}
