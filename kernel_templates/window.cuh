/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file window.cuh
 * @brief The window of a row: which columns count, and which table row or offset they map to.
 *
 * Tensor data is not trusted: everything is clamped, so that no value of lengths, starts or tables
 * leads outside a tensor.
 */
#ifndef TKJ_WINDOW_CUH
#define TKJ_WINDOW_CUH

#include "slots.cuh"

/* Set where a call is two launches, which both look at each row. */
#ifndef TKJ_SPLIT
#define TKJ_SPLIT 0
#endif

/** One row's window. */
typedef struct tkj_window {
    tkj_i64 start;        /* first column */
    tkj_i64 length;       /* 0 where the row has no table row */
    const tkj_i32 *pages; /* paged: the entry of position 0, or a copy in shared memory; */
    tkj_count first;      /* of it and those behind it the table has this one */
    tkj_count entries;    /* and the next ones, so many */
    tkj_i64 offset;       /* ragged: added to a position */
} tkj_window;

TKJ_DEVICE tkj_i64 tkj_clamp(tkj_i64 value, tkj_i64 low, tkj_i64 high)
{
    return value < low ? low : value > high ? high : value;
}

/** Element i of an input, or what stands for an absent one. */
TKJ_DEVICE tkj_i64 tkj_vector_at(const tkj_vector *vector, tkj_i64 i, tkj_i64 absent)
{
    return vector->data ? vector->data[i * vector->stride] : absent;
}

/** Counts one bad input, in builds with the checks compiled in. */
TKJ_DEVICE void tkj_check(const tkj_select_params *p, bool bad, tkj_u32 slot)
{
#if TKJ_CHECK
    if (bad)
        tkj_atomic_add(p->check_counts + slot, 1);
#endif
}

/** A check that all threads make of one row, of a whole cluster's blocks and of two launches too:
 * counted once. */
TKJ_DEVICE void tkj_check_row(const tkj_select_params *p, bool bad, tkj_u32 slot)
{
#if TKJ_CLUSTERS
    bad = bad && tkj_cluster_rank() == 0;
#elif TKJ_SPLIT
    bad = bad && p->launch == 1;
#endif
    tkj_check(p, bad && tkj_thread() == 0, slot);
}

/** A quotient that is mostly by 1: a 64-bit division takes longer than a load from L2. */
TKJ_DEVICE tkj_i64 tkj_divide(tkj_i64 value, tkj_i64 divisor)
{
    return divisor == 1 ? value : value / divisor;
}

/** The request that row i belongs to. */
TKJ_DEVICE tkj_i64 tkj_request(const tkj_select_params *p, tkj_i64 row)
{
    return tkj_divide(row, p->next_n);
}

/** What `lengths` or `row_ends` says of row i, if there is one. */
TKJ_DEVICE tkj_i32 tkj_given_length(const tkj_select_params *p, tkj_i64 row)
{
    if (p->lengths) {
        tkj_i64 b = tkj_request(p, row);
        tkj_i64 j = row - b * p->next_n;
        return p->lengths[b * p->lengths_stride_b + j * p->lengths_stride_j];
    }
    return p->row_ends.data ? p->row_ends.data[row * p->row_ends.stride] : 0;
}

/** Length of row i by what `lengths` says: the speculative rule, then the compression; clamped. */
TKJ_DEVICE tkj_i64 tkj_length_of(const tkj_select_params *p, tkj_i64 row, tkj_i64 given,
                                 tkj_i64 limit)
{
    tkj_i64 j = row - tkj_request(p, row) * p->next_n;
    tkj_i64 shortened = given - p->lengths_step * (p->next_n - 1 - j);
    tkj_i64 length = tkj_divide(shortened > 0 ? shortened : 0, p->compress_ratio);
    tkj_check_row(p, given < 0 || length > limit, TKJ_CHECK_LENGTHS);
    return tkj_clamp(length, 0, limit);
}

/** Table row of row i, or -1 if it has none. */
TKJ_DEVICE tkj_i64 tkj_table_row(const tkj_select_params *p, tkj_i64 row)
{
    if (p->row_to_batch.data) {
        tkj_i64 b = tkj_vector_at(&p->row_to_batch, row, 0);
        bool inside = b >= 0 && b < p->page_table_rows;
        tkj_check_row(p, !inside, TKJ_CHECK_ROW_TO_BATCH);
        return inside ? b : -1;
    }
    if (!p->cu_seqlens_q.data)
        return tkj_request(p, row);
    /* The last interval that starts at or before the row. */
    tkj_i64 low = 0;
    tkj_i64 high = p->cu_batch;
    while (low < high) {
        tkj_i64 middle = low + (high - low) / 2;
        if (tkj_vector_at(&p->cu_seqlens_q, middle, 0) <= row)
            low = middle + 1;
        else
            high = middle;
    }
    tkj_i64 b = low - 1;
    bool inside = b >= 0 && row < tkj_vector_at(&p->cu_seqlens_q, b + 1, 0);
    tkj_check_row(p, !inside, TKJ_CHECK_CU_SEQLENS_Q);
    return inside ? b : -1;
}

/** The window's start alone, for loads that need not wait for the length; `given` is requested, but
 * not waited for: for tkj_window_finish. */
TKJ_DEVICE tkj_window tkj_window_start(const tkj_select_params *p, tkj_i64 row, tkj_i32 *given)
{
    tkj_window window = {0, 0, 0, 0, 0, 0};
    if (p->simple_stride) {
        *given = p->lengths[row * p->simple_stride];
        return window;
    }
    *given = p->simple >= TKJ_STARTED ? p->lengths[row * (p->simple / TKJ_STARTED)]
                                      : tkj_given_length(p, row);
    tkj_i64 start = tkj_vector_at(&p->row_starts, row, 0);
    window.start = tkj_clamp(start, 0, p->width);
    tkj_check_row(p, start != window.start, TKJ_CHECK_ROW_STARTS);
    return window;
}

/** The length from what was given. */
TKJ_DEVICE void tkj_window_length(const tkj_select_params *p, tkj_i64 row, tkj_i32 given,
                                  tkj_window *window)
{
    tkj_i64 limit = p->width - window->start;
    if (p->simple_stride || p->simple >= TKJ_STARTED) {
        tkj_i32 most = limit < 0x7fffffff ? (tkj_i32)limit : 0x7fffffff; /* known early */
        window->length = given < 0 ? 0 : given < most ? given : most;
        tkj_check_row(p, given != window->length, TKJ_CHECK_LENGTHS);
    } else if (p->lengths) {
        window->length = tkj_length_of(p, row, given, limit);
    } else {
        tkj_i64 end = p->row_ends.data ? given : p->width;
        tkj_i64 clamped = tkj_clamp(end, window->start, p->width);
        tkj_check_row(p, end != clamped, TKJ_CHECK_LENGTHS);
        window->length = clamped - window->start;
    }
}

/** Fetches parameters that are needed after a window's start. */
TKJ_DEVICE void tkj_prefetch_parameters(const tkj_select_params *p)
{
    tkj_prefetch_parameter(p->indices);
#if TKJ_LAYOUT == TKJ_RAGGED
    tkj_prefetch_parameter(p->offsets.data);
#endif
}

#if TKJ_LAYOUT == TKJ_PAGED
/** The pages of any row; one without a table row gets no window. */
TKJ_DEVICE void tkj_window_find_pages(const tkj_select_params *p, tkj_i64 row, tkj_window *window)
{
    tkj_i64 table_row = tkj_table_row(p, row);
    if (table_row < 0) {
        window->length = 0;
        return;
    }
    const tkj_i64 most = (tkj_i64)((tkj_count)1 << (TKJ_INDEX_BITS - 1)); /* as positions are */
    tkj_i64 first_page = tkj_vector_at(&p->page_table_row_starts, row, 0);
    tkj_i64 low = first_page < 0 ? -first_page : 0;
    tkj_i64 high = p->page_table_width - first_page;
    window->pages = p->page_table + table_row * p->page_table_stride + first_page;
    window->first = (tkj_count)low;
    window->entries = (tkj_count)(high <= low                     ? 0
                                  : (tkj_u64)high < (tkj_u64)most ? high - low
                                                                  : most);
}
#endif

/** The window's length and what its positions map to. */
TKJ_DEVICE void tkj_window_finish(const tkj_select_params *p, tkj_i64 row, tkj_i32 given,
                                  tkj_window *window)
{
    tkj_window_length(p, row, given, window);
#if TKJ_LAYOUT == TKJ_PAGED
    if (p->simple & TKJ_SIMPLE_TABLE) {
        window->pages = p->page_table + row * p->page_table_stride;
        window->entries = ~(tkj_count)0;
    } else {
        tkj_window_find_pages(p, row, window);
    }
#elif TKJ_LAYOUT == TKJ_RAGGED
    window->offset = tkj_vector_at(&p->offsets, row, 0);
#endif
}

/** Rows to write. */
TKJ_DEVICE tkj_i64 tkj_rows_to_write(const tkj_select_params *p)
{
    return p->simple_stride ? p->rows : p->out_rows;
}

/** The window of row i < B. The same in every thread of the block. */
TKJ_DEVICE tkj_window tkj_window_of(const tkj_select_params *p, tkj_i64 row)
{
    tkj_i32 given;
    tkj_window window = tkj_window_start(p, row, &given);
    tkj_window_finish(p, row, given, &window);
    return window;
}

#endif /* TKJ_WINDOW_CUH */
