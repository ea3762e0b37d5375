/* SPDX-License-Identifier: Apache-2.0 */
/** @file write_selected.cuh @brief The last step: positions that a block selected, into every
 * output. */
#ifndef TKJ_WRITE_SELECTED_CUH
#define TKJ_WRITE_SELECTED_CUH

#include "emit.cuh"
#include "sort.cuh"

/* Set where rows that are not stored by fours in line are written by a call: then there is room for
   more ways, at no cost for the others. */
#ifndef TKJ_SLOTS_APART
#define TKJ_SLOTS_APART 0
#endif

#if TKJ_INDEX_BITS == 32
/* Are raw indices stored by fours in line, too? Not where they are the indices again: then they are
   hardly asked for, and asking whether they are cost rows of 8192 scores 1.5 %. */
#define TKJ_RAW_QUADS (TKJ_LAYOUT != TKJ_PLAIN)

/** A row's slots of int32 outputs. */
typedef struct tkj_output_row {
    tkj_i32 *indices;
    tkj_i32 *raw_indices; /* 0: not wanted */
} tkj_output_row;

TKJ_DEVICE tkj_output_row tkj_output_row_of(const tkj_select_params *p, tkj_i64 row)
{
    tkj_output_row output = {(tkj_i32 *)p->indices + row * p->indices_stride, 0};
    if (TKJ_RAW_QUADS && p->raw_indices)
        output.raw_indices = p->raw_indices + row * p->raw_indices_stride;
    return output;
}

/** True if no values are wanted, and these outputs may be stored by fours. */
TKJ_DEVICE bool tkj_stores_quads(const tkj_select_params *p, const tkj_output_row *output)
{
    tkj_u64 address = (tkj_u64)output->indices | (tkj_u64)output->raw_indices;
    return TKJ_TOPK % 4 == 0 && address % 16 == 0 && !p->values;
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
TKJ_DEVICE void tkj_write_full_quads(const tkj_select_params *p, const tkj_output_row *output,
                                     const tkj_window *window, const tkj_selection *selection)
{
    TKJ_UNROLL_TWICE
    for (tkj_u32 s = 4 * tkj_thread(); s < TKJ_TOPK; s += 4 * TKJ_THREADS) {
        tkj_quad quad = tkj_selected_quad(selection, s);
        if (output->raw_indices)
            *(tkj_quad *)(output->raw_indices + s) = quad;
        TKJ_UNROLL
        for (tkj_u32 i = 0; i < 4; i++)
            quad.words[i] = (tkj_u32)tkj_transform(p, window, quad.words[i]);
        *(tkj_quad *)(output->indices + s) = quad;
    }
}

/** A row of the first positions alone. */
TKJ_DEVICE void tkj_write_short_quads(const tkj_select_params *p, const tkj_output_row *output,
                                      const tkj_window *window, tkj_i64 count)
{
    TKJ_NO_UNROLL
    for (tkj_i64 s = 4 * tkj_thread(); s < TKJ_TOPK; s += 4 * TKJ_THREADS) {
        tkj_quad quad;
        TKJ_UNROLL
        for (tkj_u32 i = 0; i < 4; i++)
            quad.words[i] = (tkj_u32)(s + i < count ? s + i : -1);
        if (output->raw_indices)
            *(tkj_quad *)(output->raw_indices + s) = quad;
        TKJ_UNROLL
        for (tkj_u32 i = 0; i < 4; i++)
            quad.words[i] = (tkj_u32)(s + i < count ? tkj_transform(p, window, s + i) : -1);
        *(tkj_quad *)(output->indices + s) = quad;
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

/** Writes a selection slot by slot. */
TKJ_DEVICE void tkj_write_slots(const tkj_select_params *p, tkj_i64 row, const tkj_window *window,
                                const tkj_selection *selection, const tkj_elements *elements)
{
    TKJ_NO_UNROLL
    for (tkj_i64 s = tkj_thread(); s < selection->count; s += TKJ_THREADS)
        tkj_emit(p, row, window, elements, s, tkj_selected_at(selection, s));
    tkj_write_padding(p, row, selection->count);
}

#if TKJ_SLOTS_APART
/** Writes a selection slot by slot, or all slots and raw indices by fours. */
TKJ_OUT_OF_LINE void tkj_write_apart(const tkj_select_params *p, tkj_i64 row,
                                     const tkj_window window, const tkj_selection selection)
{
    tkj_elements elements = {(const tkj_element *)p->score + row * p->score_stride + window.start,
                             1};
#if TKJ_INDEX_BITS == 32 && !TKJ_RAW_QUADS
    tkj_i32 *raw = p->raw_indices + row * p->raw_indices_stride; /* parameters all at once */
    const tkj_output_row output = {(tkj_i32 *)p->indices + row * p->indices_stride,
                                   p->raw_indices ? raw : 0};
    bool is_full = selection.count == TKJ_TOPK && (selection.selected || selection.positions);
    if (is_full && tkj_stores_quads(p, &output)) {
        tkj_write_full_quads(p, &output, &window, &selection);
        return;
    }
#endif
    tkj_write_slots(p, row, &window, &selection, &elements);
}
#endif

/** Writes a selection, sorted if the spec is. Its arrays, of k positions, may be part of `sort`; a
 * barrier must have come since they were written. */
TKJ_DEVICE void tkj_write_selection(const tkj_select_params *p, tkj_i64 row,
                                    const tkj_window *window, const tkj_selection *selected,
                                    tkj_sort_shared *sort)
{
    tkj_elements elements = {(const tkj_element *)p->score + row * p->score_stride + window->start,
                             1};
#if TKJ_SORTED
    tkj_slots slots = {(tkj_index *)p->indices + row * p->indices_stride, 1};
    const tkj_selection sorted = tkj_sort(&elements, selected, window->length, &slots, sort);
    const tkj_selection *selection = &sorted;
#else
    const tkj_selection *selection = selected;
#endif
#if TKJ_INDEX_BITS == 32
    const tkj_output_row output = tkj_output_row_of(p, row);
    if (tkj_stores_quads(p, &output) && (TKJ_RAW_QUADS || !p->raw_indices) &&
        !selection->slots.data && (!TKJ_SORTED || selection->count == TKJ_TOPK)) {
        if (selection->selected || selection->positions)
            tkj_write_full_quads(p, &output, window, selection);
        else
            tkj_write_short_quads(p, &output, window, selection->count);
        return;
    }
#endif
#if TKJ_SLOTS_APART
    tkj_write_apart(p, row, *window, *selection);
#else
    tkj_write_slots(p, row, window, selection, &elements);
#endif
}

#endif /* TKJ_WRITE_SELECTED_CUH */
