/* SPDX-License-Identifier: Apache-2.0 */
#include "guarded.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Before and after the data: more than the widest store of any engine. */
#define GUARD_SIZE 256

bool tkj_guarded_create(tkj_guarded *out, int64_t rows, int64_t columns, int64_t stride,
                        size_t element_size, size_t shift)
{
    size_t data_size = (size_t)(rows * stride) * element_size;
    *out = (tkj_guarded){
        .block_size = GUARD_SIZE + shift * element_size + data_size + GUARD_SIZE,
        .data_offset = GUARD_SIZE + shift * element_size,
        .element_size = element_size,
        .rows = rows,
        .columns = columns,
        .stride = stride,
    };
    out->block = malloc(out->block_size);
    if (out->block == NULL)
        return false;
    tkj_guarded_poison(out);
    return true;
}

void tkj_guarded_destroy(tkj_guarded *guarded)
{
    free(guarded->block);
    *guarded = (tkj_guarded){0};
}

void tkj_guarded_poison(const tkj_guarded *guarded)
{
    memset(guarded->block, TKJ_GUARDED_POISON, guarded->block_size);
}

void *tkj_guarded_data(const tkj_guarded *guarded)
{
    return guarded->block + guarded->data_offset;
}

static bool verify_range(const tkj_guarded *guarded, size_t begin, size_t end, int64_t row,
                         char *message, size_t capacity)
{
    for (size_t i = begin; i < end; i++) {
        if (guarded->block[i] == TKJ_GUARDED_POISON)
            continue;
        snprintf(message, capacity,
                 "row %" PRId64 ": the guard byte %td bytes from the first element is %#x", row,
                 (ptrdiff_t)i - (ptrdiff_t)guarded->data_offset, guarded->block[i]);
        return false;
    }
    return true;
}

bool tkj_guarded_verify(const tkj_guarded *guarded, char *message, size_t capacity)
{
    size_t pitch = (size_t)guarded->stride * guarded->element_size;
    size_t used = (size_t)guarded->columns * guarded->element_size;
    size_t guard = 0;
    for (int64_t row = 0; row < guarded->rows; row++) {
        size_t data = guarded->data_offset + (size_t)row * pitch;
        if (!verify_range(guarded, guard, data, row, message, capacity))
            return false;
        guard = data + used;
    }
    return verify_range(guarded, guard, guarded->block_size, guarded->rows, message, capacity);
}
