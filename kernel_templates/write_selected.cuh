/* SPDX-License-Identifier: Apache-2.0 */
/** @file write_selected.cuh @brief The last step: positions that a block selected, into every
 * output. */
#ifndef TKJ_WRITE_SELECTED_CUH
#define TKJ_WRITE_SELECTED_CUH

#include "emit.cuh"
#include "sort.cuh"

/** Where the positions of a row are. An array holds k of them. */
typedef struct tkj_selection {
    tkj_i64 count;            /* slots that hold one */
    const tkj_u16 *selected;  /* here, at a multiple of 8 bytes, */
    const tkj_u32 *positions; /* or here, at a multiple of 16; else they are 0 .. count - 1 */
} tkj_selection;

TKJ_DEVICE tkj_i64 tkj_selected_at(const tkj_selection *selection, tkj_i64 s)
{
    if (selection->positions)
        return selection->positions[s];
    return selection->selected ? selection->selected[s] : s;
}

#if TKJ_INDEX_BITS == 32
/** True if the indices are the only output of the row and may be stored by fours. */
TKJ_DEVICE bool tkj_stores_quads(const tkj_select_params *p, const tkj_i32 *indices)
{
    return TKJ_TOPK % 4 == 0 && (tkj_u64)indices % 16 == 0 && !p->raw_indices && !p->values;
}

/** Four selected positions from slot s on, a multiple of 4; all hold one. */
TKJ_DEVICE tkj_quad tkj_selected_quad(const tkj_selection *selection, tkj_u32 s)
{
    if (selection->positions)
        return *(const tkj_quad *)(selection->positions + s);
    tkj_pair pair = *(const tkj_pair *)(selection->selected + s);
    tkj_quad quad = {{pair.words[0] & 0xffffu, pair.words[0] >> 16, pair.words[1] & 0xffffu,
                      pair.words[1] >> 16}};
    return quad;
}

/** A row whose slots all hold a position. */
TKJ_DEVICE void tkj_write_full_quads(const tkj_select_params *p, tkj_i32 *indices,
                                     const tkj_window *window, const tkj_selection *selection)
{
    TKJ_UNROLL_TWICE
    for (tkj_u32 s = 4 * tkj_thread(); s < TKJ_TOPK; s += 4 * TKJ_THREADS) {
        tkj_quad quad = tkj_selected_quad(selection, s);
        TKJ_UNROLL
        for (tkj_u32 i = 0; i < 4; i++)
            quad.words[i] = (tkj_u32)tkj_transform(p, window, quad.words[i]);
        *(tkj_quad *)(indices + s) = quad;
    }
}

/** A row of the first positions alone. */
TKJ_DEVICE void tkj_write_short_quads(const tkj_select_params *p, tkj_i32 *indices,
                                      const tkj_window *window, tkj_i64 count)
{
    TKJ_NO_UNROLL
    for (tkj_i64 s = 4 * tkj_thread(); s < TKJ_TOPK; s += 4 * TKJ_THREADS) {
        tkj_quad quad;
        TKJ_UNROLL
        for (tkj_u32 i = 0; i < 4; i++)
            quad.words[i] = (tkj_u32)(s + i < count ? tkj_transform(p, window, s + i) : -1);
        *(tkj_quad *)(indices + s) = quad;
    }
}
#endif

/** Padding of a row from slot `first` on. */
TKJ_DEVICE void tkj_write_padding(const tkj_select_params *p, tkj_i64 row, tkj_i64 first)
{
    TKJ_NO_UNROLL
    for (tkj_i64 s = first + tkj_thread(); s < TKJ_TOPK; s += TKJ_THREADS)
        tkj_emit_padding(p, row, s);
}

/** Sorts, if the spec is sorted, and writes positions that are in the output slots. The caller has
 * a barrier before. */
TKJ_DEVICE void tkj_write_slots(const tkj_select_params *p, tkj_i64 row, const tkj_window *window,
                                tkj_i64 count, tkj_sort_shared *sort)
{
    tkj_elements elements = {(const tkj_element *)p->score + row * p->score_stride + window->start,
                             1};
    tkj_slots slots = {(tkj_index *)p->indices + row * p->indices_stride, 1};
#if TKJ_SORTED
    tkj_sort(&elements, &slots, count, sort);
#endif
    TKJ_NO_UNROLL
    for (tkj_i64 s = tkj_thread(); s < count; s += TKJ_THREADS)
        tkj_emit(p, row, window, &elements, s, *tkj_slot(&slots, s));
    tkj_write_padding(p, row, count);
}

/** Writes a selection, sorted if the spec is. Its arrays may be part of `sort`. */
TKJ_DEVICE void tkj_write_selection(const tkj_select_params *p, tkj_i64 row,
                                    const tkj_window *window, const tkj_selection *selection,
                                    tkj_sort_shared *sort)
{
#if TKJ_SORTED
    tkj_slots slots = {(tkj_index *)p->indices + row * p->indices_stride, 1};
    TKJ_NO_UNROLL
    for (tkj_i64 s = tkj_thread(); s < selection->count; s += TKJ_THREADS)
        *tkj_slot(&slots, s) = (tkj_index)tkj_selected_at(selection, s);
    tkj_block_barrier();
    tkj_write_slots(p, row, window, selection->count, sort);
#else
#if TKJ_INDEX_BITS == 32
    tkj_i32 *indices = (tkj_i32 *)p->indices + row * p->indices_stride;
    if (tkj_stores_quads(p, indices)) {
        if (selection->selected || selection->positions)
            tkj_write_full_quads(p, indices, window, selection);
        else
            tkj_write_short_quads(p, indices, window, selection->count);
        return;
    }
#endif
    tkj_elements elements = {(const tkj_element *)p->score + row * p->score_stride + window->start,
                             1};
    TKJ_NO_UNROLL
    for (tkj_i64 s = tkj_thread(); s < selection->count; s += TKJ_THREADS)
        tkj_emit(p, row, window, &elements, s, tkj_selected_at(selection, s));
    tkj_write_padding(p, row, selection->count);
#endif
}

#endif /* TKJ_WRITE_SELECTED_CUH */
