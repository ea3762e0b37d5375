/* SPDX-License-Identifier: Apache-2.0 */
/* Every distribution of scores with every boundary of a row's length, and the odd shapes, through
   every listed selection kernel. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ordered_key.h"
#include "run_call.h"
#include "scores.h"
#include "testing.h"

/** A call to be made. */
typedef struct wanted {
    int64_t rows;
    int64_t padding; /* output rows beyond them */
    int64_t width;
    int64_t score_stride; /* 0 = one row for all */
    size_t shift;         /* elements off a 16-byte boundary */
    bool shared_table;    /* stride 0 */
    const int32_t *lengths;
    int32_t start; /* of every row's window; 0 = no row_starts */
    tkj_scores_distribution scores;
    int64_t kept; /* if not 0: all but so many scores are zeros */
    enum {
        AS_DRAWN,
        TOO_LOW,
        TOO_HIGH,
        PLATEAU_TOO_LOW,
        PLATEAU_TOO_HIGH,
        BELOW_RANGE,
        SAMPLES
    } sampled; /* float32 only */
} wanted;

/* What select_stream.cu samples of an aligned float32 row: one group of 4 a thread of 512. */
#define SAMPLERS 512
#define SAMPLED_GROUP 4
/* What it lists. */
#define LISTED 8192

/** Sets the scores that are sampled apart from the others: all below them, or all above. Half of a
 *  plateau's samples are equal, the others below those. */
static void mislead(float *row, const wanted *w)
{
    int64_t groups = w->width / SAMPLED_GROUP;
    bool on_plateau = w->sampled == PLATEAU_TOO_LOW || w->sampled == PLATEAU_TOO_HIGH;
    float others = w->sampled == TOO_LOW || w->sampled == PLATEAU_TOO_LOW ? 1.0F : -1.0F;
    for (int64_t i = 0; i < w->width; i++)
        row[i] = others * (float)(10000 + i * 37 % 9973);
    for (int64_t t = 0; t < SAMPLERS; t++)
        for (int64_t i = 0; i < SAMPLED_GROUP; i++) {
            float sample = (float)(t * SAMPLED_GROUP + i);
            if (on_plateau)
                sample = i % 2 == 0 ? 1.0F : -sample;
            else
                sample *= -others;
            row[t * groups / SAMPLERS * SAMPLED_GROUP + i] = sample;
        }
}

/** Sets all but `kept` scores, which are evenly spread, to zero. */
static void keep_some(char *row, size_t size, const wanted *w)
{
    for (int64_t i = 0; i < w->width; i++)
        if (i * w->kept % w->width >= w->kept)
            memset(row + (size_t)i * size, 0, size);
}

/** Sets the first sixteenth, which one warp samples, above most others: the range of the bins ends
 *  there, and the k-th largest of a large k is below it. */
static void raise_start(float *row, int64_t width)
{
    for (int64_t i = 0; i < width; i++) {
        float other = i % 20 == 0 ? 20.0F + (float)i / (float)width : -(float)(i % 1000);
        row[i] = i < width / 16 ? 10.0F : other;
    }
}

static void add_scores(tkj_call *call, const wanted *w)
{
    const topk_jit_spec *spec = &call->spec;
    const size_t size = tkj_dtype_size(spec->dtype);
    char *score = tkj_call_add(call, TKJ_CALL_SCORE, spec->dtype, 2, w->rows, w->width,
                               w->score_stride, w->shift);
    int64_t stored = w->score_stride == 0 && w->rows > 1 ? 1 : w->rows;
    for (int64_t row = 0; row < stored; row++)
        tkj_scores_fill(w->scores, (uint64_t)row + 1, spec->topk, spec->dtype,
                        score + (size_t)(row * w->score_stride) * size, w->width, 1);
    if (w->kept != 0)
        keep_some(score, size, w);
    if (w->sampled == BELOW_RANGE)
        raise_start((float *)score, w->width);
    else if (w->sampled != AS_DRAWN)
        mislead((float *)score, w);
}

static void add_layout(tkj_call *call, const wanted *w)
{
    const topk_jit_spec *spec = &call->spec;
    if (spec->layout == TOPK_JIT_LAYOUT_RAGGED) {
        int32_t *offset = tkj_call_add(call, TKJ_CALL_OFFSET, TOPK_JIT_INT32, 1, w->rows, 1, 3, 1);
        for (int64_t row = 0; row < w->rows; row++)
            offset[row * 3] = (int32_t)(row * 1000);
    } else if (spec->layout == TOPK_JIT_LAYOUT_PAGED) {
        int64_t pages = (w->width + spec->page_size - 1) / spec->page_size;
        int64_t stride = w->shared_table ? 0 : pages + 1;
        int32_t *table =
            tkj_call_add(call, TKJ_CALL_PAGE_TABLE, TOPK_JIT_INT32, 2, w->rows, pages, stride, 3);
        for (int64_t row = 0; row < (w->shared_table && w->rows > 1 ? 1 : w->rows); row++)
            for (int64_t page = 0; page < pages; page++)
                table[row * stride + page] = (int32_t)(row * 5000 + (page * 7) % 5000);
    }
}

static void make(tkj_call *call, const topk_jit_spec *spec, const wanted *w)
{
    int64_t out_rows = w->rows + w->padding;
    tkj_call_init(call, spec);
    add_scores(call, w);
    add_layout(call, w);
    if (w->lengths != NULL) {
        int32_t *lengths =
            tkj_call_add(call, TKJ_CALL_LENGTHS, TOPK_JIT_INT32, 1, w->rows, 1, 1, 1);
        memcpy(lengths, w->lengths, (size_t)w->rows * sizeof *lengths);
    }
    if (w->start != 0) {
        int32_t *starts =
            tkj_call_add(call, TKJ_CALL_ROW_STARTS, TOPK_JIT_INT32, 1, w->rows, 1, 0, 0);
        *starts = w->start;
    }
    /* Where the scores are aligned the indices are, too. */
    int64_t gap = w->shift == 0 ? 0 : 3;
    tkj_call_add(call, TKJ_CALL_INDICES, spec->index_dtype, 2, out_rows, spec->topk,
                 spec->topk + gap, w->shift % 4);
    tkj_call_add(call, TKJ_CALL_RAW_INDICES, TOPK_JIT_INT32, 2, out_rows, spec->topk, spec->topk,
                 3);
    tkj_call_add(call, TKJ_CALL_VALUES, spec->dtype, 2, out_rows, spec->topk, spec->topk + 1, 1);
}

static void run(const tkj_simt_listed *listed, const wanted *w, uint64_t seed)
{
    char message[TKJ_SIMT_MESSAGE_SIZE] = "";
    topk_jit_spec spec = tkj_simt_spec(listed);
    tkj_call call;
    tkj_call twin;
    make(&call, &spec, w);
    make(&twin, &spec, w);
    if (tkj_simt_serves(listed, &call) && !tkj_simt_run_call(listed, &call, &twin, seed, message))
        fail_msg("%s, %s: B %" PRId64 ", L %" PRId64 ", %s: %s", listed->kernel->entry,
                 listed->spec, w->rows, w->width, tkj_scores_name(w->scores), message);
    tkj_call_release(&call);
    tkj_call_release(&twin);
}

/** Calls a function for every kernel that selects. */
static void for_each(void (*work)(const tkj_simt_listed *, int64_t k))
{
    for (size_t i = 0; i < tkj_simt_kernel_count; i++) {
        const topk_jit_spec spec = tkj_simt_spec(&tkj_simt_kernels[i]);
        if (spec.operation == TOPK_JIT_OPERATION_SELECT)
            work(&tkj_simt_kernels[i], spec.topk);
    }
}

/** Rows of every length where paths part, in each distribution. */
static void run_distributions(const tkj_simt_listed *listed, int64_t k)
{
    const int64_t width = k + 300;
    const int32_t lengths[] = {(int32_t)k - 1,         (int32_t)k, (int32_t)k + 1, 0, -1,
                               (int32_t)(width + 100), INT32_MIN,  INT32_MAX};
    /* Of each template there are several kernels: together they get every distribution. */
    int step = k > 1000 ? 6 : 2;
    int first = (int)((listed - tkj_simt_kernels) % step);
    for (int scores = first; scores < TKJ_SCORES_COUNT; scores += step)
        run(listed,
            &(wanted){.rows = sizeof lengths / sizeof lengths[0],
                      .width = width,
                      .score_stride = width + 1 + scores % 8,
                      .shift = (size_t)(scores / 2 * 3) % 8,
                      .lengths = lengths,
                      .scores = (tkj_scores_distribution)scores},
            (uint64_t)scores);
}

static void every_distribution_at_every_boundary_length(void **state)
{
    (void)state;
    for_each(run_distributions);
}

static void run_shapes(const tkj_simt_listed *listed, int64_t k)
{
    const int64_t w = k + 40;
    const wanted shapes[] = {
        {.rows = 0, .padding = 3, .width = w, .score_stride = w},
        {.rows = 1, .width = w, .score_stride = w, .shift = 1},
        {.rows = 1, .width = k, .score_stride = 1},
        {.rows = 2, .padding = 1, .width = 0, .score_stride = 5},
        {.rows = 3, .width = w, .score_stride = 0, .shift = 3, .shared_table = true},
        {.rows = 2, .width = w, .score_stride = w + 3, .shift = 2, .scores = TKJ_SCORES_EQUAL},
        {.rows = 1, .padding = 2, .width = 1, .score_stride = 1, .scores = TKJ_SCORES_SOME_NAN},
        {.rows = 3, .width = w, .score_stride = w, .scores = TKJ_SCORES_RELU},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (uint64_t seed = 4 * i; seed<4 * i + 4; seed += k> 1000 ? 3 : 1)
            run(listed, &shapes[i], seed);
}

static void odd_shapes_are_judged_right(void **state)
{
    (void)state;
    for_each(run_shapes);
}

/* Several tiles of a kernel that takes rows of any length. */
#define LONG_ROW 9001
/* Longer than what any kernel holds in registers. */
#define LONGEST_HELD 40000
/* The least that select_stream.cu samples so. */
#define DENSELY_SAMPLED 131073

/** Rows as long as a kernel holds, or long ones. */
static void run_longest(const tkj_simt_listed *listed, int64_t k)
{
    static const tkj_scores_distribution scores[] = {
        TKJ_SCORES_NORMAL,    TKJ_SCORES_EQUAL,     TKJ_SCORES_NEAR_ONE, TKJ_SCORES_TEN_VALUES,
        TKJ_SCORES_RELU,      TKJ_SCORES_FORCED,    TKJ_SCORES_OUTLIER,  TKJ_SCORES_ANY_BITS,
        TKJ_SCORES_ASCENDING, TKJ_SCORES_DESCENDING};
    const int64_t count = sizeof scores / sizeof scores[0];
    int64_t capacity = tkj_simt_capacity(listed);
    bool holds = capacity > 0 && capacity <= LONGEST_HELD;
    int64_t width = holds ? capacity : LONG_ROW + k;
    for (int64_t i = 0; width > k && i<count; i += capacity> 0 ? 1 : 3)
        run(listed,
            &(wanted){.rows = 1,
                      .width = width - (i % 2 == 0 ? 0 : 7),
                      .score_stride = width,
                      .shift = i % 2 == 0 ? 0 : 3,
                      .start = i < 4 ? 0 : 1,
                      .scores = scores[i]},
            (uint64_t)i);
}

/** Rows of k scores above zeros, or nearly so, or of half as many; long ones twice, in clusters of
 * different sizes. */
static void run_plateaus(const tkj_simt_listed *listed, int64_t k)
{
    const int64_t kept[] = {k - 1, k, k + 1, k / 2 + 1};
    bool streams = tkj_simt_capacity(listed) > LONGEST_HELD;
    for (uint64_t i = 0; i < (streams ? 12 : 4); i++) {
        int64_t width = i < 4 ? k + 300 : LONG_ROW + k;
        run(listed,
            &(wanted){.rows = 1,
                      .width = width,
                      .score_stride = width,
                      .kept = kept[i % 4],
                      .scores = TKJ_SCORES_EQUAL},
            i + i / 8);
    }
}

static void plateaus_at_the_last_place_are_judged_right(void **state)
{
    (void)state;
    for_each(run_plateaus);
}

/** Traps of filters by a sample: what survives the filter of a misleading sample does not fit, or
 * is too little; the plateau that it shows is not the right one; its range misses the rank. */
static void run_misled(const tkj_simt_listed *listed, int64_t k)
{
    const topk_jit_spec spec = tkj_simt_spec(listed);
    if (tkj_simt_capacity(listed) <= LONGEST_HELD || spec.dtype != TOPK_JIT_FLOAT32)
        return;
    for (int sampled = TOO_LOW; sampled < SAMPLES; sampled++)
        for (uint64_t seed = 0; seed < 4; seed++)
            run(listed,
                &(wanted){
                    .rows = 1, .width = 16000 + k, .score_stride = 16000 + k, .sampled = sampled},
                seed);
}

/** Rows of which as many scores survive the filter as a list holds, and one more. */
static void run_full_lists(const tkj_simt_listed *listed, int64_t k)
{
    const topk_jit_spec spec = tkj_simt_spec(listed);
    const int64_t width = LISTED + SAMPLERS * SAMPLED_GROUP / 2;
    if (tkj_simt_capacity(listed) <= LONGEST_HELD || spec.dtype != TOPK_JIT_FLOAT32)
        return;
    for (int64_t more = 0; more < 2; more++)
        for (uint64_t seed = 0; seed < 4 && width > k; seed++)
            run(listed,
                &(wanted){.rows = 1,
                          .width = width + more,
                          .score_stride = width + more,
                          .sampled = PLATEAU_TOO_LOW},
                seed);
}

static void full_lists_are_judged_right(void **state)
{
    (void)state;
    for_each(run_full_lists);
}

static void misleading_samples_are_judged_right(void **state)
{
    (void)state;
    for_each(run_misled);
}

/** Rows of which every thread samples several groups, and one score less. */
static void run_densely_sampled(const tkj_simt_listed *listed, int64_t k)
{
    (void)k;
    if (tkj_simt_capacity(listed) <= LONGEST_HELD)
        return;
    for (int64_t i = 0; i < 2; i++)
        run(listed,
            &(wanted){.rows = 1,
                      .width = DENSELY_SAMPLED - i,
                      .score_stride = DENSELY_SAMPLED,
                      .shift = i == 0 ? 3 : 0,
                      .scores = i == 0 ? TKJ_SCORES_NORMAL : TKJ_SCORES_RELU},
            (uint64_t)i + 2);
}

static void densely_sampled_rows_are_judged_right(void **state)
{
    (void)state;
    for_each(run_densely_sampled);
}

static void long_rows_are_judged_right(void **state)
{
    (void)state;
    for_each(run_longest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_distribution_at_every_boundary_length),
        cmocka_unit_test(odd_shapes_are_judged_right),
        cmocka_unit_test(plateaus_at_the_last_place_are_judged_right),
        cmocka_unit_test(full_lists_are_judged_right),
        cmocka_unit_test(misleading_samples_are_judged_right),
        cmocka_unit_test(densely_sampled_rows_are_judged_right),
        cmocka_unit_test(long_rows_are_judged_right),
    };
    return cmocka_run_group_tests_name("simt_templates", tests, NULL, NULL);
}
