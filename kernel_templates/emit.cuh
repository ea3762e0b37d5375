/* SPDX-License-Identifier: Apache-2.0 */
/** @file emit.cuh @brief A selected position as the layout writes it, into every output. */
#ifndef TKJ_EMIT_CUH
#define TKJ_EMIT_CUH

#include "ordered_key.cuh"
#include "slots.cuh"
#include "window.cuh"

#if TKJ_DTYPE == TKJ_FLOAT32
#define TKJ_MINUS_INFINITY 0xff800000u
#elif TKJ_DTYPE == TKJ_FLOAT16
#define TKJ_MINUS_INFINITY 0xfc00u
#else
#define TKJ_MINUS_INFINITY 0xff80u
#endif

/** The value as an index, or -1 where it does not fit. */
TKJ_DEVICE tkj_index tkj_fit(const tkj_select_params *p, tkj_i64 value)
{
    bool fits = value == (tkj_i64)(tkj_index)value;
    tkj_check(p, !fits, TKJ_CHECK_VALUE);
    return fits ? (tkj_index)value : -1;
}

/** A position of the window as the layout writes it. */
TKJ_DEVICE tkj_index tkj_transform(const tkj_select_params *p, const tkj_window *window,
                                   tkj_i64 position)
{
#if TKJ_LAYOUT == TKJ_PAGED
    tkj_i64 entry = window->first_page + (position >> TKJ_PAGE_SHIFT);
    bool inside = entry >= 0 && entry < p->page_table_width;
    tkj_i64 page = tkj_load_if(inside, window->pages + entry, -1);
    tkj_check(p, !inside, TKJ_CHECK_PAGE_ENTRY);
    tkj_check(p, inside && page < 0, TKJ_CHECK_UNMAPPED_PAGE);
    tkj_i64 in_page = position & (((tkj_i64)1 << TKJ_PAGE_SHIFT) - 1);
    return page < 0 ? -1 : tkj_fit(p, page * ((tkj_i64)1 << TKJ_PAGE_SHIFT) + in_page);
#elif TKJ_LAYOUT == TKJ_RAGGED
    return tkj_fit(p, position + window->offset);
#else
    return (tkj_index)position;
#endif
}

/** Slot s of a row in every output: a selected position. */
TKJ_DEVICE void tkj_emit(const tkj_select_params *p, tkj_i64 row, const tkj_window *window,
                         const tkj_elements *elements, tkj_i64 s, tkj_i64 position)
{
    ((tkj_index *)p->indices)[row * p->indices_stride + s] = tkj_transform(p, window, position);
    if (p->raw_indices)
        p->raw_indices[row * p->raw_indices_stride + s] = (tkj_i32)position;
    if (p->values)
        ((tkj_element *)p->values)[row * p->values_stride + s] = tkj_element_at(elements, position);
}

/** Slot s of a row in every output: nothing. */
TKJ_DEVICE void tkj_emit_padding(const tkj_select_params *p, tkj_i64 row, tkj_i64 s)
{
    ((tkj_index *)p->indices)[row * p->indices_stride + s] = -1;
    if (p->raw_indices)
        p->raw_indices[row * p->raw_indices_stride + s] = -1;
    if (p->values)
        ((tkj_element *)p->values)[row * p->values_stride + s] = TKJ_MINUS_INFINITY;
}

#endif /* TKJ_EMIT_CUH */
