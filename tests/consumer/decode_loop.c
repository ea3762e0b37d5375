/* SPDX-License-Identifier: Apache-2.0 */
/* A decode loop in miniature: in every step each request has one token more, the best TOPK of them
   are selected, and attention reads their slots of the paged KV cache. With a GPU the kernel is
   prepared once, every stream captures its step once, and a step is then one graph launch. Without
   one the same call runs on the host engine, which needs neither. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <topk_jit/topk_jit.h>

#include "server.h" /* what a server has anyway: memory, streams, graphs, an attention kernel */

enum { STREAMS = 3, BATCH = 4, WIDTH = 4096, PAGE = 64, PAGES = WIDTH / PAGE, TOPK = 256 };
enum { STEPS = 100 };

/* A batch of requests on a stream of its own. */
typedef struct worker {
    CUstream stream;
    server_graph *graph;
    DLTensor score, lengths, page_table, slots;
    int32_t *kv_cache, *attended;
} worker;

static void must(topk_jit_status status)
{
    if (status == TOPK_JIT_OK)
        return;
    fprintf(stderr, "%s: %s\n", topk_jit_status_name(status), topk_jit_last_error()->message);
    exit(EXIT_FAILURE);
}

static DLTensor new_tensor(DLDataTypeCode code, int dimensions, int64_t *shape)
{
    DLTensor tensor = {NULL, {server_device(), 0}, dimensions, {(uint8_t)code, 32, 1}, shape, NULL,
                       0};
    size_t count = (size_t)shape[0] * (dimensions == 2 ? (size_t)shape[1] : 1);
    tensor.data = server_allocate(4 * count);
    return tensor;
}

/* Score and cached value of a token are its position; the pages of a request are anywhere. */
static void open_worker(worker *w)
{
    static int64_t score[] = {BATCH, WIDTH}, lengths[] = {BATCH}, table[] = {BATCH, PAGES};
    static int64_t slots[] = {BATCH, TOPK};
    static float scores[BATCH][WIDTH];
    static int32_t pages[BATCH][PAGES], cache[BATCH * PAGES][PAGE];
    for (int row = 0; row < BATCH; row++)
        for (int position = 0; position < WIDTH; position++) {
            int page = row + BATCH * (PAGES - 1 - position / PAGE);
            scores[row][position] = (float)position;
            pages[row][position / PAGE] = page;
            cache[page][position % PAGE] = position;
        }
    w->stream = server_stream();
    w->score = new_tensor(kDLFloat, 2, score);
    w->lengths = new_tensor(kDLInt, 1, lengths);
    w->page_table = new_tensor(kDLInt, 2, table);
    w->slots = new_tensor(kDLInt, 2, slots);
    w->kv_cache = server_allocate(sizeof cache);
    w->attended = server_allocate(BATCH * sizeof *w->attended);
    server_write(w->score.data, scores, sizeof scores, w->stream);
    server_write(w->page_table.data, pages, sizeof pages, w->stream);
    server_write(w->kv_cache, cache, sizeof cache, w->stream);
}

/* Enqueues, and on a GPU does nothing else: it may be captured. */
static void step(topk_jit_context *context, worker *w)
{
    must(topk_jit_fast_topk_transform_fused(context, &w->score, &w->lengths, &w->page_table, PAGE,
                                            NULL, TOPK, NULL, &w->slots, w->stream));
    server_attend(w->slots.data, w->kv_cache, w->attended, BATCH, TOPK, w->stream);
}

/* Tokens of a request: some have fewer than TOPK, and every step adds one. */
static int32_t length_of(int stream, int row, int token)
{
    return 50 + 900 * row + 7 * stream + token;
}

/* Attention here is a sum of cached values: of the last TOPK positions, which score highest. */
static bool is_right(int32_t attended, int32_t length)
{
    int32_t first = length > TOPK ? length - TOPK : 0;
    return attended == (length - first) * (first + length - 1) / 2;
}

int main(void)
{
    bool gpu = server_open();
    topk_jit_context *context = NULL;
    must(topk_jit_context_create(&context, NULL));
    if (gpu) {
        topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
        spec.layout = TOPK_JIT_LAYOUT_PAGED;
        spec.topk = TOPK;
        spec.page_size = PAGE;
        must(topk_jit_prepare(context, &spec, 1, NULL)); /* all that can block, for every stream */
    }

    worker workers[STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        open_worker(&workers[i]);
        if (gpu) {
            server_capture_begin(workers[i].stream);
            step(context, &workers[i]);
            workers[i].graph = server_capture_end(workers[i].stream);
        }
    }

    int wrong = 0;
    for (int token = 0; token < STEPS; token++) {
        for (int i = 0; i < STREAMS; i++) {
            int32_t lengths[BATCH];
            for (int row = 0; row < BATCH; row++)
                lengths[row] = length_of(i, row, token);
            server_write(workers[i].lengths.data, lengths, sizeof lengths, workers[i].stream);
            if (gpu)
                server_launch(workers[i].graph, workers[i].stream);
            else
                step(context, &workers[i]);
        }
        for (int i = 0; i < STREAMS; i++) {
            int32_t attended[BATCH];
            server_read(attended, workers[i].attended, sizeof attended, workers[i].stream);
            for (int row = 0; row < BATCH; row++)
                wrong += !is_right(attended[row], length_of(i, row, token));
        }
    }
    printf("%d steps of %d streams %s, %d wrong\n", STEPS, STREAMS,
           gpu ? "on the GPU" : "on the host", wrong);
    topk_jit_context_destroy(context); /* nothing that uses its kernels is under way any more */
    server_close();
    return wrong > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
