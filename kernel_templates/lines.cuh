/* SPDX-License-Identifier: Apache-2.0 */
/** @file lines.cuh @brief The lines of a fast_topk: where they are in each tensor, and how a slot
 * of one is written. */
#ifndef TKJ_LINES_CUH
#define TKJ_LINES_CUH

#include "ordered_key.cuh"

TKJ_DEVICE tkj_i64 tkj_absolute(tkj_i64 value)
{
    return value < 0 ? -value : value;
}

/** Where one line starts, in elements of each tensor. */
typedef struct tkj_line {
    tkj_i64 in;
    tkj_i64 values;
    tkj_i64 indices;
} tkj_line;

TKJ_DEVICE tkj_line tkj_line_of(const tkj_fast_topk_params *p, tkj_i64 row)
{
    tkj_line line = {0, 0, 0};
    TKJ_NO_UNROLL
    for (tkj_i64 d = p->outer_dims - 1; d >= 0; d--) {
        const tkj_outer_dim *dim = &p->outer[d];
        tkj_i64 i = row;
        if (d > 0) {
            i = row % dim->size;
            row /= dim->size;
        }
        line.in += i * dim->in_stride;
        line.values += i * dim->values_stride;
        line.indices += i * dim->indices_stride;
    }
    return line;
}

/** The value at a position of a line, bit for bit; it is fetched again only where its key does not
 * tell it. */
TKJ_DEVICE tkj_element tkj_value_at(const tkj_fast_topk_params *p, const tkj_line *line,
                                    tkj_i64 position, tkj_key key)
{
    if (tkj_key_is_ambiguous(key))
        return ((const tkj_element *)p->in)[line->in + position * p->in_stride];
    return tkj_element_of_key(key);
}

/** Writes one slot of a line. */
TKJ_DEVICE void tkj_write_slot(const tkj_fast_topk_params *p, const tkj_line *line, tkj_i64 slot,
                               tkj_i64 position, tkj_key key)
{
    ((tkj_element *)p->values)[line->values + slot * p->values_stride] =
        tkj_value_at(p, line, position, key);
    p->indices[line->indices + slot * p->indices_stride] = position;
}

#endif /* TKJ_LINES_CUH */
