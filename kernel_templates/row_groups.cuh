/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file row_groups.cuh
 * @brief How the threads of a block share out a row, or their part of one: by groups, what one
 * 16-byte load brings, TKJ_GROUPS a thread. A load of a warp is contiguous.
 */
#ifndef TKJ_ROW_GROUPS_CUH
#define TKJ_ROW_GROUPS_CUH

#include "ordered_key.cuh"
#include "scan.cuh"
#include "window.cuh"

#define TKJ_GROUP (16 / (int)sizeof(tkj_element))
#define TKJ_GROUPS (TKJ_ITEMS / TKJ_GROUP)
#define TKJ_CAPACITY (TKJ_THREADS * TKJ_ITEMS)
TKJ_STATIC_ASSERT(TKJ_ITEMS <= 32, "a thread's scores have one bit each in a word");

/** The row of one block, as its threads share it out. */
typedef struct tkj_held_row {
    const tkj_element *row; /* column 0 */
    tkj_i32 first;          /* column of the block's first group: aligned, up to a group before
                               the window, so it may be negative */
    tkj_i32 width;          /* columns that may be read */
    tkj_i32 begin;          /* the window's columns: [begin, end) */
    tkj_i32 end;
    tkj_i32 blocks; /* that share the row: each warp's groups are this many warps' apart */
} tkj_held_row;

/** Column of the first score of this thread's group g. */
TKJ_DEVICE tkj_i32 group_column(const tkj_held_row *held, tkj_u32 g)
{
    tkj_i32 own = held->first + (tkj_i32)tkj_thread() * TKJ_GROUP;
    tkj_i32 apart = (held->blocks - 1) * TKJ_WARP * TKJ_GROUP;
    return own + (tkj_i32)g * held->blocks * TKJ_THREADS * TKJ_GROUP + (tkj_i32)tkj_warp() * apart;
}

/** Where a row's window lies among the groups; its end is not known yet. */
TKJ_DEVICE tkj_held_row hold(const tkj_select_params *p, tkj_i64 row, tkj_i64 start)
{
    const tkj_element *data = (const tkj_element *)p->score + row * p->score_stride;
    tkj_u64 address = (tkj_u64)(data + start);
    tkj_i32 ahead = (tkj_i32)(address / sizeof(tkj_element) % TKJ_GROUP);
    tkj_held_row held = {(const tkj_element *)tkj_opaque(data),
                         (tkj_i32)start - ahead,
                         (tkj_i32)p->width,
                         (tkj_i32)start,
                         (tkj_i32)start,
                         1};
    return held;
}

/** Columns from the block's first group to behind its last one. */
TKJ_DEVICE tkj_i32 reach_of(const tkj_held_row *held)
{
    return TKJ_CAPACITY * held->blocks - (held->blocks - 1) * TKJ_WARP * TKJ_GROUP;
}

/** True if every thread holds scores of the window only. */
TKJ_DEVICE bool is_full(const tkj_held_row *held)
{
    return held->end - held->first >= reach_of(held) && held->begin <= held->first;
}

/** Score i of a group. */
TKJ_DEVICE tkj_element element_of(tkj_quad quad, tkj_u32 i)
{
#if TKJ_KEY_BITS == 32
    return quad.words[i];
#else
    return (tkj_element)(quad.words[i / 2] >> (i % 2 * 16));
#endif
}

TKJ_DEVICE void unpack(tkj_quad quad, float x[TKJ_GROUP])
{
    TKJ_UNROLL
    for (tkj_u32 i = 0; i < TKJ_GROUP; i++)
        x[i] = tkj_float_of(element_of(quad, i));
}

/** A group of which not all columns are in the row; the others are not read and come as 0. */
TKJ_OUT_OF_LINE tkj_quad load_part(const tkj_element *row, tkj_i32 column, tkj_i32 width)
{
    tkj_quad quad = {{0, 0, 0, 0}};
    TKJ_UNROLL
    for (tkj_i32 i = 0; i < TKJ_GROUP; i++) {
        bool inside = column + i >= 0 && column + i < width;
        tkj_u32 bits = inside ? row[column + i] : 0;
        quad.words[i * 4 / TKJ_GROUP] |= bits << (i % (TKJ_GROUP / 4) * 16);
    }
    return quad;
}

/** A group; columns outside the row come as 0. */
TKJ_DEVICE tkj_quad load_group(const tkj_held_row *held, tkj_i32 column)
{
    if (column >= 0 && column + TKJ_GROUP <= held->width)
        return *(const tkj_quad *)(held->row + column);
    return load_part(held->row, column, held->width);
}

/** This thread's groups, as they are in memory. */
TKJ_DEVICE void load_groups(const tkj_held_row *held, tkj_quad quads[TKJ_GROUPS])
{
    bool all_readable = held->first >= 0 && held->first + reach_of(held) <= held->width;
    if (all_readable) {
        TKJ_UNROLL
        for (tkj_u32 g = 0; g < TKJ_GROUPS; g++)
            quads[g] = *(const tkj_quad *)(held->row + group_column(held, g));
    } else {
        TKJ_UNROLL
        for (tkj_u32 g = 0; g < TKJ_GROUPS; g++)
            quads[g] = load_group(held, group_column(held, g));
    }
}

/** Score e of a thread's groups. */
TKJ_DEVICE float score_of(const tkj_quad quads[TKJ_GROUPS], tkj_u32 e)
{
    return tkj_float_of(element_of(quads[e / TKJ_GROUP], e % TKJ_GROUP));
}

TKJ_DEVICE void unpack_groups(const tkj_quad quads[TKJ_GROUPS], float x[TKJ_ITEMS])
{
    TKJ_UNROLL
    for (tkj_u32 e = 0; e < TKJ_ITEMS; e++)
        x[e] = score_of(quads, e);
}

#define ALL_INSIDE ((tkj_u32)(((tkj_u64)1 << TKJ_ITEMS) - 1))

/** So many of a group's bits, from the lowest one on; below 0 none, above their number all. */
TKJ_DEVICE tkj_u32 low_bits(tkj_i32 count)
{
    return (1u << (count < 0 ? 0 : count < TKJ_GROUP ? count : TKJ_GROUP)) - 1;
}

/** Bit e: this thread's score e is in the window. */
TKJ_DEVICE tkj_u32 window_mask(const tkj_held_row *held)
{
    if (is_full(held))
        return ALL_INSIDE;
    tkj_u32 mask = 0;
    TKJ_UNROLL
    for (tkj_u32 g = 0; g < TKJ_GROUPS; g++) {
        tkj_i32 column = group_column(held, g);
        tkj_u32 below_end = low_bits(held->end - column);
        tkj_u32 below_begin = low_bits(held->begin - column);
        mask |= (below_end & ~below_begin) << (g * TKJ_GROUP);
    }
    return mask;
}

/** Position in the window of this thread's score e. */
TKJ_DEVICE tkj_u32 position_of(const tkj_held_row *held, tkj_u32 e)
{
    tkj_i32 column = group_column(held, e / TKJ_GROUP) + (tkj_i32)(e % TKJ_GROUP);
    return (tkj_u32)(column - held->begin);
}

#endif /* TKJ_ROW_GROUPS_CUH */
