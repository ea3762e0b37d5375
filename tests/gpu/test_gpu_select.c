/* SPDX-License-Identifier: Apache-2.0 */
/* The selection on the GPU over the distributions of the contract, and over its shapes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "gpu_call.h"
#include "ordered_key.h"
#include "scores.h"
#include "spec.h"
#include "variant_choice.h"

static topk_jit_spec make_spec(topk_jit_layout layout, topk_jit_dtype dtype, int64_t k)
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.layout = layout;
    spec.dtype = dtype;
    spec.topk = k;
    spec.page_size = layout == TOPK_JIT_LAYOUT_PAGED ? 64 : 0;
    return tkj_spec_canonical(&spec);
}

static int32_t *add_vector(tkj_call *call, tkj_call_slot slot, int64_t rows)
{
    return tkj_call_add(call, slot, TOPK_JIT_INT32, 1, rows, 1, 1, 0);
}

/** A call of full outputs, with the tables that its layout needs. */
static void *open_call(tkj_call *call, const topk_jit_spec *spec, int64_t rows, int64_t width)
{
    tkj_call_init(call, spec);
    void *score = tkj_call_add(call, TKJ_CALL_SCORE, spec->dtype, 2, rows, width, width, 0);
    if (spec->layout == TOPK_JIT_LAYOUT_PAGED) {
        int64_t pages = width / spec->page_size + 1;
        int32_t *table =
            tkj_call_add(call, TKJ_CALL_PAGE_TABLE, TOPK_JIT_INT32, 2, rows, pages, pages, 0);
        for (int64_t i = 0; i < rows * pages; i++)
            table[i] = (int32_t)((i * 7919) % 1000003);
    }
    if (spec->layout == TOPK_JIT_LAYOUT_RAGGED) {
        int32_t *offsets = add_vector(call, TKJ_CALL_OFFSET, rows);
        for (int64_t row = 0; row < rows; row++)
            offsets[row] = (int32_t)(row * 1000);
    }
    tkj_call_add(call, TKJ_CALL_INDICES, spec->index_dtype, 2, rows, spec->topk, spec->topk, 0);
    tkj_call_add(call, TKJ_CALL_RAW_INDICES, TOPK_JIT_INT32, 2, rows, spec->topk, spec->topk, 0);
    return score;
}

/** Lengths at which paths meet, and beyond both ends. */
static void add_boundary_lengths(tkj_call *call, int64_t rows, int64_t width)
{
    int64_t k = call->spec.topk;
    const int64_t lengths[] = {width, k + 1, k, k - 1, 1, 0, -5, width + 7};
    int32_t *data = add_vector(call, TKJ_CALL_LENGTHS, rows);
    for (int64_t row = 0; row < rows; row++)
        data[row] = (int32_t)lengths[row % 8];
}

/** Every distribution at the lengths where paths meet. */
static void run_distributions(const topk_jit_spec *spec, int64_t width)
{
    size_t pitch = (size_t)width * tkj_dtype_size(spec->dtype);
    for (int d = 0; d < TKJ_SCORES_COUNT; d++) {
        char name[TKJ_SPEC_TEXT_SIZE + 64];
        tkj_spec_format(spec, name);
        snprintf(name + strlen(name), 64, ", %s, width %" PRId64,
                 tkj_scores_name((tkj_scores_distribution)d), width);
        tkj_call call;
        char *score = open_call(&call, spec, 8, width);
        for (int64_t row = 0; row < 8; row++)
            tkj_scores_fill((tkj_scores_distribution)d, (uint64_t)row + 1, spec->topk, spec->dtype,
                            score + (size_t)row * pitch, width, 1);
        add_boundary_lengths(&call, 8, width);
        tkj_gpu_call_run(&call, name);
        tkj_call_release(&call);
    }
}

static void every_distribution_in_every_dtype_and_layout(void **state)
{
    (void)state;
    for (int layout = 0; layout < 3; layout++)
        for (int dtype = 0; dtype < 3; dtype++) {
            topk_jit_spec spec = make_spec((topk_jit_layout)layout, (topk_jit_dtype)dtype, 2048);
            run_distributions(&spec, 32768);
            run_distributions(&spec, 2049);
        }
}

static void every_distribution_where_variants_meet(void **state)
{
    static const int64_t widths[] = {8191, 8192, 8193, 16383, 16384, 16385, 32767, 32769};
    (void)state;
    for (int dtype = 0; dtype < 3; dtype++)
        for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
            topk_jit_spec spec =
                make_spec(TOPK_JIT_LAYOUT_PLAIN, (topk_jit_dtype)dtype, i % 2 ? 2048 : 100);
            run_distributions(&spec, widths[i]);
        }
}

static void every_k_from_1_to_4096_and_beyond_the_width(void **state)
{
    static const int64_t ks[] = {1, 2, 16, 63, 64, 256, 512, 1000, 1024, 2047, 4096, 40000};
    (void)state;
    for (size_t i = 0; i < sizeof ks / sizeof ks[0]; i++) {
        topk_jit_spec spec = make_spec(TOPK_JIT_LAYOUT_PLAIN, TOPK_JIT_FLOAT32, ks[i]);
        run_distributions(&spec, 20000);
    }
}

static void sorted_in_shared_memory_and_in_place(void **state)
{
    static const int64_t ks[] = {1, 100, 2048, 6144, 6145, 15000};
    (void)state;
    for (size_t i = 0; i < sizeof ks / sizeof ks[0]; i++) {
        topk_jit_spec spec = make_spec(TOPK_JIT_LAYOUT_PAGED, TOPK_JIT_FLOAT32, ks[i]);
        spec.sorted = 1;
        run_distributions(&spec, 20000);
    }
}

/** Rows of one distribution after another, a few distinct ones repeated. */
static void fill_rows(char *score, const topk_jit_spec *spec, int64_t rows, int64_t width)
{
    size_t pitch = (size_t)width * tkj_dtype_size(spec->dtype);
    for (int64_t row = 0; row < rows; row++) {
        if (row < 64)
            tkj_scores_fill((tkj_scores_distribution)(row % TKJ_SCORES_COUNT), (uint64_t)row,
                            spec->topk, spec->dtype, score + (size_t)row * pitch, width, 1);
        else
            memcpy(score + (size_t)row * pitch, score + (size_t)(row % 64) * pitch, pitch);
    }
}

/** Rows of every distribution, judged. */
static void run_shape(const topk_jit_spec *spec, int64_t rows, int64_t width)
{
    char name[TKJ_SPEC_TEXT_SIZE + 64];
    tkj_call call;
    char *score = open_call(&call, spec, rows, width);
    tkj_spec_format(spec, name);
    snprintf(name + strlen(name), 64, ", (%" PRId64 ", %" PRId64 ")", rows, width);
    fill_rows(score, spec, rows, width);
    tkj_gpu_call_run(&call, name);
    tkj_call_release(&call);
}

/** Which kernel serves aligned rows, and by how many blocks each. */
static uint32_t launch_of(const topk_jit_spec *spec, const tkj_device_facts *facts, int64_t rows,
                          int64_t width)
{
    tkj_variant variants[TKJ_VARIANTS_MAX];
    const tkj_call_shape shape = {.rows = rows, .width = width, .aligned = true};
    int architecture = facts->compute_major * 10 + facts->compute_minor;
    size_t count = tkj_variants_enumerate(spec, architecture, variants);
    size_t chosen = tkj_variants_choose(spec, variants, count, &shape, facts);
    return (uint32_t)chosen << 16 | tkj_variants_cluster(&variants[chosen], &shape, facts);
}

static void every_number_of_rows_at_which_launches_change(void **state)
{
    static const int64_t widths[] = {2048, 2049, 8192, 16384, 32767, 32768, 32769, 65536, 131072};
    tkj_device_facts facts;
    (void)state;
    assert_int_equal(tkj_driver_device_facts(0, &facts), TOPK_JIT_OK);
    for (uint8_t deterministic = 0; deterministic < 2; deterministic++) {
        topk_jit_spec spec = make_spec(TOPK_JIT_LAYOUT_PLAIN, TOPK_JIT_FLOAT32, 2048);
        spec.deterministic = deterministic;
        spec = tkj_spec_canonical(&spec);
        for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
            for (int64_t rows = 1; rows <= 2 * (int64_t)facts.sm_count; rows++) {
                bool changes = launch_of(&spec, &facts, rows, widths[i]) !=
                               launch_of(&spec, &facts, rows + 1, widths[i]);
                if (changes || rows == 1) {
                    run_shape(&spec, rows, widths[i]);
                    run_shape(&spec, rows + 1, widths[i]);
                }
            }
    }
}

static void every_shape_from_one_score_to_many(void **state)
{
    static const struct {
        int64_t rows;
        int64_t width;
    } shapes[] = {{1, 1},      {1, 2048},  {1, 65536},  {1, 262144},  {3, 2049},    {64, 8192},
                  {132, 4096}, {133, 100}, {1024, 333}, {256, 32768}, {4096, 65536}};
    (void)state;
    topk_jit_spec spec = make_spec(TOPK_JIT_LAYOUT_PLAIN, TOPK_JIT_FLOAT32, 2048);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        run_shape(&spec, shapes[i].rows, shapes[i].width);
}

/** sglang's and flashinfer's 32-bit row offsets (flashinfer#2937): the last row is the proof. */
static void row_offsets_beyond_32_bits(void **state)
{
    const size_t rows = 70000, width = 65536, k = 64;
    (void)state;
    topk_jit_spec spec = make_spec(TOPK_JIT_LAYOUT_PLAIN, TOPK_JIT_BFLOAT16, (int64_t)k);
    tkj_call last;
    uint16_t *score = open_call(&last, &spec, 1, (int64_t)width);
    tkj_scores_fill(TKJ_SCORES_NORMAL, 7, (int64_t)k, spec.dtype, score, (int64_t)width, 1);
    size_t size = rows * width * 2;
    int64_t shape[2] = {(int64_t)rows, (int64_t)width}, out_shape[2] = {(int64_t)rows, (int64_t)k};
    int32_t *lengths = calloc(rows, sizeof *lengths);
    assert_non_null(lengths);
    lengths[rows - 1] = (int32_t)width;
    char *device_score = tkj_gpu_allocate(size);
    int32_t *device_lengths = tkj_gpu_allocate(rows * 4), *out = tkj_gpu_allocate(rows * k * 4);
    tkj_gpu_upload(device_lengths, lengths, rows * 4);
    tkj_gpu_upload(device_score + size - width * 2, score, width * 2);
    DLDevice cuda = {kDLCUDA, 0};
    DLTensor scores = {device_score, cuda, 2, {kDLBfloat, 16, 1}, shape, NULL, 0};
    DLTensor length = {device_lengths, cuda, 1, {kDLInt, 32, 1}, shape, NULL, 0};
    DLTensor indices = {out, cuda, 2, {kDLInt, 32, 1}, out_shape, NULL, 0};
    assert_int_equal(topk_jit_fast_topk_v2(tkj_gpu_context, &scores, &length, (int64_t)k, NULL,
                                           &indices, tkj_gpu_stream),
                     TOPK_JIT_OK);
    tkj_gpu_synchronize(tkj_gpu_stream);
    char message[TKJ_JUDGE_MESSAGE_SIZE];
    int32_t *found = tkj_guarded_data(&last.tensors[TKJ_CALL_INDICES].memory);
    int32_t *raw = tkj_guarded_data(&last.tensors[TKJ_CALL_RAW_INDICES].memory);
    tkj_gpu_download(found, out + (rows - 1) * k, k * 4);
    memcpy(raw, found, k * 4);
    if (!tkj_call_judge(&last, message))
        fail_msg("%s", message);
    tkj_gpu_free(device_score);
    tkj_gpu_free(device_lengths);
    tkj_gpu_free(out);
    free(lengths);
    tkj_call_release(&last);
}

static void tensors_of_another_gpu_than_the_stream_are_rejected(void **state)
{
    (void)state;
    topk_jit_spec spec = make_spec(TOPK_JIT_LAYOUT_PLAIN, TOPK_JIT_FLOAT32, 3);
    tkj_call call;
    tkj_gpu_call g;
    memset(open_call(&call, &spec, 1, 8), 0, 32);
    tkj_gpu_call_create(&g, &call);
    for (int slot = 0; slot < TKJ_CALL_TENSORS; slot++)
        g.tensors[slot].device.device_id = 5;
    assert_int_equal(topk_jit_select(tkj_gpu_context, &g.args, tkj_gpu_stream),
                     TOPK_JIT_INVALID_ARGUMENT);
    assert_non_null(strstr(topk_jit_last_error()->message, "device 5"));
    tkj_gpu_call_destroy(&g);
    tkj_call_release(&call);
}

/** An argument is a filter of tests' names: the first test alone suits compute-sanitizer. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_distribution_in_every_dtype_and_layout),
        cmocka_unit_test(every_distribution_where_variants_meet),
        cmocka_unit_test(every_k_from_1_to_4096_and_beyond_the_width),
        cmocka_unit_test(sorted_in_shared_memory_and_in_place),
        cmocka_unit_test(every_number_of_rows_at_which_launches_change),
        cmocka_unit_test(every_shape_from_one_score_to_many),
        cmocka_unit_test(row_offsets_beyond_32_bits),
        cmocka_unit_test(tensors_of_another_gpu_than_the_stream_are_rejected),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return TKJ_GPU_MAIN("gpu_select", tests);
}
