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

/** A position of the window as the layout writes it; -1 where that is no index. */
TKJ_DEVICE tkj_index tkj_transform(const tkj_select_params *p, const tkj_window *window,
                                   tkj_i64 position)
{
#if TKJ_LAYOUT == TKJ_PAGED
    const tkj_u32 pages = TKJ_INDEX_BITS == 64 ? 1u << 31 : 1u << (31 - TKJ_PAGE_SHIFT);
    tkj_count entry = (tkj_count)position >> TKJ_PAGE_SHIFT;
    tkj_count in_page = (tkj_count)position & (((tkj_count)1 << TKJ_PAGE_SHIFT) - 1);
    bool inside = entry - window->first < window->entries;
    tkj_i32 page = tkj_load_if(inside, window->pages + entry, -1);
    bool fits = (tkj_u32)page < pages;
    tkj_check(p, !inside, TKJ_CHECK_PAGE_ENTRY);
    tkj_check(p, inside && page < 0, TKJ_CHECK_UNMAPPED_PAGE);
    tkj_check(p, page >= 0 && !fits, TKJ_CHECK_VALUE);
    return fits ? (tkj_index)((tkj_count)page << TKJ_PAGE_SHIFT | in_page) : -1;
#elif TKJ_LAYOUT == TKJ_RAGGED
    tkj_index offset = (tkj_index)window->offset;
    tkj_index sum = (tkj_index)((tkj_count)position + (tkj_count)offset);
    bool fits = sum >= offset; /* positions are not negative */
    tkj_check(p, !fits, TKJ_CHECK_VALUE);
    return fits ? sum : -1;
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
