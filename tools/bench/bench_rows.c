/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_rows.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_complain.h"

#define SEED 20252u
#define THREADS_MAX 32

/* Page-table entries that are made for one case at most. */
#define DISTINCT_ENTRIES ((int64_t)1 << 22)

/* Large scores in float32 and bfloat16, NaN in float16: what must not be looked at. */
#define GARBAGE 0x7F

void *bench_allocate(size_t size)
{
    void *memory = malloc(size);
    bench_require(memory != NULL, "no memory");
    return memory;
}

/* ---- scores ---- */

/** What the threads that fill rows share. */
typedef struct filling {
    const bench_case *what;
    bench_rows *rows;
    atomic_llong next;
} filling;

static void fill_row(const bench_case *what, void *scores, int64_t row)
{
    const size_t size = bench_case_score_size(what);
    const size_t pitch = (size_t)what->width * size;
    char *first = (char *)scores + (size_t)row * pitch;
    memset(first, GARBAGE, pitch);
    tkj_scores_fill(what->distribution, SEED + (uint64_t)row, what->topk, what->dtype,
                    first + (size_t)bench_case_start(what, row) * size,
                    bench_case_length(what, row), 1);
}

static void *fill_some(void *argument)
{
    filling *f = argument;
    for (;;) {
        const int64_t row = atomic_fetch_add(&f->next, 1);
        if (row >= f->rows->distinct)
            return NULL;
        fill_row(f->what, f->rows->scores, row);
    }
}

static void fill_scores(bench_rows *rows, const bench_case *what)
{
    filling f = {.what = what, .rows = rows};
    pthread_t threads[THREADS_MAX];
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int started = 0;
    rows->distinct = bench_case_distinct_rows(what);
    rows->scores =
        bench_allocate((size_t)(rows->distinct * what->width) * bench_case_score_size(what));
    while (started < cores - 1 && started < THREADS_MAX &&
           pthread_create(&threads[started], NULL, fill_some, &f) == 0)
        started++;
    fill_some(&f);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

/* ---- the other inputs ---- */

/** What each row has, by a function of the row. */
static int32_t *make_vector(const bench_case *what,
                            int64_t (*of_row)(const bench_case *what, int64_t row))
{
    int32_t *vector = bench_allocate((size_t)what->rows * sizeof *vector);
    for (int64_t row = 0; row < what->rows; row++)
        vector[row] = (int32_t)of_row(what, row);
    return vector;
}

static int64_t offset_of(const bench_case *what, int64_t row)
{
    return row * what->width;
}

static int64_t table_row_of(const bench_case *what, int64_t row)
{
    return row / what->sharing;
}

/** How many rows of the page table are made. */
static int64_t distinct_tables(const bench_case *what, int64_t entries)
{
    const int64_t all = (what->rows + what->sharing - 1) / what->sharing;
    const int64_t most = DISTINCT_ENTRIES / entries + 1;
    return all < most ? all : most;
}

/** Pages in no order; that one may come twice makes no difference to a selection. */
static void fill_table(bench_rows *rows, const bench_case *what)
{
    uint64_t state = SEED;
    const uint64_t pages = (uint64_t)INT32_MAX / (uint64_t)what->page_size;
    rows->entries = (what->width + what->page_size - 1) / what->page_size;
    rows->tables = distinct_tables(what, rows->entries);
    rows->table = bench_allocate((size_t)(rows->tables * rows->entries) * sizeof *rows->table);
    for (int64_t i = 0; i < rows->tables * rows->entries; i++)
        rows->table[i] = (int32_t)(tkj_scores_random(&state) % pages);
}

void bench_rows_create(bench_rows *rows, const bench_case *what)
{
    *rows = (bench_rows){0};
    fill_scores(rows, what);
    rows->lengths = make_vector(what, bench_case_length);
    rows->starts = make_vector(what, bench_case_start);
    if (what->layout == TOPK_JIT_LAYOUT_RAGGED)
        rows->offsets = make_vector(what, offset_of);
    if (what->layout != TOPK_JIT_LAYOUT_PAGED)
        return;
    rows->row_to_batch = make_vector(what, table_row_of);
    fill_table(rows, what);
    rows->row_to_table = make_vector(what, table_row_of);
    for (int64_t row = 0; row < what->rows; row++)
        rows->row_to_table[row] %= (int32_t)rows->tables;
}

void bench_rows_destroy(bench_rows *rows)
{
    free(rows->scores);
    free(rows->lengths);
    free(rows->starts);
    free(rows->offsets);
    free(rows->row_to_batch);
    free(rows->row_to_table);
    free(rows->table);
    *rows = (bench_rows){0};
}
