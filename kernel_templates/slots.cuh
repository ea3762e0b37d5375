/* SPDX-License-Identifier: Apache-2.0 */
/** @file slots.cuh @brief Positions and counts, and the output slots that collect them. */
#ifndef TKJ_SLOTS_CUH
#define TKJ_SLOTS_CUH

#include "platform.cuh"

/** An index as it is written, and how many elements of a row: 31 bits hold both for int32 indices.
 */
#if TKJ_INDEX_BITS == 64
typedef tkj_i64 tkj_index;
typedef tkj_u64 tkj_count;
#else
typedef tkj_i32 tkj_index;
typedef tkj_u32 tkj_count;
#endif

/** The output slots of a row, which hold positions until the last step: slot s is at
 *  data[s * stride]. */
typedef struct tkj_slots {
    tkj_index *data;
    tkj_i64 stride; /* 1 where TKJ_UNIT_STRIDE */
} tkj_slots;

TKJ_DEVICE tkj_index *tkj_slot(const tkj_slots *slots, tkj_i64 s)
{
#if TKJ_UNIT_STRIDE
    return slots->data + s;
#else
    return slots->data + s * slots->stride;
#endif
}

/** Where the positions of a row are. */
typedef struct tkj_selection {
    tkj_i64 count;            /* so many */
    const tkj_u16 *selected;  /* here, at a multiple of 8 bytes, */
    const tkj_u32 *positions; /* or here, at a multiple of 16, */
    tkj_slots slots;          /* or here; else they are 0 .. count - 1 */
} tkj_selection;

TKJ_DEVICE tkj_i64 tkj_selected_at(const tkj_selection *selection, tkj_i64 s)
{
    if (selection->positions)
        return selection->positions[s];
    if (selection->selected)
        return selection->selected[s];
    return selection->slots.data ? *tkj_slot(&selection->slots, s) : s;
}

/** How many of the first `rank` of `equal` equal elements are taken, if `wanted` of them are. */
TKJ_DEVICE tkj_count tkj_taken_of_equal(tkj_count rank, tkj_count wanted, tkj_count equal)
{
    tkj_count skipped = TKJ_TIE_LARGEST ? equal - wanted : 0;
    tkj_count after = rank > skipped ? rank - skipped : 0;
    return after < wanted ? after : wanted;
}

/** Of equal elements, marked in a mask, those that are taken if `wanted` are of all, and `place`
 * are before this mask's. */
TKJ_DEVICE tkj_u32 tkj_taken_bits(tkj_u32 mask, tkj_u32 place, tkj_u32 wanted)
{
    tkj_u32 count = wanted > place ? wanted - place : 0;
    tkj_u32 rest = mask;
    if (count >= tkj_count_bits(mask))
        return mask;
    TKJ_NO_UNROLL
    for (; count > 0; count--)
        rest &= rest - 1;
    return mask & ~rest;
}

#endif /* TKJ_SLOTS_CUH */
