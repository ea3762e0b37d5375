/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA contexts beside the primary one, and graphs that hold several calls or run at once. */
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "gpu_place.h"
#include "scores.h"
#include "spec.h"

#define ROWS 16
#define WIDTH 8192
#define LONG 40000 /* a cluster shares a row, where there are clusters */
#define BRANCHES 4
#define ROUNDS 20

/* ---- calls ---- */

typedef struct job {
    tkj_call call;
    tkj_gpu_call gpu;
} job;

/* A k that no other test of this program uses: nothing of it is loaded yet. */
static topk_jit_spec fresh_spec(void)
{
    static int64_t next = 640;
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.topk = next++;
    return tkj_spec_canonical(&spec);
}

/* Poisons the outputs, on the device too, and gives the rows other lengths. */
static void renew(job *j, uint64_t seed)
{
    const tkj_guarded *score = &j->call.tensors[TKJ_CALL_SCORE].memory;
    int32_t *lengths = tkj_guarded_data(&j->call.tensors[TKJ_CALL_LENGTHS].memory);
    for (int64_t row = 0; row < score->rows; row++)
        lengths[row] = (int32_t)(tkj_scores_random(&seed) % (uint64_t)(score->columns + 10)) - 5;
    tkj_call_poison(&j->call);
    tkj_gpu_call_upload(&j->gpu);
}

static void open_job(job *j, const topk_jit_spec *spec, int64_t rows, int64_t width, uint64_t seed)
{
    const int64_t k = spec->topk;
    tkj_call_init(&j->call, spec);
    float *score = tkj_call_add(&j->call, TKJ_CALL_SCORE, spec->dtype, 2, rows, width, width, 0);
    for (int64_t row = 0; row < rows; row++)
        tkj_scores_fill(TKJ_SCORES_RELU, seed + (uint64_t)row, k, spec->dtype, score + row * width,
                        width, 1);
    tkj_call_add(&j->call, TKJ_CALL_LENGTHS, TOPK_JIT_INT32, 1, rows, 1, 1, 0);
    tkj_call_add(&j->call, TKJ_CALL_INDICES, TOPK_JIT_INT32, 2, rows, k, k, 0);
    tkj_call_add(&j->call, TKJ_CALL_RAW_INDICES, TOPK_JIT_INT32, 2, rows, k, k, 0);
    tkj_gpu_call_create(&j->gpu, &j->call);
    renew(j, seed);
}

static void close_job(job *j)
{
    tkj_gpu_call_destroy(&j->gpu);
    tkj_call_release(&j->call);
}

static void must(topk_jit_status status)
{
    if (status != TOPK_JIT_OK)
        fail_msg("%s", topk_jit_last_error()->message);
}

static void prepare(const topk_jit_spec *spec)
{
    must(topk_jit_prepare(tkj_gpu_context, spec, 1, tkj_gpu_stream));
}

static void enqueue(job *j, CUstream stream)
{
    must(topk_jit_select(tkj_gpu_context, &j->gpu.args, stream));
}

static void judge(job *j)
{
    char message[TKJ_JUDGE_MESSAGE_SIZE];
    tkj_gpu_call_download(&j->gpu);
    if (!tkj_call_judge(&j->call, message))
        fail_msg("%s", message);
}

/* Calls on the current stream, of short rows and of long ones. */
static void run_and_judge(const topk_jit_spec *spec)
{
    for (int is_long = 0; is_long < 2; is_long++) {
        job j;
        open_job(&j, spec, is_long ? 3 : ROWS, is_long ? LONG : WIDTH, 5);
        enqueue(&j, tkj_gpu_stream);
        judge(&j);
        close_job(&j);
    }
}

static tkj_gpu_graph *capture(job *j)
{
    tkj_gpu_capture_begin(tkj_gpu_stream);
    enqueue(j, tkj_gpu_stream);
    return tkj_gpu_capture_end(tkj_gpu_stream);
}

/* The first launch of a prepared spec is captured, then replayed. */
static void capture_and_judge(const topk_jit_spec *spec, int64_t rows, int64_t width)
{
    job j;
    open_job(&j, spec, rows, width, 7);
    tkj_gpu_graph *graph = capture(&j);
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        renew(&j, seed);
        tkj_gpu_graph_launch(graph, tkj_gpu_stream);
        judge(&j);
    }
    tkj_gpu_graph_destroy(graph);
    close_job(&j);
}

/* ---- contexts ---- */

/* One spec is prepared here first, the other one there. */
static void second_context_works_beside_the_primary_one(void **state)
{
    (void)state;
    const topk_jit_spec here = fresh_spec(), there = fresh_spec();
    tkj_gpu_place *place = tkj_gpu_place_context();
    prepare(&here);
    for (int round = 0; round < 3; round++) {
        tkj_gpu_place_enter(place);
        prepare(&there);
        run_and_judge(&there);
        run_and_judge(&here);
        tkj_gpu_place_leave(place);
        run_and_judge(&here);
        run_and_judge(&there);
    }
    tkj_gpu_place_destroy(place);
}

static void context_may_come_after_another_that_is_gone(void **state)
{
    (void)state;
    const topk_jit_spec spec = fresh_spec();
    for (int round = 0; round < 3; round++) {
        tkj_gpu_place *place = tkj_gpu_place_context();
        tkj_gpu_place_enter(place);
        prepare(&spec);
        run_and_judge(&spec);
        tkj_gpu_place_leave(place);
        tkj_gpu_place_destroy(place);
    }
    run_and_judge(&spec);
}

/* The kernel is loaded into each context while it is prepared, not by its first launch. */
static void first_launch_in_a_second_context_may_be_captured(void **state)
{
    (void)state;
    const topk_jit_spec specs[] = {fresh_spec(), fresh_spec()};
    tkj_gpu_place *place = tkj_gpu_place_context();
    for (int i = 0; i < 2; i++)
        prepare(&specs[i]);
    run_and_judge(&specs[0]);
    tkj_gpu_place_enter(place);
    must(topk_jit_prepare(tkj_gpu_context, specs, 2, tkj_gpu_stream));
    capture_and_judge(&specs[0], ROWS, WIDTH);
    capture_and_judge(&specs[1], 3, LONG);
    tkj_gpu_place_leave(place);
    tkj_gpu_place_destroy(place);
}

static void green_context_runs_prepared_unprepared_and_captured_calls(void **state)
{
    (void)state;
    const topk_jit_spec prepared = fresh_spec(), unprepared = fresh_spec(), captured = fresh_spec();
    tkj_gpu_place *place = tkj_gpu_place_green();
    if (place == NULL)
        skip();
    tkj_gpu_place_enter(place);
    prepare(&prepared);
    run_and_judge(&prepared);
    run_and_judge(&unprepared);
    prepare(&captured);
    capture_and_judge(&captured, ROWS, WIDTH);
    capture_and_judge(&captured, 3, LONG);
    tkj_gpu_place_leave(place);
    run_and_judge(&prepared); /* on the whole GPU again */
    tkj_gpu_place_destroy(place);
}

/* ---- graphs ---- */

static void first_launch_of_a_prepared_kernel_may_be_captured(void **state)
{
    (void)state;
    topk_jit_spec specs[] = {fresh_spec(), fresh_spec(), fresh_spec(), fresh_spec()};
    specs[1].sorted = 1;
    specs[2].deterministic = 1;
    specs[3].tie_break = TOPK_JIT_TIE_BREAK_LARGEST;
    specs[2] = tkj_spec_canonical(&specs[2]); /* of equal scores, it takes the first */
    must(topk_jit_prepare(tkj_gpu_context, specs, 4, tkj_gpu_stream));
    for (int i = 0; i < 4; i++) {
        capture_and_judge(&specs[i], ROWS, WIDTH);
        capture_and_judge(&specs[i], 3, LONG);
    }
}

static void open_branches(job jobs[BRANCHES], CUstream streams[BRANCHES], const topk_jit_spec *spec)
{
    for (int b = 0; b < BRANCHES; b++) {
        streams[b] = tkj_gpu_stream_create();
        open_job(&jobs[b], spec, ROWS, WIDTH, 100 * (uint64_t)b);
    }
}

static void close_branches(job jobs[BRANCHES], CUstream streams[BRANCHES])
{
    for (int b = 0; b < BRANCHES; b++) {
        close_job(&jobs[b]);
        tkj_gpu_stream_destroy(streams[b]);
    }
}

static void renew_all(job jobs[BRANCHES], int round)
{
    for (int b = 0; b < BRANCHES; b++)
        renew(&jobs[b], (uint64_t)round * BRANCHES + (uint64_t)b);
}

/* Branches that do not depend on each other, each with outputs of its own. */
static tkj_gpu_graph *capture_branches(job jobs[BRANCHES], CUstream streams[BRANCHES])
{
    tkj_gpu_capture_begin(tkj_gpu_stream);
    for (int b = 0; b < BRANCHES; b++) {
        tkj_gpu_stream_wait(streams[b], tkj_gpu_stream);
        enqueue(&jobs[b], streams[b]);
    }
    for (int b = 0; b < BRANCHES; b++)
        tkj_gpu_stream_wait(tkj_gpu_stream, streams[b]);
    return tkj_gpu_capture_end(tkj_gpu_stream);
}

static void branches_of_one_graph_run_at_once_on_any_stream(void **state)
{
    (void)state;
    const topk_jit_spec spec = fresh_spec();
    job jobs[BRANCHES];
    CUstream streams[BRANCHES];
    prepare(&spec);
    open_branches(jobs, streams, &spec);
    tkj_gpu_graph *graph = capture_branches(jobs, streams);
    for (int round = 0; round < ROUNDS; round++) {
        renew_all(jobs, round);
        tkj_gpu_graph_launch(graph, streams[round % BRANCHES]);
        tkj_gpu_synchronize(streams[round % BRANCHES]);
        for (int b = 0; b < BRANCHES; b++)
            judge(&jobs[b]);
    }
    tkj_gpu_graph_destroy(graph);
    close_branches(jobs, streams);
}

/* Replays of one kernel that overlap, again and again. */
static void graphs_replay_at_once_on_streams_of_their_own(void **state)
{
    (void)state;
    const topk_jit_spec spec = fresh_spec();
    job jobs[BRANCHES];
    CUstream streams[BRANCHES];
    tkj_gpu_graph *graphs[BRANCHES];
    prepare(&spec);
    open_branches(jobs, streams, &spec);
    for (int b = 0; b < BRANCHES; b++)
        graphs[b] = capture(&jobs[b]);
    for (int round = 0; round < ROUNDS; round++) {
        renew_all(jobs, round);
        for (int launch = 0; launch < ROUNDS * BRANCHES; launch++)
            tkj_gpu_graph_launch(graphs[launch % BRANCHES], streams[launch % BRANCHES]);
        for (int b = 0; b < BRANCHES; b++) {
            tkj_gpu_synchronize(streams[b]);
            judge(&jobs[b]);
        }
    }
    for (int b = 0; b < BRANCHES; b++)
        tkj_gpu_graph_destroy(graphs[b]);
    close_branches(jobs, streams);
}

/* ---- preparing meanwhile ---- */

static struct {
    sem_t told;
    topk_jit_status status;
    char message[sizeof((topk_jit_error *)0)->message];
} heard;

static void hear(void *user, topk_jit_status status, const topk_jit_error *error)
{
    (void)user;
    heard.status = status;
    memcpy(heard.message, error->message, sizeof heard.message);
    sem_post(&heard.told);
}

/* Prepares a fresh spec on the library's thread and waits for it, in the middle of a capture. */
static topk_jit_spec prepare_later(CUstream stream)
{
    const topk_jit_spec spec = fresh_spec();
    assert_int_equal(topk_jit_is_prepared(tkj_gpu_context, &spec, 1, stream),
                     TOPK_JIT_NOT_PREPARED);
    must(topk_jit_prepare_async(tkj_gpu_context, &spec, 1, stream, hear, NULL));
    while (sem_wait(&heard.told) != 0) { /* a signal came */
    }
    if (heard.status != TOPK_JIT_OK)
        fail_msg("%s", heard.message);
    must(topk_jit_is_prepared(tkj_gpu_context, &spec, 1, stream));
    return spec;
}

/* The stream of the preparation: another one, the one that captures, or the current context. */
static void preparing_later_leaves_a_global_capture_of_this_thread_intact(void **state)
{
    (void)state;
    CUstream other = tkj_gpu_stream_create();
    const CUstream streams[] = {other, tkj_gpu_stream, NULL};
    const topk_jit_spec spec = fresh_spec();
    assert_int_equal(sem_init(&heard.told, 0, 0), 0);
    prepare(&spec);
    for (int i = 0; i < 3; i++) {
        job j;
        open_job(&j, &spec, ROWS, WIDTH, 9);
        tkj_gpu_capture_begin(tkj_gpu_stream);
        const topk_jit_spec later = prepare_later(streams[i]);
        enqueue(&j, tkj_gpu_stream);
        tkj_gpu_graph *graph = tkj_gpu_capture_end(tkj_gpu_stream);
        tkj_gpu_graph_launch(graph, tkj_gpu_stream);
        judge(&j);
        tkj_gpu_graph_destroy(graph);
        close_job(&j);
        capture_and_judge(&later, ROWS, WIDTH);
    }
    sem_destroy(&heard.told);
    tkj_gpu_stream_destroy(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_context_works_beside_the_primary_one),
        cmocka_unit_test(context_may_come_after_another_that_is_gone),
        cmocka_unit_test(first_launch_in_a_second_context_may_be_captured),
        cmocka_unit_test(green_context_runs_prepared_unprepared_and_captured_calls),
        cmocka_unit_test(first_launch_of_a_prepared_kernel_may_be_captured),
        cmocka_unit_test(branches_of_one_graph_run_at_once_on_any_stream),
        cmocka_unit_test(graphs_replay_at_once_on_streams_of_their_own),
        cmocka_unit_test(preparing_later_leaves_a_global_capture_of_this_thread_intact),
    };
    return TKJ_GPU_MAIN("gpu_contexts", tests);
}
