/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA graphs and streams: captured calls replay with other lengths, captures survive everything.
   Argument: replays of each captured call. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_call.h"
#include "ordered_key.h"
#include "scores.h"
#include "spec.h"

#define ROWS 16
#define WIDTH 8192
#define TOPK 512

/** A spec that no other test of this program uses. */
static topk_jit_spec fresh_spec(int64_t k)
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.topk = k;
    return tkj_spec_canonical(&spec);
}

static void set_lengths(tkj_call *call, uint64_t seed)
{
    const tkj_guarded *score = &call->tensors[TKJ_CALL_SCORE].memory;
    int32_t *lengths = tkj_guarded_data(&call->tensors[TKJ_CALL_LENGTHS].memory);
    for (int64_t row = 0; row < score->rows; row++)
        lengths[row] = (int32_t)(tkj_scores_random(&seed) % (uint64_t)(score->columns + 10)) - 5;
}

static void open_sized(tkj_call *call, const topk_jit_spec *spec, int64_t rows, int64_t width)
{
    tkj_call_init(call, spec);
    float *score = tkj_call_add(call, TKJ_CALL_SCORE, spec->dtype, 2, rows, width, width, 0);
    for (int64_t row = 0; row < rows; row++)
        tkj_scores_fill(TKJ_SCORES_RELU, (uint64_t)row, spec->topk, spec->dtype,
                        score + row * width, width, 1);
    tkj_call_add(call, TKJ_CALL_LENGTHS, TOPK_JIT_INT32, 1, rows, 1, 1, 0);
    tkj_call_add(call, TKJ_CALL_INDICES, TOPK_JIT_INT32, 2, rows, spec->topk, spec->topk, 0);
    tkj_call_add(call, TKJ_CALL_RAW_INDICES, TOPK_JIT_INT32, 2, rows, spec->topk, spec->topk, 0);
    set_lengths(call, 1);
}

static void open_call(tkj_call *call, const topk_jit_spec *spec)
{
    open_sized(call, spec, ROWS, WIDTH);
}

static void prepare(const topk_jit_spec *spec)
{
    if (topk_jit_prepare(tkj_gpu_context, spec, 1, tkj_gpu_stream) != TOPK_JIT_OK)
        fail_msg("%s", topk_jit_last_error()->message);
}

static void must_select(tkj_gpu_call *g)
{
    if (topk_jit_select(tkj_gpu_context, &g->args, tkj_gpu_stream) != TOPK_JIT_OK)
        fail_msg("%s", topk_jit_last_error()->message);
}

static void judge(tkj_gpu_call *g)
{
    char message[TKJ_JUDGE_MESSAGE_SIZE];
    tkj_gpu_call_download(g);
    if (!tkj_call_judge(g->call, message))
        fail_msg("%s", message);
}

static uint64_t replays = 200;

/** Captures a call, and judges replays of it, each with other lengths. */
static void replay(const topk_jit_spec *spec, int64_t rows, int64_t width)
{
    tkj_call call;
    tkj_gpu_call g;
    open_sized(&call, spec, rows, width);
    tkj_gpu_call_create(&g, &call);
    prepare(spec);
    tkj_gpu_capture_begin(tkj_gpu_stream);
    must_select(&g); /* the kernel's very first launch */
    tkj_gpu_graph *graph = tkj_gpu_capture_end(tkj_gpu_stream);
    for (uint64_t seed = 0; seed < replays; seed++) {
        set_lengths(&call, seed);
        tkj_call_poison(&call);
        tkj_gpu_call_upload(&g);
        tkj_gpu_graph_launch(graph, tkj_gpu_stream);
        judge(&g);
    }
    tkj_gpu_graph_destroy(graph);
    tkj_gpu_call_destroy(&g);
    tkj_call_release(&call);
}

static void captured_call_replays_with_other_lengths(void **state)
{
    (void)state;
    topk_jit_spec spec = fresh_spec(TOPK);
    replay(&spec, ROWS, WIDTH);
}

/** A cluster a row; which rows a block holds changes from replay to replay. */
static void captured_call_of_long_rows_replays_with_other_lengths(void **state)
{
    (void)state;
    topk_jit_spec spec = fresh_spec(TOPK + 3);
    replay(&spec, 3, 40000);
    spec = fresh_spec(TOPK + 4);
    spec.sorted = 1;
    replay(&spec, 3, 40000);
}

static void unprepared_call_leaves_the_capture_intact(void **state)
{
    (void)state;
    topk_jit_spec prepared = fresh_spec(TOPK), unprepared = fresh_spec(TOPK + 1);
    tkj_call call, other;
    tkj_gpu_call g, other_g;
    open_call(&call, &prepared);
    open_call(&other, &unprepared);
    tkj_call_poison(&call);
    tkj_call_poison(&other);
    tkj_gpu_call_create(&g, &call);
    tkj_gpu_call_create(&other_g, &other);
    prepare(&prepared);
    tkj_gpu_capture_begin(tkj_gpu_stream);
    assert_int_equal(topk_jit_select(tkj_gpu_context, &other_g.args, tkj_gpu_stream),
                     TOPK_JIT_NOT_PREPARED);
    must_select(&g);
    tkj_gpu_graph *graph = tkj_gpu_capture_end(tkj_gpu_stream);
    tkj_gpu_graph_launch(graph, tkj_gpu_stream);
    judge(&g);
    tkj_gpu_call_download(&other_g);
    const tkj_guarded *untouched = &other.tensors[TKJ_CALL_INDICES].memory;
    for (size_t i = 0; i < untouched->block_size; i++)
        assert_int_equal(untouched->block[i], TKJ_GUARDED_POISON);
    tkj_gpu_graph_destroy(graph);
    tkj_gpu_call_destroy(&g);
    tkj_gpu_call_destroy(&other_g);
    tkj_call_release(&call);
    tkj_call_release(&other);
}

static void *prepare_elsewhere(void *argument)
{
    static topk_jit_status status;
    (void)argument;
    topk_jit_spec spec = fresh_spec(TOPK + 2);
    tkj_gpu_open(0);
    CUstream stream = tkj_gpu_stream;
    status = topk_jit_prepare(tkj_gpu_context, &spec, 1, stream);
    if (status != TOPK_JIT_OK)
        print_message("%s\n", topk_jit_last_error()->message);
    return &status;
}

static void preparing_in_another_thread_leaves_a_global_capture_intact(void **state)
{
    (void)state;
    topk_jit_spec spec = fresh_spec(TOPK);
    pthread_t thread;
    void *status;
    tkj_call call;
    tkj_gpu_call g;
    open_call(&call, &spec);
    tkj_call_poison(&call);
    tkj_gpu_call_create(&g, &call);
    prepare(&spec);
    tkj_gpu_capture_begin(tkj_gpu_stream);
    must_select(&g);
    assert_int_equal(pthread_create(&thread, NULL, prepare_elsewhere, NULL), 0);
    assert_int_equal(pthread_join(thread, &status), 0);
    tkj_gpu_graph *graph = tkj_gpu_capture_end(tkj_gpu_stream);
    assert_int_equal(*(topk_jit_status *)status, TOPK_JIT_OK);
    tkj_gpu_graph_launch(graph, tkj_gpu_stream);
    judge(&g);
    tkj_gpu_graph_destroy(graph);
    tkj_gpu_call_destroy(&g);
    tkj_call_release(&call);
}

static void two_streams_at_once_do_not_disturb_each_other(void **state)
{
    (void)state;
    topk_jit_spec spec = fresh_spec(TOPK);
    CUstream second = tkj_gpu_stream_create();
    tkj_call calls[2];
    tkj_gpu_call g[2];
    prepare(&spec);
    for (int i = 0; i < 2; i++) {
        open_call(&calls[i], &spec);
        set_lengths(&calls[i], (uint64_t)i + 10);
        tkj_call_poison(&calls[i]);
        tkj_gpu_call_create(&g[i], &calls[i]);
    }
    for (int round = 0; round < 100; round++) {
        must_select(&g[0]);
        assert_int_equal(topk_jit_select(tkj_gpu_context, &g[1].args, second), TOPK_JIT_OK);
    }
    tkj_gpu_synchronize(second);
    for (int i = 0; i < 2; i++) {
        judge(&g[i]);
        tkj_gpu_call_destroy(&g[i]);
        tkj_call_release(&calls[i]);
    }
    tkj_gpu_stream_destroy(second);
}

/** The second call takes what the first one wrote as its row ends, so a kernel that did
 *  not wait for the one before would read the poison. */
static void dependent_launches_wait_for_each_other(void **state)
{
    (void)state;
    topk_jit_spec spec = fresh_spec(TOPK);
    tkj_call call;
    tkj_gpu_call g;
    open_call(&call, &spec);
    call.args.pdl = 1;
    tkj_call_poison(&call);
    tkj_gpu_call_create(&g, &call);
    prepare(&spec);
    DLTensor ends = g.tensors[TKJ_CALL_INDICES];
    int64_t shape[1] = {ROWS}, stride[1] = {TOPK};
    ends.ndim = 1;
    ends.shape = shape;
    ends.strides = stride;
    tkj_call second;
    tkj_gpu_call second_g;
    open_call(&second, &spec);
    second.args.pdl = 1;
    tkj_call_poison(&second);
    tkj_gpu_call_create(&second_g, &second);
    second_g.args.lengths = NULL;
    second_g.args.row_ends = &ends;
    must_select(&g);
    must_select(&second_g);
    judge(&g);
    tkj_gpu_call_download(&second_g);
    const int32_t *first_positions = tkj_guarded_data(&call.tensors[TKJ_CALL_INDICES].memory);
    int32_t *lengths = tkj_guarded_data(&second.tensors[TKJ_CALL_LENGTHS].memory);
    for (int row = 0; row < ROWS; row++)
        lengths[row] = first_positions[(ptrdiff_t)row * TOPK];
    char message[TKJ_JUDGE_MESSAGE_SIZE];
    if (!tkj_call_judge(&second, message))
        fail_msg("%s", message);
    tkj_gpu_call_destroy(&g);
    tkj_gpu_call_destroy(&second_g);
    tkj_call_release(&call);
    tkj_call_release(&second);
}

int main(int argc, char **argv)
{
    replays = argc > 1 ? strtoull(argv[1], NULL, 10) : replays;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captured_call_replays_with_other_lengths),
        cmocka_unit_test(captured_call_of_long_rows_replays_with_other_lengths),
        cmocka_unit_test(unprepared_call_leaves_the_capture_intact),
        cmocka_unit_test(preparing_in_another_thread_leaves_a_global_capture_intact),
        cmocka_unit_test(two_streams_at_once_do_not_disturb_each_other),
        cmocka_unit_test(dependent_launches_wait_for_each_other),
    };
    return TKJ_GPU_MAIN("gpu_graph", tests);
}
