/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_floor.h"

#include "gpu.h"

/* Replays and calls of a shape that is only tried. */
#define TRIED_REPLAYS 3
#define TRIED_CALLS 10

/* Shapes of grids: a grid of so many blocks a multiprocessor, or of a block for each turn. */
static const uint32_t blocks_per_sm[] = {1, 2, 4, 8, UINT32_MAX};
static const uint32_t block_sizes[] = {128, 256, 512};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/** One shape of one kernel on one input. */
typedef struct probe {
    const bench_gpu *gpu;
    bench_kernel kernel;
    uint32_t grid;
    uint32_t threads;
    const bench_input *input; /* NULL: nothing rotates */
    int next;
    bench_read_params read;
    bench_write_params write;
} probe;

int bench_graph_calls(int at_least, int copies)
{
    return (at_least + copies - 1) / copies * copies;
}

static void enqueue(void *argument, CUstream stream)
{
    probe *p = argument;
    if (p->kernel > BENCH_READ_8) {
        bench_gpu_launch(p->gpu, p->kernel, p->grid, p->threads, &p->write, stream);
        return;
    }
    const bench_input *input = p->input;
    const size_t copy = (size_t)p->next;
    bench_read_params read = p->read;
    read.score = (const char *)bench_input_data(input, BENCH_SCORE) + copy * input->score_bytes;
    if (read.table != NULL)
        read.table = (const int *)((const char *)bench_input_data(input, BENCH_TABLE) +
                                   copy * input->table_bytes);
    bench_gpu_launch(p->gpu, p->kernel, p->grid, p->threads, &read, stream);
    p->next = (p->next + 1) % input->copies;
}

static double time_us(const probe *tried, int calls, int replays)
{
    probe p = *tried;
    const int copies = p.input != NULL ? p.input->copies : 1;
    p.next = 0;
    return tkj_gpu_time_us(p.gpu->stream, replays, bench_graph_calls(calls, copies), enqueue, &p);
}

/** The best shape so far. */
typedef struct search {
    probe best;
    double us; /* 0 = none was tried */
} search;

/** Tries a kernel with `turns` blocks' worth of work in every shape of grid. */
static void try_grids(search *s, probe *p, uint64_t turns)
{
    uint32_t last = 0;
    for (size_t i = 0; i < COUNT(blocks_per_sm); i++) {
        const uint64_t most = (uint64_t)p->gpu->facts.sm_count * blocks_per_sm[i];
        p->grid = (uint32_t)(turns < most ? turns : most);
        if (p->grid == last)
            continue;
        last = p->grid;
        const double us = time_us(p, TRIED_CALLS, TRIED_REPLAYS);
        if (s->us == 0.0 || us < s->us) {
            s->us = us;
            s->best = *p;
        }
    }
}

/** The best shape once more, measured as everything else is. */
static double finish(const search *s, const bench_floors *floors)
{
    return time_us(&s->best, floors->calls, floors->replays);
}

/* ---- reading ---- */

static bench_read_params read_params(const bench_input *input, bool gather)
{
    const bench_case *what = &input->call.what;
    const size_t size = bench_case_score_size(what);
    const bool one_piece = what->length == what->width && !what->mixed; /* of memory */
    const int64_t rows = one_piece ? 1 : what->rows;
    const int64_t columns = one_piece ? what->rows * what->width : what->length;
    return (bench_read_params){
        .pitch = what->width * (int64_t)size,
        .bytes = columns * (int64_t)size,
        .lengths = what->mixed ? bench_input_data(input, BENCH_LENGTHS) : NULL,
        .score_size = (unsigned)size,
        .rows = (unsigned)rows,
        .gather_rows = (unsigned)what->rows,
        .gathers = gather ? (unsigned)what->topk : 0,
        .table = gather ? bench_input_data(input, BENCH_TABLE) : NULL,
        .table_width = input->rows.entries,
        .table_rows = (unsigned)input->call.tensors[BENCH_TABLE].shape[0],
        .sink = input->gpu->words,
    };
}

static double search_read(const bench_floors *floors, const bench_input *input, bool gather)
{
    search s = {.us = 0.0};
    probe p = {.gpu = input->gpu, .input = input, .read = read_params(input, gather)};
    const uint64_t vectors = ((uint64_t)p.read.bytes + 30) / 16; /* a row off a boundary has more */
    for (int kernel = BENCH_READ_1; kernel <= BENCH_READ_8; kernel++)
        for (size_t i = 0; i < COUNT(block_sizes); i++) {
            p.kernel = (bench_kernel)kernel;
            p.threads = block_sizes[i];
            const uint64_t piece = (uint64_t)p.threads << (kernel - BENCH_READ_1);
            p.read.pieces = (unsigned)((vectors + piece - 1) / piece);
            try_grids(&s, &p, (uint64_t)p.read.rows * p.read.pieces);
        }
    return finish(&s, floors);
}

/** The case with everything removed that reading does not depend on. */
static bench_case read_key(const bench_case *what, bool gather)
{
    bench_case key = BENCH_CASE_INIT;
    key.rows = what->rows;
    key.width = what->width;
    key.length = what->length;
    key.mixed = what->mixed;
    key.mode = what->mode;
    key.dtype = bench_case_score_size(what) == 4 ? TOPK_JIT_FLOAT32 : TOPK_JIT_FLOAT16;
    if (gather) {
        key.layout = TOPK_JIT_LAYOUT_PAGED;
        key.page_size = what->page_size;
        key.sharing = what->sharing;
        key.topk = what->topk;
    }
    return key;
}

double bench_floor_read_us(bench_floors *floors, const bench_input *input, bool gather)
{
    const bench_case key = read_key(&input->call.what, gather);
    for (size_t i = 0; i < floors->count; i++)
        if (bench_case_equal(&floors->known[i].key, &key))
            return floors->known[i].us;
    const double us = search_read(floors, input, gather);
    if (floors->count < BENCH_FLOORS_MAX) {
        floors->known[floors->count].key = key;
        floors->known[floors->count++].us = us;
    }
    return us;
}

/* ---- writing, nothing ---- */

double bench_floor_write_us(bench_floors *floors, const bench_input *input)
{
    search s = {.us = 0.0};
    const int64_t words = (int64_t)(bench_call_bytes(&input->call, BENCH_INDICES) / sizeof(int));
    probe p = {.gpu = input->gpu,
               .kernel = BENCH_WRITE,
               .write = {bench_input_data(input, BENCH_INDICES), words}};
    for (size_t i = 0; i < COUNT(block_sizes); i++) {
        p.threads = block_sizes[i];
        try_grids(&s, &p, ((uint64_t)words / 4 + p.threads) / p.threads);
    }
    return finish(&s, floors);
}

double bench_floor_empty_us(const bench_floors *floors, const bench_gpu *gpu)
{
    const probe p = {.gpu = gpu, .kernel = BENCH_EMPTY, .grid = 1, .threads = 32};
    return time_us(&p, floors->calls, floors->replays);
}
