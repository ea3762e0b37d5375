/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file topk_jit_demo.c
 * @brief The main job on indexer-shaped input: a decode batch through the four operations, on the
 *        GPU if there is one, else on the host engine; each result judged by the contract.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <topk_jit/topk_jit.h>

#include "gpu.h"
#include "judge.h"
#include "params.h"
#include "scores.h"
#include "spread.h"

#define ROWS 8
#define WIDTH 32768
#define TOPK 2048
#define PAGE_SIZE 64
#define PAGES (WIDTH / PAGE_SIZE)
#define SEED 20251

static const int32_t row_lengths[ROWS] = {32768, 30011, 24576, 16385, 9000, 4096, 2048, 777};

/** A compact tensor: its data on the host, and a copy where the engine works. */
typedef struct demo_array {
    DLTensor tensor;
    int64_t shape[2];
    void *host;
    size_t size; /* bytes */
} demo_array;

/** What one run of the demo works on. */
typedef struct demo_scene {
    bool gpu;
    CUstream stream;
    topk_jit_context *context;
    demo_array score, lengths, page_table, offsets;
    demo_array indices;                 /* of the three selections */
    demo_array top_values, top_indices; /* of fast_topk */
} demo_scene;

static void require(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "topk-jit-demo: %s: %s\n", what, topk_jit_last_error()->message);
    exit(EXIT_FAILURE);
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* ---- tensors ---- */

static void array_create(const demo_scene *scene, demo_array *out, int rank, int64_t rows,
                         int64_t columns, uint8_t code, uint8_t bits)
{
    out->shape[0] = rows;
    out->shape[1] = columns;
    out->size = (size_t)(rows * columns * bits / 8);
    out->host = malloc(out->size);
    require(out->host != NULL, "no memory");
    void *data = scene->gpu ? tkj_gpu_allocate(out->size) : out->host;
    DLDevice device = {scene->gpu ? kDLCUDA : kDLCPU, 0};
    out->tensor = (DLTensor){data, device, rank, {code, bits, 1}, out->shape, NULL, 0};
}

/** Shows the engine what the host wrote. */
static void array_upload(const demo_scene *scene, const demo_array *array)
{
    if (scene->gpu)
        tkj_gpu_upload(array->tensor.data, array->host, array->size);
}

/** Shows the host what the engine wrote. */
static void array_download(const demo_scene *scene, const demo_array *array)
{
    if (scene->gpu)
        tkj_gpu_download(array->host, array->tensor.data, array->size);
}

static void array_destroy(const demo_scene *scene, demo_array *array)
{
    if (scene->gpu)
        tkj_gpu_free(array->tensor.data);
    free(array->host);
}

/* ---- input ---- */

/** Gives every request pages of its own, in no order, as a paged KV cache does after a while. */
static void fill_page_table(int32_t *table)
{
    uint64_t state = SEED;
    for (int32_t i = 0; i < ROWS * PAGES; i++) {
        int32_t j = (int32_t)(tkj_scores_random(&state) % (uint64_t)(i + 1));
        table[i] = table[j];
        table[j] = i;
    }
}

static void scene_create(demo_scene *scene)
{
    scene->gpu = tkj_gpu_open(0);
    scene->stream = scene->gpu ? tkj_gpu_stream_create() : NULL;
    require(topk_jit_context_create(&scene->context, NULL) == TOPK_JIT_OK, "no context");
    array_create(scene, &scene->score, 2, ROWS, WIDTH, kDLFloat, 32);
    array_create(scene, &scene->lengths, 1, ROWS, 1, kDLInt, 32);
    array_create(scene, &scene->page_table, 2, ROWS, PAGES, kDLInt, 32);
    array_create(scene, &scene->offsets, 1, ROWS, 1, kDLInt, 32);
    array_create(scene, &scene->indices, 2, ROWS, TOPK, kDLInt, 32);
    array_create(scene, &scene->top_values, 2, ROWS, TOPK, kDLFloat, 32);
    array_create(scene, &scene->top_indices, 2, ROWS, TOPK, kDLInt, 64);

    for (int64_t row = 0; row < ROWS; row++) {
        tkj_scores_fill_indexer(SEED, row, TOPK_JIT_FLOAT32,
                                (float *)scene->score.host + row * WIDTH, WIDTH);
        ((int32_t *)scene->offsets.host)[row] = (int32_t)row * WIDTH;
    }
    memcpy(scene->lengths.host, row_lengths, sizeof row_lengths);
    fill_page_table(scene->page_table.host);
    array_upload(scene, &scene->score);
    array_upload(scene, &scene->lengths);
    array_upload(scene, &scene->page_table);
    array_upload(scene, &scene->offsets);
}

static void scene_destroy(demo_scene *scene)
{
    demo_array *arrays[] = {&scene->score,      &scene->lengths, &scene->page_table,
                            &scene->offsets,    &scene->indices, &scene->top_values,
                            &scene->top_indices};
    topk_jit_context_destroy(scene->context);
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        array_destroy(scene, arrays[i]);
    if (scene->gpu)
        tkj_gpu_stream_destroy(scene->stream);
}

/* ---- the four operations ---- */

static topk_jit_status call_paged(demo_scene *s, CUstream stream)
{
    return topk_jit_fast_topk_transform_fused(s->context, &s->score.tensor, &s->lengths.tensor,
                                              &s->page_table.tensor, PAGE_SIZE, NULL, TOPK, NULL,
                                              &s->indices.tensor, stream);
}

static topk_jit_status call_plain(demo_scene *s, CUstream stream)
{
    return topk_jit_fast_topk_v2(s->context, &s->score.tensor, &s->lengths.tensor, TOPK, NULL,
                                 &s->indices.tensor, stream);
}

static topk_jit_status call_ragged(demo_scene *s, CUstream stream)
{
    return topk_jit_fast_topk_transform_ragged_fused(s->context, &s->score.tensor,
                                                     &s->lengths.tensor, &s->offsets.tensor, TOPK,
                                                     NULL, &s->indices.tensor, stream);
}

static topk_jit_status call_fast_topk(demo_scene *s, CUstream stream)
{
    return topk_jit_fast_topk(s->context, &s->score.tensor, TOPK, -1, &s->top_values.tensor,
                              &s->top_indices.tensor, stream);
}

/* ---- judging ---- */

/** The position behind a KV slot: pages belong to one place of one row each. */
static int32_t position_of_slot(const int32_t *table_row, int32_t slot)
{
    for (int32_t entry = 0; slot >= 0 && entry < PAGES; entry++)
        if (table_row[entry] == slot / PAGE_SIZE)
            return entry * PAGE_SIZE + slot % PAGE_SIZE;
    return -1;
}

/** Undoes the layout's transform, since these operations do not return positions. */
static void invert(const demo_scene *s, topk_jit_layout layout, int32_t *raw)
{
    const int32_t *indices = s->indices.host;
    const int32_t *table = s->page_table.host;
    for (int32_t i = 0; i < ROWS * TOPK; i++) {
        int32_t row = i / TOPK;
        raw[i] = indices[i];
        if (layout == TOPK_JIT_LAYOUT_PAGED)
            raw[i] = position_of_slot(table + (ptrdiff_t)row * PAGES, indices[i]);
        if (layout == TOPK_JIT_LAYOUT_RAGGED && indices[i] >= 0)
            raw[i] = indices[i] - row * WIDTH;
    }
}

static bool judge_selection(const demo_scene *s, topk_jit_layout layout, char *message)
{
    static int32_t raw[ROWS * TOPK];
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.layout = layout;
    spec.topk = TOPK;
    spec.page_size = layout == TOPK_JIT_LAYOUT_PAGED ? PAGE_SIZE : 0;
    array_download(s, &s->indices);
    invert(s, layout, raw);
    const tkj_select_params params = {
        .score = s->score.host,
        .score_stride = WIDTH,
        .rows = ROWS,
        .width = WIDTH,
        .out_rows = ROWS,
        .lengths = s->lengths.host,
        .lengths_stride_b = 1,
        .next_n = 1,
        .compress_ratio = 1,
        .page_table = s->page_table.host,
        .page_table_stride = PAGES,
        .page_table_rows = ROWS,
        .page_table_width = PAGES,
        .offsets = {s->offsets.host, 1},
        .indices = s->indices.host,
        .indices_stride = TOPK,
        .raw_indices = raw,
        .raw_indices_stride = TOPK,
    };
    return tkj_judge_select(&spec, &params, message);
}

static bool judge_paged(const demo_scene *s, char *message)
{
    return judge_selection(s, TOPK_JIT_LAYOUT_PAGED, message);
}

static bool judge_plain(const demo_scene *s, char *message)
{
    return judge_selection(s, TOPK_JIT_LAYOUT_PLAIN, message);
}

static bool judge_ragged(const demo_scene *s, char *message)
{
    return judge_selection(s, TOPK_JIT_LAYOUT_RAGGED, message);
}

static bool judge_fast_topk(const demo_scene *s, char *message)
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.operation = TOPK_JIT_OPERATION_FAST_TOPK;
    spec.topk = TOPK;
    spec.index_dtype = TOPK_JIT_INT64;
    array_download(s, &s->top_values);
    array_download(s, &s->top_indices);
    const tkj_fast_topk_params params = {
        .in = s->score.host,
        .values = s->top_values.host,
        .indices = s->top_indices.host,
        .rows = ROWS,
        .size = WIDTH,
        .in_stride = 1,
        .values_stride = 1,
        .indices_stride = 1,
        .outer_dims = 1,
        .outer = {{ROWS, WIDTH, TOPK, TOPK}},
    };
    return tkj_judge_fast_topk(&spec, &params, message);
}

/* ---- the table ---- */

/** One line of the table. */
typedef struct demo_operation {
    const char *name;
    topk_jit_status (*call)(demo_scene *, CUstream);
    bool (*judge)(const demo_scene *, char *);
} demo_operation;

/** An operation and its scene, for the timer. */
typedef struct demo_timed {
    const demo_operation *operation;
    demo_scene *scene;
} demo_timed;

static void enqueue(void *argument, CUstream stream)
{
    demo_timed *timed = argument;
    require(timed->operation->call(timed->scene, stream) == TOPK_JIT_OK, timed->operation->name);
}

static void call_once(demo_timed *timed)
{
    enqueue(timed, timed->scene->stream);
    if (timed->scene->gpu)
        tkj_gpu_synchronize(timed->scene->stream);
}

/** Microseconds of a warm call: on the GPU of the kernel alone, on the host of the whole call. */
static double warm_us(demo_timed *timed)
{
    if (timed->scene->gpu)
        return tkj_gpu_time_us(timed->scene->stream, 11, 10, enqueue, timed);
    double times[5];
    for (int i = 0; i < 5; i++) {
        double start = now_ms();
        call_once(timed);
        times[i] = (now_ms() - start) * 1e3;
    }
    return tkj_spread_of(times, 5).median;
}

static bool run(demo_scene *scene, const demo_operation *operation)
{
    char message[TKJ_JUDGE_MESSAGE_SIZE] = "";
    demo_timed timed = {operation, scene};
    double start = now_ms();
    call_once(&timed);
    double cold_ms = now_ms() - start;
    bool verified = operation->judge(scene, message);
    double warm = warm_us(&timed);
    verified = verified && operation->judge(scene, message);
    printf("%-34s %-6s %5d %7d %6d %10.2f %10.1f  %s\n", operation->name,
           scene->gpu ? "gpu" : "host", ROWS, WIDTH, TOPK, cold_ms, warm,
           verified ? "yes" : message);
    return verified;
}

int main(void)
{
    static const demo_operation operations[] = {
        {"fast_topk_transform_fused", call_paged, judge_paged},
        {"fast_topk_v2", call_plain, judge_plain},
        {"fast_topk_transform_ragged_fused", call_ragged, judge_ragged},
        {"fast_topk", call_fast_topk, judge_fast_topk},
    };
    demo_scene scene;
    scene_create(&scene);
    if (scene.gpu) {
        char name[128];
        int version;
        tkj_gpu_describe(0, name, &version);
        printf("%s, driver for CUDA %d.%d\n", name, version / 1000, version % 1000 / 10);
    } else {
        printf("no GPU: the host engine computes\n");
    }
    printf("%-34s %-6s %5s %7s %6s %10s %10s  %s\n", "operation", "engine", "rows", "length", "k",
           "cold ms", "warm us", "verified");
    int verified = 0;
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        verified += run(&scene, &operations[i]);
    scene_destroy(&scene);
    printf("%d of 4 operations verified\n", verified);
    return verified == 4 ? EXIT_SUCCESS : EXIT_FAILURE;
}
